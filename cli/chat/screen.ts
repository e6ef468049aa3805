/**
 * What a chat shows: the answer as it arrives, wrapped between words, and calls and their results on separate lines. Text of
 * the model or a tool cannot move the cursor. Does no network I/O.
 * @see CLI-4 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import type { TurnResult } from '../../runtime/control/contract/chat.ts';
import type { Output } from '../context.ts';
import { counted } from '../labelled.ts';
import { dim, oneLine, plain, wrapped } from '../terminal.ts';
import { cutTo } from '../text-width.ts';
import { createFlow } from './flow.ts';

export interface ChatScreen {
  /** Shows a notification of the current turn. */
  event(event: JsonObject): void;
  /** Shows the result of `chat.say`. */
  outcome(outcome: TurnResult): void;
  /** Prints the text on separate lines. */
  say(text: string): void;
  /** Prints a sentence on separate, indented lines. */
  set(text: string): void;
  /** Prints a remark; dimmed on a terminal. */
  note(text: string): void;
}

/** A pipe receives only the answer; the rest is written to standard error. */
export function createScreen(out: Output, isTerminal: boolean): ChatScreen {
  const flow = createFlow(() => out.columns);
  let atStart = true;

  function fresh(): void {
    flow.begin();
    if (!atStart) out.print('\n');
    atStart = true;
  }

  function note(text: string): void {
    fresh();
    if (isTerminal) out.print(`${dim(out, text)}\n`);
    else out.complain(`${text}\n`);
  }

  function short(text: string, beside: number): string {
    const line = oneLine(text);
    const room = Math.max(20, out.columns - beside - 1);
    return isTerminal ? cutTo(line, room) : line;
  }

  return {
    event({ kind, ...event }) {
      const text = String(event.text ?? '');
      switch (kind) {
        case 'text': {
          const shown = isTerminal ? flow.push(plain(text)) : plain(text);
          out.print(shown);
          if (shown !== '') atStart = shown.endsWith('\n');
          return;
        }
        case 'again':
          note(`  the model is asked again: ${short(text, 27)}`);
          return;
        case 'call': {
          const tool = oneLine(String(event.tool));
          note(`  → ${tool} ${short(String(event.arguments), tool.length + 5)}`);
          return;
        }
        case 'result':
          note(event.is_error === true ? `  ✗ ${short(text, 4)}` : `  ✓ ${size(Number(event.characters))}`);
          return;
      }
    },
    outcome({ outcome, reason, steps, input_tokens, output_tokens, cost }) {
      fresh();
      if (outcome === 'cancelled') {
        note('  (cancelled)');
        return;
      }
      if (outcome === 'failed') out.complain(`agent: ${oneLine(reason ?? '')}\n`);
      if (!isTerminal) return;
      const money = cost === undefined ? [] : [`cost ${cost}`];
      const parts = [
        counted(Number(steps), 'step'),
        `${String(input_tokens)}+${String(output_tokens)} tokens`,
        ...money,
      ];
      note(`  ${parts.join(' · ')}`);
    },
    say(text) {
      fresh();
      out.print(`${text}\n`);
    },
    set(text) {
      fresh();
      const lines = isTerminal ? wrapped(text, out.columns - 2, '') : [text];
      for (const line of lines) out.print(`  ${line}\n`);
    },
    note,
  };
}

function size(characters: number): string {
  return characters < 10_000 ? counted(characters, 'character') : `${Math.round(characters / 1_000)}k characters`;
}
