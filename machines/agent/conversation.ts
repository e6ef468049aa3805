/**
 * Limits a conversation to the model's context: the oldest exchanges are removed first, each completely, because an endpoint
 * rejects a tool result without its call.
 * @see CLI-4 in docs/specification.md
 */

import type { Turn } from './model-talk.ts';

/** Returns the newest exchanges that fit; the last one is always kept. */
export function fitConversation(turns: readonly Turn[], mostCharacters: number): readonly Turn[] {
  let left = mostCharacters;
  let from = turns.length;
  for (let at = turns.length - 1; at >= 0; at -= 1) {
    const turn = turns[at];
    if (turn === undefined) break;
    left -= lengthOf(turn);
    if (left < 0 && from < turns.length) break;
    // A conversation has to begin with a user turn.
    if (turn.role === 'user') from = at;
  }
  return turns.slice(from);
}

/** Returns the newer half of the exchanges; the last one is always kept. */
export function newerHalf(turns: readonly Turn[]): readonly Turn[] {
  const begins = [...turns.keys()].filter((at) => turns[at]?.role === 'user');
  return turns.slice(begins[Math.ceil(begins.length / 2)] ?? begins.at(-1));
}

function lengthOf(turn: Turn): number {
  switch (turn.role) {
    case 'user':
      return turn.text.length;
    case 'assistant':
      return turn.calls.reduce(
        (sum, { name, argumentsText }) => sum + name.length + argumentsText.length,
        turn.text.length + (turn.reasoning === undefined ? 0 : JSON.stringify(turn.reasoning).length),
      );
    case 'tools':
      return turn.replies.reduce((sum, { text }) => sum + text.length, 0);
  }
}
