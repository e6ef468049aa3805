/**
 * A file name that is safe for any server name: letters, digits, `_`, `-` and inner dots stay, all other bytes become `%`
 * and two hex digits. Two names never share a file, not even on a case-insensitive file system: there, the end of the
 * file name encodes which letters are capital.
 * @see OAU-2 and LIF-10 in docs/specification.md
 */

import { createHash } from 'node:crypto';

/** Common file systems allow 255 bytes, and an extension follows. */
const maxNameLength = 180;
/** Whether the system's own file systems are case-insensitive. */
const foldsCapitals = process.platform === 'darwin' || process.platform === 'win32';

export function safeName(name: string, folds = foldsCapitals): string {
  const written = [...Buffer.from(name)]
    .map((byte) => String.fromCharCode(byte))
    .map((each, index) => (/[\w-]/.test(each) || (each === '.' && index > 0) ? each : encoded(each)))
    .join('');
  const safe = folds ? `${written}${capitalsOf(name)}` : written;
  if (safe.length <= maxNameLength && safe !== '') return safe;
  return `${written.slice(0, maxNameLength - 65)}-${createHash('sha256').update(name).digest('hex')}`;
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`;
}

/** A bit per capital letter, in hex; empty if there is none. A `~` in a name is encoded, so it cannot collide. */
function capitalsOf(name: string): string {
  const bits = [...name].reduce((sum, each, index) => (/[A-Z]/.test(each) ? sum | (1n << BigInt(index)) : sum), 0n);
  return bits === 0n ? '' : `~${bits.toString(16)}`;
}
