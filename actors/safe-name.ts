/**
 * A file name that is safe whatever a server is called: letters, digits, `_`, `-` and inner dots stand for themselves, all
 * other bytes are written as `%` and two digits. Two names never share a file, also where the file system takes capital
 * letters for small ones: there, a name says at its end which of its letters are capital.
 * @see OAU-2 and LIF-10 in docs/specification.md
 */

import { createHash } from 'node:crypto';

/** The file systems in use allow 255 bytes, and an ending follows. */
const longestName = 180;
/** Whether a folder may hold but one of `a` and `A`, as the systems' own file systems have it. */
const foldsCapitals = process.platform === 'darwin' || process.platform === 'win32';

export function safeName(name: string, folds = foldsCapitals): string {
  const written = [...Buffer.from(name)]
    .map((byte) => String.fromCharCode(byte))
    .map((each, index) => (/[\w-]/.test(each) || (each === '.' && index > 0) ? each : encoded(each)))
    .join('');
  const safe = folds ? `${written}${capitalsOf(name)}` : written;
  if (safe.length <= longestName && safe !== '') return safe;
  return `${written.slice(0, longestName - 65)}-${createHash('sha256').update(name).digest('hex')}`;
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`;
}

/** The places of the capital letters, as bits; nothing where there is none. A `~` in a name is encoded. */
function capitalsOf(name: string): string {
  const bits = [...name].reduce((sum, each, index) => (/[A-Z]/.test(each) ? sum | (1n << BigInt(index)) : sum), 0n);
  return bits === 0n ? '' : `~${bits.toString(16)}`;
}
