/** Keeps a configured relative path inside a folder: symbolic links resolved, nothing above it reached. */

import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';

/** The real path of a file inside a folder; undefined where it is missing or lies outside. */
export function confined(folder: string, name: string): string | undefined {
  if (name.includes('\0')) return undefined;
  try {
    const root = realpathSync.native(folder);
    const file = realpathSync.native(resolve(root, name));
    const inside = relative(root, file);
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return undefined;
    return file;
  } catch {
    return undefined;
  }
}
