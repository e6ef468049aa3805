/**
 * Parses TOML into JSON values. Dates become text, `nan` and `inf` become null.
 * @see CLI-5 in docs/specification.md
 * @see [TOML 1.0.0](https://toml.io/en/v1.0.0)
 */

import { parse, TomlError } from 'smol-toml';
import type { JsonObject } from '../base/json.ts';

export type TomlVerdict =
  | { readonly kind: 'read'; readonly value: JsonObject }
  | { readonly kind: 'malformed'; readonly line: number; readonly why: string };

const maxDepth = 64;

/** The document, or the line of its first error. */
export function parseToml(text: string): TomlVerdict {
  try {
    const table = parse(text.replace(/^\uFEFF/, ''), { maxDepth, useLegacyDate: true });
    return { kind: 'read', value: JSON.parse(JSON.stringify(table)) };
  } catch (thrown) {
    // Later lines of the message quote the document, which may contain a secret.
    const [why = ''] = (thrown as Error).message.replace('Invalid TOML document: ', '').split('\n');
    return { kind: 'malformed', line: thrown instanceof TomlError ? thrown.line : 1, why };
  }
}
