/**
 * Reads JSON as editors write it: with comments and a comma after the last item. What it holds is not known here.
 * @see CLI-5 in docs/specification.md
 */

import type { Json } from '../base/json.ts';
import { deepestJson, isTooDeep } from '../base/read-json.ts';

export type JsoncVerdict =
  | { readonly kind: 'read'; readonly value: Json }
  | { readonly kind: 'malformed'; readonly why: string };

/** A string is passed over whole, so that what looks like a comment in it stays. */
const token = /"(?:[^"\\]|\\.)*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g;
const comma = /"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g;

export function parseJsonc(text: string): JsoncVerdict {
  const bare = text.replace(/^\uFEFF/, '').replace(token, (found) => (found.startsWith('"') ? found : ' '));
  if (isTooDeep(bare)) return { kind: 'malformed', why: `nested more than ${deepestJson} deep` };
  try {
    const value = JSON.parse(bare.replace(comma, (found) => (found === ',' ? '' : found))) as Json;
    return { kind: 'read', value };
  } catch (thrown) {
    // The engine's message may quote the text, and the text may hold a secret.
    const place = /position \d+|line \d+ column \d+/.exec((thrown as Error).message)?.[0];
    return { kind: 'malformed', why: place === undefined ? 'not JSON' : `not JSON at ${place}` };
  }
}
