/**
 * Parses JSON as editors and people write it: with comments and trailing commas, and as in JSON5 with keys without quotes and
 * single quotes.
 * @see CLI-5 in docs/specification.md
 */

import type { Json } from '../base/json.ts';
import { deepestJson, isTooDeep } from '../base/read-json.ts';

export type JsoncVerdict =
  | { readonly kind: 'read'; readonly value: Json }
  | { readonly kind: 'malformed'; readonly why: string };

/** Matches a complete string, so that text in it that looks like a comment or a key is kept. */
const token = /"(?:[^"\\]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|[A-Za-z_$][\w$]*(?=\s*:)/g;
const comma = /"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g;

export function parseJsonc(text: string): JsoncVerdict {
  const bare = text.replace(/^\uFEFF/, '').replace(token, asJson);
  if (isTooDeep(bare)) return { kind: 'malformed', why: `nested more than ${deepestJson} deep` };
  try {
    const value = JSON.parse(bare.replace(comma, (found) => (found === ',' ? '' : found))) as Json;
    return { kind: 'read', value };
  } catch (thrown) {
    // The engine's message may quote the text, which may contain a secret.
    const place = /position \d+|line \d+ column \d+/.exec((thrown as Error).message)?.[0];
    return { kind: 'malformed', why: place === undefined ? 'not JSON' : `not JSON at ${place}` };
  }
}

/** A string or a key in double quotes; a comment as a space. */
function asJson(found: string): string {
  switch (found[0]) {
    case '"':
      return found;
    case "'":
      return `"${found.slice(1, -1).replace(/\\.|"/g, (one) => ({ "\\'": "'", '"': '\\"' })[one] ?? one)}"`;
    case '/':
      return ' ';
    default:
      return `"${found}"`;
  }
}
