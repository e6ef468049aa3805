/**
 * Compiles a user's regular expression for an engine that takes time linear in the text, whatever the pattern: no filter
 * can hang the gateway. Back-references and look-around do not exist there and are refused at start.
 * @see FIL-4 in docs/specification.md
 */

import { RE2JS } from 're2js';

export type CompiledPattern =
  | { readonly ok: true; readonly value: (text: string) => boolean }
  | { readonly ok: false; readonly why: string };

/** Returns a search for the pattern anywhere in a text. */
export function compilePattern(pattern: string): CompiledPattern {
  try {
    const compiled = RE2JS.compile(pattern);
    return { ok: true, value: (text) => compiled.matcher(text).find() };
  } catch (thrown) {
    return { ok: false, why: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}
