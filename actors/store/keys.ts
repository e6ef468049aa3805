/** Formats the keys of claims, marks and indexes: texts that sort like the values that they encode. */

import { createHash } from 'node:crypto';

const bytesAsText = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** The first eight characters change about once a minute, so two or three are in use at a time. */
const minutes = new Map<number, string>();
const maxMinutes = 64;

/** A time as sortable text: integer milliseconds, from 1970 to the year 10889. */
export function timeText(atMs: number): string {
  const ms = Math.min(Math.max(0, Math.ceil(atMs)), 0xffff_ffff_ffff);
  const high = Math.floor(ms / 0x1_0000);
  const low = ms % 0x1_0000;
  return minuteText(high) + bytesAsText[low >>> 8] + bytesAsText[low & 0xff];
}

function minuteText(minute: number): string {
  const known = minutes.get(minute);
  if (known !== undefined) return known;
  if (minutes.size === maxMinutes) minutes.clear();
  const text = minute.toString(16).padStart(8, '0');
  minutes.set(minute, text);
  return text;
}

const maxNameLength = 500;

/** The key of a claim: its name, or a digest if the name is too long for a key. */
export function claimKey(name: string): string {
  if (isOwnName(name)) return name;
  return `sha256:${createHash('sha256').update(name).digest('hex')}`;
}

/** Whether a claim's key is its name, so that it is found by a prefix of the name. */
export function isOwnName(name: string): boolean {
  return name !== '' && name.length <= maxNameLength;
}

const maxMarkLength = 200;
const special = /[%/]/;

/** A mark as part of a key: the separator is escaped, and a mark that is too long becomes a digest. */
export function markText(mark: string): string {
  if (mark.length > maxMarkLength)
    return `${mark.slice(0, 1)}sha256:${createHash('sha256').update(mark).digest('hex')}`;
  return special.test(mark) ? mark.replaceAll('%', '%25').replaceAll('/', '%2F') : mark;
}
