/**
 * One request of a server to its client: a form to be filled in by a person, or a text to be made by the agent's model.
 * Refuses by policy before anybody is bothered. Knows no session: the answer goes back through the wiring.
 * @see SRV-1 and SRV-2 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, promiseHole } from '../base/declare.ts';

export interface ServerRequestInput {
  readonly id: string;
  readonly profile: string;
  readonly server: string;
  readonly kind: 'elicitation' | 'sampling';
}

export interface ServerRequestContext extends ServerRequestInput {
  /** What policy or a person decided, for a person. */
  readonly why: string | null;
  readonly refused: boolean;
}

export type ServerRequestEvent =
  | { readonly type: 'approval.settled'; readonly verdict: 'approved' | 'denied' | 'timedOut' | 'tooMany' }
  | { readonly type: 'request.cancel' };

export type ModelVerdict = { readonly kind: 'made' } | { readonly kind: 'failed'; readonly why: string };

export const serverRequestMachine = setup({
  types: {
    input: {} as ServerRequestInput,
    context: {} as ServerRequestContext,
    events: {} as ServerRequestEvent,
  },
  actors: { runModel: promiseHole<ModelVerdict, ServerRequestContext>('runModel') },
  actions: {
    /** Holds the request against the server's policy. */
    admit: effect('admit'),
    askPerson: effect('askPerson'),
    withdrawQuestion: effect('withdrawQuestion'),
    answer: effect('answer'),
    rememberWhy: assign((_, params: { why: string }) => ({ why: params.why, refused: true })),
  },
  guards: {
    isRefused: ({ context }) => context.refused,
    isForm: ({ context }) => context.kind === 'elicitation',
    isApproved: (_, params: { verdict: string }) => params.verdict === 'approved',
    isMade: (_, verdict: ModelVerdict) => verdict.kind === 'made',
  },
}).createMachine({
  id: 'serverRequest',
  context: ({ input }) => ({ ...input, why: null, refused: false }),
  initial: 'admitting',
  states: {
    admitting: {
      description: "Holds the request against the server's policy: switched on, within its rate, a form and no URL.",
      meta: { rule: 'SRV-2' },
      tags: ['working'],
      entry: 'admit',
      always: [
        { guard: 'isRefused', target: 'answered' },
        { guard: 'isForm', target: 'asking' },
        { target: 'sampling' },
      ],
    },
    asking: {
      description: 'A person has the form.',
      meta: { rule: 'SRV-1' },
      tags: ['needsUser'],
      entry: 'askPerson',
      on: {
        'approval.settled': [
          { guard: { type: 'isApproved', params: ({ event }) => event }, target: 'answered' },
          { target: 'answered', actions: { type: 'rememberWhy', params: ({ event }) => ({ why: event.verdict }) } },
        ],
        'request.cancel': {
          target: 'answered',
          actions: ['withdrawQuestion', { type: 'rememberWhy', params: { why: 'cancelled' } }],
        },
      },
    },
    sampling: {
      description: "The agent's model makes the text.",
      meta: { rule: 'SRV-2' },
      tags: ['working'],
      invoke: {
        id: 'runModel',
        src: 'runModel',
        input: ({ context }) => context,
        onDone: [
          { guard: { type: 'isMade', params: ({ event }) => event.output }, target: 'answered' },
          {
            target: 'answered',
            actions: { type: 'rememberWhy', params: ({ event }) => ({ why: whyOf(event.output) }) },
          },
        ],
        onError: {
          target: 'answered',
          actions: { type: 'rememberWhy', params: { why: 'the model could not be asked; see the log' } },
        },
      },
      on: {
        'request.cancel': { target: 'answered', actions: { type: 'rememberWhy', params: { why: 'cancelled' } } },
      },
    },
    answered: {
      description: 'The server has its answer.',
      meta: { rule: 'SRV-1' },
      tags: ['ended'],
      type: 'final',
      entry: 'answer',
    },
  },
});

function whyOf(verdict: ModelVerdict): string {
  return verdict.kind === 'failed' ? verdict.why : '';
}
