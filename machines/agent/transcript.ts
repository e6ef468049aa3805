/**
 * What a run said and did, for the history: one entry per utterance, with a limit per text and for all.
 * @see DIS-3 and DUR-2 in docs/specification.md
 */

import { cut, type JsonObject } from '../base/json.ts';
import type { Spending } from './spending.ts';

/** An entry with its time in Unix milliseconds. */
type TimedEntry = TranscriptEntry & { readonly atMs?: number };

export type TranscriptEntry =
  | { readonly kind: 'prompt'; readonly text: string }
  /** What the model said in one step. */
  | { readonly kind: 'answer'; readonly text: string; readonly inputTokens: number; readonly outputTokens: number }
  /** An answer broke off and the request was repeated. */
  | { readonly kind: 'again'; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly tool: string; readonly text: string }
  | { readonly kind: 'result'; readonly id: string; readonly text: string; readonly isError: boolean };

/** What a run of the built-in loop adds to its outcome. */
export interface RunAccount {
  readonly spending: Spending;
  readonly transcript: readonly TimedEntry[];
}

const maxTextLength = 16_384;
const maxCharacters = 524_288;
/** Also bounded by number: a model in a loop writes short entries. */
const maxEntries = 2_000;

/** @param redact removes secrets from a text, which is cut after that: half a secret is not recognized */
export function createTranscript(redact: (text: string) => string) {
  const entries: TimedEntry[] = [];
  let left = maxCharacters;
  const short = (text: string): string => {
    const clean = redact(text);
    const kept = cut(clean, Math.min(maxTextLength, Math.max(0, left)));
    left -= kept.length;
    return kept.length === clean.length ? kept : `${kept} … [${clean.length - kept.length} characters left out]`;
  };
  return {
    add(entry: TranscriptEntry, atMs?: number): void {
      if (entries.length >= maxEntries) return;
      entries.push({ ...entry, text: short(entry.text), ...(atMs === undefined ? {} : { atMs }) });
    },
    entries: (): readonly TimedEntry[] => [...entries],
  };
}

/** The entries as plain JSON, with the key style of all rows. */
export function transcriptJson(entries: readonly TimedEntry[]): readonly JsonObject[] {
  return entries.map(({ atMs, ...entry }): JsonObject => {
    const row = entryJson(entry);
    return atMs === undefined ? row : { ...row, at_ms: atMs };
  });
}

function entryJson(entry: TranscriptEntry): JsonObject {
  switch (entry.kind) {
    case 'answer': {
      const { kind, text, inputTokens, outputTokens } = entry;
      return { kind, text, input_tokens: inputTokens, output_tokens: outputTokens };
    }
    case 'result': {
      const { kind, id, text, isError } = entry;
      return { kind, id, text, is_error: isError };
    }
    case 'call':
      // A tool's arguments, as the model wrote them.
      return { kind: entry.kind, id: entry.id, tool: entry.tool, arguments: entry.text };
    default:
      return { kind: entry.kind, text: entry.text };
  }
}
