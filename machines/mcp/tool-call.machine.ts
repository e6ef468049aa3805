/**
 * One call of one tool: resolves the tool, asks if trust requires it, connects the server, sends, and handles a lost
 * connection or a useless answer by the replay rules. What may have changed during a wait (a connect, an approval, a turn in
 * the queue) is resolved again before anything is sent. The wiring keeps arguments and results, which are a third party's;
 * the context holds the decisions.
 * @see TRU-1, TRU-2, LIF-7 and LIF-13 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, itself } from '../base/declare.ts';
import {
  type CallFault,
  cancelled,
  entryRetired,
  lostRead,
  noRepeat,
  notReached,
  refusal,
  unavailable,
  uncertain,
  unclear,
} from './call-faults.ts';
import { afterLostCall } from './trust.ts';

export interface CallInput {
  readonly id: string;
  readonly profile: string;
  /** The registered name. */
  readonly name: string;
  /** The caller: `cli`, `run`, `serve`. */
  readonly caller: string;
  /** The key of the calling run, if any. */
  readonly run?: string | undefined;
}

/** What the registry has for the tool, or why the call is refused before anything is sent. */
export type Resolution =
  | {
      readonly kind: 'found';
      readonly server: string;
      readonly tool: string;
      readonly readOnly: boolean;
      readonly asks: boolean;
      /** The server is connected and takes calls now. */
      readonly reached: boolean;
      /** How long connecting the server may take. */
      readonly reachMs: number;
      /** The tool's description has changed since a person approved the call. */
      readonly approved?: false;
    }
  /** Its server is connecting for the first time and may list it. */
  | { readonly kind: 'awaited'; readonly server: string; readonly reachMs: number }
  | { readonly kind: 'refused'; readonly fault: CallFault };

export interface CallContext extends CallInput {
  readonly server: string | null;
  /** The server's own name of the tool. */
  readonly tool: string | null;
  readonly readOnly: boolean;
  readonly asks: boolean;
  /** A person approved this call of this server's tool. */
  readonly approved: boolean;
  /** How often a person was asked. */
  readonly questions: number;
  readonly reached: boolean;
  readonly reachMs: number;
  readonly replayed: boolean;
  /** How often it was passed to a session. */
  readonly tries: number;
  readonly fault: CallFault | null;
}

export type CallVerdict =
  /** The server answered with a result or a tool error. */
  | { readonly kind: 'answered' }
  | { readonly kind: 'failed'; readonly fault: CallFault }
  /** The tool has changed since it was resolved; nothing was sent. */
  | { readonly kind: 'outdated' }
  /** The server's answer does not show whether the tool ran; the session is unchanged. */
  | { readonly kind: 'unclear'; readonly why: string }
  /** The session or the child is gone; `dispatched` if any part of the request may have reached the server. */
  | { readonly kind: 'lost'; readonly dispatched: boolean; readonly why: string };

export type CallEvent =
  | {
      readonly type: 'approval.settled';
      readonly verdict: 'approved' | 'denied' | 'timedOut' | 'tooMany';
      /** The reason that a person gave for a denial. */
      readonly note?: string | undefined;
    }
  | { readonly type: 'server.reached' }
  | { readonly type: 'server.unreachable'; readonly why: string; readonly code?: CallFault['code'] }
  /** The server's entry was changed or removed before the call was sent. */
  | { readonly type: 'server.retired'; readonly how: 'changed' | 'removed' }
  /** The outcome of an attempt, sent once for each. */
  | { readonly type: 'call.answered'; readonly verdict: CallVerdict }
  | { readonly type: 'call.cancel' };

export type CallOutput = CallContext;

/** Limits attempts with a server that dies before every dispatch. */
const maxTries = 3;

