/**
 * Spells the keys of claims and indexes: texts that sort as what they stand for does.
 */

import { createHash } from 'node:crypto';

/** A time as text that sorts as it does: whole milliseconds, from 1970 to the year 10889. */
export function timeText(atMs: number): string {
  return Math.min(Math.max(0, Math.ceil(atMs)), 0xffff_ffff_ffff)
    .toString(16)
    .padStart(12, '0');
}

const longestName = 500;

/** The key of a claim: its name, or a digest where the name is too long for a key. */
export function claimKey(name: string): string {
  if (name !== '' && name.length <= longestName) return name;
  return `sha256:${createHash('sha256').update(name).digest('hex')}`;
}
