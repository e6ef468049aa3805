/**
 * One call of one tool: finds the tool, asks where trust says so, reaches the server, sends, and reads a lost connection
 * and an answer of no use by the rules of replay. What a wait may have changed (a server reached, a yes, a turn in a lane)
 * is found anew before anything is sent. Arguments and results are a third party's and lie with the wiring; here is what is
 * decided.
 * @see TRU-1, TRU-2, LIF-7 and LIF-13 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect } from '../base/declare.ts';
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
  /** Who calls: `cli`, `run`, `serve`. */
  readonly caller: string;
  /** The key of the run that calls, where one does. */
  readonly run?: string | undefined;
}

/** What the registry knows of the tool, or why the call is refused before anything is sent. */
export type Resolution =
  | {
      readonly kind: 'found';
      readonly server: string;
      readonly tool: string;
      readonly readOnly: boolean;
      readonly asks: boolean;
      /** The server is connected and takes calls now. */
      readonly reached: boolean;
      /** How long the server may take to be reached. */
      readonly reachMs: number;
      /** The tool is described otherwise than it was when a person said yes. */
      readonly approved?: false;
    }
  /** Its server is on its first way to a connection and may list it. */
  | { readonly kind: 'awaited'; readonly server: string; readonly reachMs: number }
  | { readonly kind: 'refused'; readonly fault: CallFault };

export interface CallContext extends CallInput {
  readonly server: string | null;
  /** The server's own name of the tool. */
  readonly tool: string | null;
  readonly readOnly: boolean;
  readonly asks: boolean;
  /** A person said yes to this call of this server's tool. */
  readonly approved: boolean;
  /** How often a person was asked. */
  readonly questions: number;
  readonly reached: boolean;
  readonly reachMs: number;
  readonly replayed: boolean;
  /** How often it was given to a session. */
  readonly tries: number;
  readonly fault: CallFault | null;
}

export type CallVerdict =
  /** The server answered: a result, or a tool's own error. */
  | { readonly kind: 'answered' }
  | { readonly kind: 'failed'; readonly fault: CallFault }
  /** The tool is not the one any more that was found; nothing was sent. */
  | { readonly kind: 'outdated' }
  /** The server answered with what leaves open whether the tool ran; the session is as it was. */
  | { readonly kind: 'unclear'; readonly why: string }
  /** The session or the child is gone; `dispatched` where any part of the request may have reached the server. */
  | { readonly kind: 'lost'; readonly dispatched: boolean; readonly why: string };

export type CallEvent =
  | {
      readonly type: 'approval.settled';
      readonly verdict: 'approved' | 'denied' | 'timedOut' | 'tooMany';
      /** The reason that a person gave for a denial. */
      readonly note?: string | undefined;
    }
  | { readonly type: 'server.reached' }
  | { readonly type: 'server.unreachable'; readonly why: string }
  /** The server's entry is another, or none, and nothing of the call is on its way. */
  | { readonly type: 'server.retired'; readonly how: 'changed' | 'removed' }
  /** What came of a try, said once for each. */
  | { readonly type: 'call.answered'; readonly verdict: CallVerdict }
  | { readonly type: 'call.cancel' };

export type CallOutput = CallContext;

/** A server that dies before every dispatch is not fed for ever. */
const mostTries = 3;

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
    withdrawApproval: effect('withdrawApproval'),
    reachServer: effect('reachServer'),
    /** Gives the call to the server's session; what comes of it is told as `call.answered`. */
    sendCall: effect('sendCall'),
    /** Takes it back, on the wire too. */
    abandonCall: effect('abandonCall'),
    countTry: assign(({ context }) => ({ tries: context.tries + 1 })),
    /** No session was given it. */
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
    /** It went out while the tool only read. */
    mayNotRepeat: ({ context }) => context.replayed && !context.readOnly,
    asksFirst: ({ context }) => context.asks && !context.approved,
    isReached: ({ context }) => context.reached,
    isApproved: (_, params: { verdict: string }) => params.verdict === 'approved',
    isFailed: (_, verdict: CallVerdict) => verdict.kind === 'failed',
    isOutdated: (_, verdict: CallVerdict) => verdict.kind === 'outdated',
    mayGoAgain: ({ context }, verdict: CallVerdict) =>
      isWithoutResult(verdict) && context.tries < mostTries && afterLost(context, verdict) !== 'outcomeUncertain',
    isWithoutResult: (_, verdict: CallVerdict) => isWithoutResult(verdict),
  },
  delays: { reachLimit: ({ context }) => context.reachMs },
}).createMachine({
  id: 'toolCall',
  // Field by field: a spread with more fields after it costs a third of the whole call's chart.
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
  states: {
    resolving: {
      description:
        'Finds the tool by its registered name and holds the arguments against its schema; anew after every wait.',
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
          { guard: { type: 'isApproved', params: ({ event }) => event }, target: 'resolving', actions: 'rememberYes' },
          {
            target: 'settled',
            actions: {
              type: 'rememberFault',
              params: ({ context, event }) => ({ fault: refusal(context, event) }),
            },
          },
        ],
        'call.cancel': {
          target: 'settled',
          actions: ['withdrawApproval', { type: 'rememberFault', params: { fault: cancelled() } }],
        },
        'server.retired': {
          target: 'settled',
          actions: [
            'withdrawApproval',
            { type: 'rememberFault', params: ({ context, event }) => ({ fault: entryRetired(context, event.how) }) },
          ],
        },
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
          actions: { type: 'rememberFault', params: ({ event }) => ({ fault: unavailable(event.why) }) },
        },
        'call.cancel': { target: 'settled', actions: { type: 'rememberFault', params: { fault: cancelled() } } },
        'server.retired': {
          target: 'settled',
          actions: {
            type: 'rememberFault',
            params: ({ context, event }) => ({ fault: entryRetired(context, event.how) }),
          },
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
        'call.cancel': {
          target: 'settled',
          actions: ['abandonCall', { type: 'rememberFault', params: { fault: cancelled() } }],
        },
        'server.retired': {
          target: 'settled',
          actions: [
            'abandonCall',
            { type: 'rememberFault', params: ({ context, event }) => ({ fault: entryRetired(context, event.how) }) },
          ],
        },
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
  // Of a tool that only reads there is nothing to check, however often it ran.
  if (verdict.kind === 'lost' && context.readOnly) return unavailable(lostRead(context, why));
  if (verdict.kind === 'unclear') return unclear(context, why);
  return afterLost(context, verdict) === 'outcomeUncertain' ? uncertain(context, why) : unavailable(why);
}

/** What was answered had left. */
function wasDispatched(verdict: CallVerdict): boolean {
  return verdict.kind === 'unclear' || (verdict.kind === 'lost' && verdict.dispatched);
}

function faultOf(verdict: CallVerdict): CallFault {
  return verdict.kind === 'failed' ? verdict.fault : unavailable('');
}
