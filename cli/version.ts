/** The version as package.json says it. */

import { readFileSync } from 'node:fs';

export function version(): string {
  // The built file lies two folders below the package's root.
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