export const toolCallMachine = setup({
  types: {
    input: {} as CallInput,
    context: {} as CallContext,
    events: {} as CallEvent,
    output: {} as CallOutput,
  },
  actions: {
    resolveTool: effect('resolveTool'),
    askApproval: effect('askApproval'),
    reachServer: effect('reachServer'),
    /** Passes the call to the server's session; the outcome arrives as `call.answered`. */
    sendCall: effect('sendCall'),
    /** Withdraws the question and cancels the call, also at the server, as far as either is open. */
    takeBack: effect('takeBack'),
    countTry: assign(({ context }) => ({ tries: context.tries + 1 })),
    /** The attempt does not count: it was not passed to a session. */
    uncountTry: assign(({ context }) => ({ tries: context.tries - 1 })),
    countQuestion: assign(({ context }) => ({ questions: context.questions + 1 })),
    rememberYes: assign({ approved: true, reached: false }),
    rememberReached: assign({ reached: true }),
    markReplayed: assign(({ context }, params: { dispatched: boolean }) => ({
      replayed: context.replayed || params.dispatched,
    })),
    rememberFault: assign((_, params: { fault: CallFault }) => ({ fault: params.fault })),
  },
  guards: {
    isRefused: ({ context }) => context.fault !== null,
    /** It was sent while the tool was read-only. */
    mayNotRepeat: ({ context }) => context.replayed && !context.readOnly,
    asksFirst: ({ context }) => context.asks && !context.approved,
    isReached: ({ context }) => context.reached,
    isApproved: (_, params: { verdict: string }) => params.verdict === 'approved',
    isFailed: (_, verdict: CallVerdict) => verdict.kind === 'failed',
    isOutdated: (_, verdict: CallVerdict) => verdict.kind === 'outdated',
    mayGoAgain: ({ context }, verdict: CallVerdict) =>
      isWithoutResult(verdict) && context.tries < maxTries && afterLost(context, verdict) !== 'outcomeUncertain',
    isWithoutResult: (_, verdict: CallVerdict) => isWithoutResult(verdict),
  },
  delays: { reachLimit: ({ context }) => context.reachMs },
}).createMachine({
  id: 'toolCall',
  // Field by field: a spread followed by more fields would cost a third of the entire chart of a call.
  context: ({ input: { id, profile, name, caller, run } }) => ({
    id,
    profile,
    name,
    caller,
    run,
    server: null,
    tool: null,
    readOnly: false,
    asks: false,
    approved: false,
    questions: 0,
    reached: false,
    reachMs: 0,
    replayed: false,
    tries: 0,
    fault: null,
  }),
  initial: 'resolving',
  output: ({ context }) => context,
  on: {
    'call.cancel': {
      target: '.settled',
      actions: ['takeBack', { type: 'rememberFault', params: { fault: cancelled() } }],
    },
    'server.retired': {
      target: '.settled',
      actions: [
        'takeBack',
        { type: 'rememberFault', params: ({ context, event }) => ({ fault: entryRetired(context, event.how) }) },
      ],
    },
  },
  states: {
    resolving: {
      description:
        'Finds the tool by its registered name and checks the arguments against its schema; anew after every wait.',
      meta: { rule: 'LIF-13' },
      tags: ['working'],
      entry: 'resolveTool',
      always: [
        { guard: 'isRefused', target: 'settled' },
        {
          guard: 'mayNotRepeat',
          target: 'settled',
          actions: { type: 'rememberFault', params: ({ context }) => ({ fault: noRepeat(context) }) },
        },
        { guard: 'asksFirst', target: 'approving' },
        { guard: 'isReached', target: 'calling' },
        { target: 'reaching' },
      ],
    },
    approving: {
      description: 'A person is asked; until the answer nothing is sent and nothing is spawned.',
      meta: { rule: 'TRU-1' },
      tags: ['needsUser'],
      entry: ['countQuestion', 'askApproval'],
      on: {
        'approval.settled': [
          { guard: { type: 'isApproved', params: itself }, target: 'resolving', actions: 'rememberYes' },
          {
            target: 'settled',
            actions: { type: 'rememberFault', params: ({ context, event }) => ({ fault: refusal(context, event) }) },
          },
        ],
      },
    },
    reaching: {
      description: 'Waits for a connected session; a sleeping or parked server is woken.',
      meta: { rule: 'LIF-7' },
      tags: ['working'],
      entry: 'reachServer',
      on: {
        'server.reached': { target: 'resolving', actions: 'rememberReached' },
        'server.unreachable': {
          target: 'settled',
          actions: { type: 'rememberFault', params: ({ event }) => ({ fault: unavailable(event.why, event.code) }) },
        },
      },
      after: {
        reachLimit: {
          target: 'settled',
          actions: {
            type: 'rememberFault',
            params: ({ context }) => ({ fault: notReached(context, context.reachMs) }),
          },
        },
      },
    },
    calling: {
      description:
        'The call waits for its turn, then for its answer; its time is bounded and its end reaches the wire.',
      meta: { rule: 'LIF-3' },
      tags: ['working'],
      entry: ['countTry', 'sendCall'],
      on: {
        'call.answered': [
          {
            guard: { type: 'isOutdated', params: ({ event }) => event.verdict },
            target: 'resolving',
            actions: 'uncountTry',
          },
          {
            guard: { type: 'mayGoAgain', params: ({ event }) => event.verdict },
            target: 'replaying',
            actions: { type: 'markReplayed', params: ({ event }) => ({ dispatched: wasDispatched(event.verdict) }) },
          },
          {
            guard: { type: 'isWithoutResult', params: ({ event }) => event.verdict },
            target: 'settled',
            actions: {
              type: 'rememberFault',
              params: ({ context, event }) => ({ fault: faultWithout(context, event.verdict) }),
            },
          },
          {
            guard: { type: 'isFailed', params: ({ event }) => event.verdict },
            target: 'settled',
            actions: { type: 'rememberFault', params: ({ event }) => ({ fault: faultOf(event.verdict) }) },
          },
          { target: 'settled' },
        ],
      },
    },
    replaying: {
      description:
        'The connection or the answer was lost of a call that may be sent again: not yet sent, or only reading.',
      meta: { rule: 'TRU-2' },
      tags: ['working', 'retrying'],
      always: { target: 'reaching' },
    },
    settled: {
      description: 'The caller has the result, or the reason why there is none.',
      meta: { rule: 'TRU-2' },
      tags: ['ended'],
      type: 'final',
    },
  },
});

