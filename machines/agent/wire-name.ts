/**
 * Names tools as a model endpoint takes names: letters, digits, `_` and `-`, at most 64. A name that fits stands for
 * itself; a longer one is cut and told apart by its digest. Knows no tool.
 * @see NAM-1 and DIS-3 in docs/specification.md
 */

import { createHash } from 'node:crypto';

/** OpenAI's limit, the shorter one of the two. */
const longestName = 64;
const digestLength = 10;
/** How much of a longer name is kept. */
export const keptOfName = longestName - digestLength - 1;

export function wireName(name: string): string {
  if (/^[\w-]{1,64}$/.test(name)) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, digestLength);
  return `${name.replace(/[^\w-]/g, '_').slice(0, keptOfName)}_${digest}`;
}
