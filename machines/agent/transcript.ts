/**
 * What a run said and did, for the history: one entry an utterance, each text bounded, and the whole bounded too. Knows
 * no run and no store.
 * @see DIS-3 and DUR-2 in docs/specification.md
 */

import { cut, type JsonObject } from '../base/json.ts';
import type { Tokens } from './model-wire.ts';

export type TranscriptEntry =
  | { readonly kind: 'prompt'; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string; readonly tokens: Tokens }
  | { readonly kind: 'call'; readonly id: string; readonly tool: string; readonly arguments: string }
  | { readonly kind: 'result'; readonly id: string; readonly text: string; readonly isError: boolean };

/** What a run with the built-in loop adds to its outcome. */
export interface RunAccount {
  readonly steps: number;
  readonly tokens: Tokens;
  readonly transcript: readonly TranscriptEntry[];
}

const longestText = 16_384;
const mostCharacters = 524_288;

export interface Transcript {
  add(entry: TranscriptEntry): void;
  entries(): readonly TranscriptEntry[];
}

/** @param redact takes secrets out of a text, which is cut after that: half a secret is not known for one */
export function createTranscript(redact: (text: string) => string): Transcript {
  const entries: TranscriptEntry[] = [];
  let left = mostCharacters;
  const short = (text: string): string => {
    const clean = redact(text);
    const kept = cut(clean, Math.min(longestText, Math.max(0, left)));
    left -= kept.length;
    return kept.length === clean.length ? kept : `${kept} … [${clean.length - kept.length} characters left out]`;
  };
  return {
    add(entry) {
      if (entry.kind === 'call') entries.push({ ...entry, arguments: short(entry.arguments) });
      else entries.push({ ...entry, text: short(entry.text) });
    },
    entries: () => [...entries],
  };
}

/** The plain JSON of an account, for a record. */
export function accountJson({ steps, tokens, transcript }: RunAccount): JsonObject {
  return { steps, tokens: { ...tokens }, transcript: transcript.map((entry) => ({ ...entry }) as JsonObject) };
}
