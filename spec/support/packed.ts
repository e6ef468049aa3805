/** The package as a user installs it: what `npm pack` makes, beside the packages that npm installs with it and no other. */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { makeHome } from './home.ts';

interface Locked {
  readonly dev?: true;
}

/**
 * Returns the folder of the installed package; the packages that it depends on lie around it. Its path has the characters
 * that mean something in a URL.
 */
export function installPacked(t: Test): string {
  const path = join(makeHome(t, {}).path, 'C# 50%25 so?');
  mkdirSync(path);
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', path], { encoding: 'utf8', stdio: 'pipe' }),
  ) as [{ readonly filename: string }];
  execFileSync('tar', ['-xzf', join(path, packed.filename), '-C', path]);
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
  const installed = join(path, 'node_modules', 'agent-gateway');
  mkdirSync(join(path, 'node_modules'));
  cpSync(join(path, 'package'), installed, { recursive: true });
  for (const [folder, { dev }] of Object.entries(packages)) {
    if (folder === '' || dev === true || !existsSync(folder)) continue;
    cpSync(folder, join(path, folder), { recursive: true });
  }
  return installed;
}