type WithoutResult = Extract<CallVerdict, { readonly kind: 'lost' | 'unclear' }>;

function isWithoutResult(verdict: CallVerdict): verdict is WithoutResult {
  return verdict.kind === 'lost' || verdict.kind === 'unclear';
}

function afterLost(context: CallContext, verdict: WithoutResult) {
  return afterLostCall({
    annotations: { readOnlyHint: context.readOnly },
    replayed: context.replayed,
    dispatched: wasDispatched(verdict) || context.replayed,
  });
}

function faultWithout(context: CallContext, verdict: CallVerdict): CallFault {
  if (!isWithoutResult(verdict)) return unavailable('');
  const { why } = verdict;
  // A read-only tool leaves nothing to check, however often it ran.
  if (verdict.kind === 'lost' && context.readOnly) return unavailable(lostRead(context, why));
  if (verdict.kind === 'unclear') return unclear(context, why);
  return afterLost(context, verdict) === 'outcomeUncertain' ? uncertain(context, why) : unavailable(why);
}

/** A call that was answered had been sent. */
function wasDispatched(verdict: CallVerdict): boolean {
  return verdict.kind === 'unclear' || (verdict.kind === 'lost' && verdict.dispatched);
}

function faultOf(verdict: CallVerdict): CallFault {
  return verdict.kind === 'failed' ? verdict.fault : unavailable('');
}
