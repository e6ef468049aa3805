/**
 * Lets Node keep the code that it compiled, so that the next start need not. Only in a home that is there: asking for help
 * makes none. Node 20 has no such cache and works without.
 * @see CLI-2 in docs/specification.md
 */

import { existsSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { homeOf } from '../machines/config/profile.ts';

export function keepCompiledCode(env: Readonly<Record<string, string | undefined>>): void {
  const { enableCompileCache } = module as { readonly enableCompileCache?: (folder: string) => unknown };
  const home = homeOf(env, homedir());
  if (enableCompileCache !== undefined && home !== undefined && existsSync(home))
    enableCompileCache(`${home}/cache/compiled`);
}
