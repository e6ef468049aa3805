/**
 * Marks in a request up to where Claude's endpoint keeps what it has read, so that the next step of a run does not pay for
 * it again. Other endpoints do this without being asked, or ignore the marks.
 * @see DIS-3 in docs/specification.md
 */

import { isJsonObject, type JsonObject, scalarText } from '../base/json.ts';
import type { ModelQuestion, Turn } from './model-talk.ts';

/**
 * The turns that end in a mark: the newest, and the one that was the newest of the request before. A request that no other
 * follows has none, because writing to the cache costs more than reading.
 */
export function markedTurns({ turns, tools, isUncached = false }: ModelQuestion): ReadonlySet<Turn> {
  if (isUncached || (tools.length === 0 && turns.length < 2)) return new Set();
  return new Set(turns.filter(({ role }) => role !== 'assistant').slice(-2));
}

/** The message with a mark at its last part that is not blank: the endpoint refuses one at an empty text. */
export function withMark(message: JsonObject): JsonObject {
  const { content } = message;
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : [{ type: 'text', text: content ?? '' }];
  // A picture has neither.
  const at = parts.findLastIndex(({ type, text, content }) => scalarText(text ?? content ?? type).trim() !== '');
  if (at < 0) return message;
  const marked = parts.map((part, index) => (index === at ? { ...part, cache_control: { type: 'ephemeral' } } : part));
  return { ...message, content: marked };
}
