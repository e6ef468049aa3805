/**
 * Parses the files of other programs: JSON as editors and people write it, with comments, trailing commas and what JSON5 adds
 * to keys and strings, TOML, and YAML. No reason for a refusal quotes the text, which may contain a secret.
 * @see CLI-5 in docs/specification.md
 * @see [TOML 1.0.0](https://toml.io/en/v1.0.0)
 */

import { parse, TomlError } from 'smol-toml';
import type { Json } from '../base/json.ts';
import { deepestJson, isTooDeep } from '../base/read-json.ts';
import type { Schema } from './check-schema.ts';
import { parseDocument } from './document.ts';
import { homeSchema } from './schema.ts';
import { serverEntrySchema } from './server-entry.ts';

export type ForeignText =
  | { readonly kind: 'read'; readonly value: Json }
  | { readonly kind: 'malformed'; readonly why: string };

/** Matches a complete string, so that text in it that looks like a comment or a key is kept; a broken one up to its end. */
const token = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\\r\n]|\\.)*'?|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)|[A-Za-z_$][\w$]*/g;
const colon = /\s*:/y;
const comma = /"(?:[^"\\]|\\.)*"?|,(?=\s*[}\]])/g;

export function parseJsonc(text: string): ForeignText {
  const bare = text.replace(/^\uFEFF/, '').replace(token, asJson);
  if (isTooDeep(bare)) return { kind: 'malformed', why: `nested more than ${deepestJson} deep` };
  try {
    const value = JSON.parse(bare.replace(comma, (found) => (found === ',' ? '' : found))) as Json;
    return { kind: 'read', value };
  } catch (thrown) {
    const place = /position \d+|line \d+ column \d+/.exec((thrown as Error).message)?.[0];
    return { kind: 'malformed', why: place === undefined ? 'not JSON' : `not JSON at ${place}` };
  }
}

/** A string or a key in double quotes; a comment as a space. */
function asJson(found: string, at: number, text: string): string {
  switch (found[0]) {
    case '"':
      return found;
    case "'":
      if (found.length < 2 || !found.endsWith("'")) return found;
      return `"${found.slice(1, -1).replace(/\\.|"/g, (one) => ({ "\\'": "'", '"': '\\"' })[one] ?? one)}"`;
    case '/':
      return ' ';
    default:
      colon.lastIndex = at + found.length;
      return colon.test(text) ? `"${found}"` : found;
  }
}

const { args, env, headers } = serverEntrySchema.properties;
/** Where Hermes Agent and goose keep the texts of servers. */
const serversSchema: Schema = {
  properties: {
    mcp_servers: homeSchema.properties.mcp_servers,
    extensions: { additionalProperties: { properties: { args, envs: env, headers } } },
  },
};

/** Texts of servers stay as they are written (CFG-2). */
export function parseYaml(text: string): ForeignText {
  const { value, findings } = parseDocument(text, serversSchema);
  const [found] = findings;
  return found === undefined
    ? { kind: 'read', value }
    : { kind: 'malformed', why: `not YAML at line ${found.line} column ${found.column}` };
}

const maxDepth = 64;

/** Dates become text, `nan` and `inf` become null. */
export function parseToml(text: string): ForeignText {
  try {
    const table = parse(text.replace(/^\uFEFF/, ''), { maxDepth, useLegacyDate: true });
    return { kind: 'read', value: JSON.parse(JSON.stringify(table)) };
  } catch (thrown) {
    // Only the first line of the message does not quote the document.
    const [why = ''] = (thrown as Error).message.replace('Invalid TOML document: ', '').split('\n');
    return { kind: 'malformed', why: `not TOML at line ${thrown instanceof TomlError ? thrown.line : 1}: ${why}` };
  }
}
