/** Estimates the bytes of a value as JSON without serializing it. */

import type { Json } from '../../machines/base/json.ts';

/** A number, a boolean, null, or the separators of a value. */
const smallBytes = 8;

export function weightOf(value: Json | undefined): number {
  if (typeof value === 'string') return value.length + smallBytes;
  if (typeof value !== 'object' || value === null) return smallBytes;
  let bytes = smallBytes;
  if (Array.isArray(value)) {
    for (const item of value) bytes += weightOf(item);
    return bytes;
  }
  const members = value as { readonly [name: string]: Json };
  for (const name in members) bytes += name.length + weightOf(members[name]);
  return bytes;
}
