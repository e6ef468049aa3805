/**
 * Enables Node's compile cache, so that the next start is faster. Only in an existing home: `agent help` must not create
 * one. Node 20 has no such cache and works without it.
 * @see CLI-2 and HOME-3 in docs/specification.md
 */

import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { userHomeFolder } from '../actors/user-home.ts';
import { homeOf } from '../machines/config/profile.ts';

export function keepCompiledCode(env: Readonly<Record<string, string | undefined>>): void {
  const { enableCompileCache } = module as { readonly enableCompileCache?: (folder: string) => unknown };
  const home = homeOf(env, userHomeFolder());
  if (enableCompileCache === undefined || home === undefined || !existsSync(home)) return;
  const folder = `${home}/cache/compiled`;
  try {
    // What root makes in the home of another user would be closed to that user.
    if (process.getuid?.() === 0 && statSync(home).uid !== 0) return;
    // Node would use the umask's mode; another user who can write there could plant code.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch {
    // A home that is not writable has no cache.
    return;
  }
  enableCompileCache(folder);
}
