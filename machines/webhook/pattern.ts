/**
 * Compiles a user's regular expression for an engine with linear time, and limits its cost: for each character the engine
 * takes about as many steps as the pattern's program is long. A pattern too big for even a short text is rejected at start;
 * a text too long for its pattern is not searched, which is reported. Back-references and look-around are not supported.
 * @see FIL-4 in docs/specification.md
 * @see docs/decisions/0008-linear-time-patterns.md
 */

import { RE2JS } from 're2js';

type PatternVerdict = 'found' | 'absent' | 'tooLong';

type CompiledPattern =
  | {
      readonly ok: true;
      /** Instructions of the compiled pattern: steps per character. */
      readonly size: number;
      /** The longest text (UTF-16 units) that is searched. */
      readonly maxTextLength: number;
      readonly search: (text: string) => PatternVerdict;
    }
  | { readonly ok: false; readonly why: string };

/** Steps of one search: about a tenth of a second in the engine's worst case (`[a-z]{1,500}[0-9]`, measured). */
export const stepBudget = 4_000_000;
/** A pattern that cannot search a text of this length within the budget is rejected. */
export const shortestUsefulText = 1_000;

/** UTF-16 units of a pattern: the engine takes time for their square to compile them. */
const maxPatternLength = 16_000;

export function compilePattern(pattern: string): CompiledPattern {
  if (pattern.length > maxPatternLength) {
    return { ok: false, why: `it has ${pattern.length} characters; ${maxPatternLength} are allowed, so shorten it` };
  }
  try {
    const compiled = RE2JS.compile(pattern);
    const size = Math.max(1, compiled.programSize());
    const maxTextLength = Math.floor(stepBudget / size);
    if (maxTextLength < shortestUsefulText) {
      const why = `it compiles to ${size} steps per character; ${stepBudget / shortestUsefulText} are allowed, so repeat less`;
      return { ok: false, why };
    }
    const search = (text: string): PatternVerdict => {
      if (text.length > maxTextLength) return 'tooLong';
      return compiled.test(text) ? 'found' : 'absent';
    };
    return { ok: true, size, maxTextLength, search };
  } catch (thrown) {
    return { ok: false, why: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}
