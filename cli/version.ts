/** The version in package.json, and the path of this program. */

import { readFileSync } from 'node:fs';

// The compiled file and the bundle are both two folders below the package's root.
const root = new URL('../../', import.meta.url);

export function version(): string {
  const text = readFileSync(new URL('package.json', root), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

export function mainUrl(): URL {
  return new URL('dist/cli/main.js', root);
}
