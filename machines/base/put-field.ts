/**
 * Puts a field into the text of a JSON object without another change: numbers that JavaScript does not hold exactly stay as
 * they are written.
 * @see SUB-4 in docs/specification.md
 */

import { jsonToken } from './indented-json.ts';
import type { Json } from './json.ts';

interface Member {
  readonly key: string;
  /** The place of its value in the text. */
  readonly from: number;
  readonly to: number;
}

/**
 * @param json text that is JSON; anything but an object is replaced by one
 * @param path the keys that lead to the field; objects on the way are made
 */
export function putField(json: string, [key = '', ...rest]: readonly string[], value: Json): string {
  const within = (held: string): string => (rest.length === 0 ? JSON.stringify(value) : putField(held, rest, value));
  if (!json.trimStart().startsWith('{')) return `{${JSON.stringify(key)}:${within('{}')}}`;
  const members = membersOf(json);
  // Of a key that comes twice, the last one counts.
  const held = members.findLast((one) => one.key === key);
  if (held !== undefined)
    return `${json.slice(0, held.from)}${within(json.slice(held.from, held.to))}${json.slice(held.to)}`;
  const end = members.at(-1)?.to ?? json.indexOf('{') + 1;
  const comma = members.length === 0 ? '' : ',';
  return `${json.slice(0, end)}${comma}${JSON.stringify(key)}:${within('{}')}${json.slice(end)}`;
}

/** The members of an object, in their order. */
function membersOf(json: string): readonly Member[] {
  const members: Member[] = [];
  let depth = 0;
  let key: string | undefined;
  let from: number | undefined;
  let end = 0;
  for (const { 0: token, index } of json.matchAll(jsonToken)) {
    if (depth === 1 && (token === ',' || token === '}')) {
      if (key !== undefined && from !== undefined) members.push({ key, from, to: end });
      key = undefined;
      from = undefined;
    } else if (depth === 1 && key === undefined) key = JSON.parse(token) as string;
    else if (depth === 1 && token !== ':') from ??= index;
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    end = index + token.length;
  }
  return members;
}
