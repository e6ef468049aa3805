/**
 * Keeps a conversation in the form that endpoints accept, and within the model's context: the oldest exchanges are removed
 * first, each completely, because an endpoint rejects a tool result without its call.
 * @see CLI-4 in docs/specification.md
 */

import type { Turn } from './model-talk.ts';

/**
 * Appends what the person says. Mistral's endpoint and the templates of some local models refuse it after anything but an
 * answer, which a turn that was stopped or failed does not have.
 */
export function withQuestion(turns: readonly Turn[], text: string): readonly Turn[] {
  const last = turns.at(-1)?.role;
  const unanswered = last === undefined || last === 'assistant' ? [] : [noAnswer];
  return [...turns, ...unanswered, { role: 'user', text }];
}

const noAnswer: Turn = { role: 'assistant', text: '(no answer)', calls: [] };

/** Returns the newest exchanges that fit; the last one is always kept. */
export function fitConversation(turns: readonly Turn[], maxCharacters: number): readonly Turn[] {
  let left = maxCharacters;
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

/** The same conversation without what was thought before the last question. */
export function withoutOldThoughts(turns: readonly Turn[]): readonly Turn[] {
  const asked = turns.findLastIndex(({ role }) => role === 'user');
  return turns.map((turn, at) => (at > asked ? turn : withoutThought(turn)));
}

/** The same conversation without anything that was thought. */
export function withoutThoughts(turns: readonly Turn[]): readonly Turn[] {
  return turns.map(withoutThought);
}

function withoutThought(turn: Turn): Turn {
  if (turn.role !== 'assistant') return turn;
  const { reasoning: _, ...said } = turn;
  return said;
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
