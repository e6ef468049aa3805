/**
 * A file name that is safe whatever a server is called: letters, digits, `_`, `-` and inner dots stand for themselves, all
 * other bytes are written as `%` and two digits. Two names never share a file.
 * @see OAU-2 and LIF-10 in docs/specification.md
 */

import { createHash } from 'node:crypto';

/** The file systems in use allow 255 bytes, and an ending follows. */
const longestName = 180;

export function safeName(name: string): string {
  const safe = [...Buffer.from(name)]
    .map((byte) => String.fromCharCode(byte))
    .map((each, index) => (/[\w-]/.test(each) || (each === '.' && index > 0) ? each : encoded(each)))
    .join('');
  if (safe.length <= longestName && safe !== '') return safe;
  return `${safe.slice(0, longestName - 65)}-${createHash('sha256').update(name).digest('hex')}`;
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`;
}
