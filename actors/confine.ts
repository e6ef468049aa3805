/** Keeps a configured relative path inside a folder, with symbolic links resolved. */

import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { userHomeFolder } from './user-home.ts';

/** A name that begins with `~/` is in the user's home, from where it may lead back into the folder. */
export function placedIn(folder: string, name: string): string {
  return name.startsWith('~/') ? resolve(userHomeFolder(), name.slice(2)) : resolve(folder, name);
}

/** Whether a name leads out of a folder by its text alone; links are not resolved. */
function liesOutside(folder: string, name: string): boolean {
  const inside = relative(folder, placedIn(folder, name));
  return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
}

/** Whether a name leads out of a folder by its text, and no link leads back in. */
export function leadsOut(folder: string, name: string): boolean {
  return liesOutside(folder, name) && liesOutside(realFolder(folder), name) && confined(folder, name) === undefined;
}

/** The folder itself may be a link, and a name may use the path that it points to. */
function realFolder(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch {
    return folder;
  }
}

/** The real path of a file inside a folder; undefined if it is missing or outside. */
export function confined(folder: string, name: string): string | undefined {
  if (name.includes('\0')) return undefined;
  try {
    const root = realpathSync.native(folder);
    const file = realpathSync.native(placedIn(root, name));
    return file === root || liesOutside(root, file) ? undefined : file;
  } catch {
    return undefined;
  }
}
