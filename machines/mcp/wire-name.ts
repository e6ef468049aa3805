/**
 * A tool's name in the form that every consumer accepts: letters, digits, `_` and `-`, at most 64 characters. A name that
 * fits is unchanged; a longer one is cut and ends with a digest of the full name.
 * @see NAM-2 and DIS-3 in docs/specification.md
 */

import { createHash } from 'node:crypto';

/** OpenAI's limit, the shorter of the two. */
const maxNameLength = 64;
const digestLength = 10;
/** How much of a longer name is kept. */
export const keptOfName = maxNameLength - digestLength - 1;

export function wireName(name: string, maxLength = maxNameLength): string {
  if (name.length <= maxLength && /^[\w-]+$/.test(name)) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, digestLength);
  return `${name.replace(/[^\w-]/g, '_').slice(0, maxLength - digestLength - 1)}_${digest}`;
}
