/**
 * Keeps a conversation within what a model takes in: the oldest exchanges go first, and always whole, for an endpoint
 * refuses a tool's answer without its call. Asks nobody.
 * @see CLI-4 in docs/specification.md
 */

import type { Turn } from './model-talk.ts';

/** Returns the newest exchanges that fit; the last one stays however long it is. */
export function fitConversation(turns: readonly Turn[], mostCharacters: number): readonly Turn[] {
  let left = mostCharacters;
  let from = turns.length;
  for (let at = turns.length - 1; at >= 0; at -= 1) {
    const turn = turns[at];
    if (turn === undefined) break;
    left -= lengthOf(turn);
    if (left < 0 && from < turns.length) break;
    // Only what a person said can begin a conversation.
    if (turn.role === 'user') from = at;
  }
  return turns.slice(from);
}

function lengthOf(turn: Turn): number {
  switch (turn.role) {
    case 'user':
      return turn.text.length;
    case 'assistant':
      return turn.calls.reduce(
        (sum, { name, argumentsText }) => sum + name.length + argumentsText.length,
        turn.text.length,
      );
    case 'tools':
      return turn.replies.reduce((sum, { text }) => sum + text.length, 0);
  }
}
