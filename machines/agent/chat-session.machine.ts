/**
 * One session of `agent chat`: waits for the person, answers, can be cancelled, and ends with its terminal. The wiring keeps
 * the messages.
 * @see CLI-4 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, promisePlaceholder } from '../base/declare.ts';

export interface ChatInput {
  readonly id: string;
  readonly profile: string;
}

export interface ChatContext extends ChatInput {
  /** Turns that have ended, with any outcome. */
  readonly turns: number;
}

type ChatEvent =
  | { readonly type: 'turn.begin' }
  | { readonly type: 'turn.cancel' }
  /** The terminal has disconnected. */
  | { readonly type: 'chat.close' };

/** How long to wait for cancelled work; a server's tool may continue after that. */
const stopPatienceMs = 5_000;

export const chatSessionMachine = setup({
  types: { input: {} as ChatInput, context: {} as ChatContext, events: {} as ChatEvent },
  actors: {
    answerTurn: promisePlaceholder<undefined, ChatContext>('answerTurn'),
    /** Resolves when the cancelled work has stopped. */
    awaitStopped: promisePlaceholder<undefined, ChatContext>('awaitStopped'),
  },
  actions: {
    /** Sends the outcome of the turn to the terminal. */
    reportTurn: effect('reportTurn'),
    forget: effect('forget'),
    countTurn: assign(({ context }) => ({ turns: context.turns + 1 })),
  },
  delays: { stopPatience: stopPatienceMs },
}).createMachine({
  id: 'chatSession',
  context: ({ input: { id, profile } }) => ({ id, profile, turns: 0 }),
  initial: 'idle',
  states: {
    idle: {
      description: 'Waits for the next message of the person.',
      meta: { rule: 'CLI-4' },
      tags: ['needsUser'],
      on: { 'turn.begin': 'answering', 'chat.close': 'closed' },
    },
    answering: {
      description: 'The model answers, or the tools that it asked for run.',
      meta: { rule: 'CLI-4' },
      tags: ['working'],
      invoke: {
        id: 'answerTurn',
        src: 'answerTurn',
        input: ({ context }) => context,
        onDone: { target: 'idle', actions: ['countTurn', 'reportTurn'] },
        onError: { target: 'idle', actions: ['countTurn', 'reportTurn'] },
      },
      on: { 'turn.cancel': 'cancelling', 'chat.close': 'closed' },
    },
    cancelling: {
      description: 'The turn is being stopped; what it began ends first.',
      meta: { rule: 'CLI-4' },
      tags: ['working'],
      invoke: {
        id: 'awaitStopped',
        src: 'awaitStopped',
        input: ({ context }) => context,
        onDone: { target: 'idle', actions: ['countTurn', 'reportTurn'] },
        onError: { target: 'idle', actions: ['countTurn', 'reportTurn'] },
      },
      after: { stopPatience: { target: 'idle', actions: ['countTurn', 'reportTurn'] } },
      on: { 'chat.close': 'closed' },
    },
    closed: {
      description: 'The terminal is gone; nothing of the session is kept.',
      meta: { rule: 'CLI-4' },
      tags: ['ended'],
      type: 'final',
      entry: ['reportTurn', 'forget'],
    },
  },
});
