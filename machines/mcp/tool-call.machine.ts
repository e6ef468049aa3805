/**
 * One call of one tool: finds the tool, asks where trust says so, reaches the server, sends, and reads a lost connection
 * by the rules of replay. Arguments and results are a stranger's and lie with the wiring; here is what is decided.
 * @see TRU-1, TRU-2, LIF-7 and LIF-13 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect } from '../base/declare.ts';
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

/** Why a call has no result. The codes are stable: scripts match on them. */
export interface CallFault {
  readonly code:
    | 'unknown_tool'
    | 'invalid_arguments'
    | 'approval_denied'
    | 'approval_timed_out'
    | 'server_unavailable'
    | 'outcome_uncertain'
    | 'needs_login'
    | 'timed_out'
    | 'cancelled'
    | 'rpc_error';
  readonly message: string;
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
    }
  | { readonly kind: 'refused'; readonly fault: CallFault };

export interface CallContext extends CallInput {
  readonly server: string | null;
  /** The server's own name of the tool. */
  readonly tool: string | null;
  readonly readOnly: boolean;
  readonly asks: boolean;
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
  /** The session or the child is gone; `dispatched` where any part of the request may have reached the server. */
  | { readonly kind: 'lost'; readonly dispatched: boolean; readonly why: string };

export type CallEvent =
  | { readonly type: 'approval.settled'; readonly verdict: 'approved' | 'denied' | 'timedOut' }
  | { readonly type: 'server.reached' }
  | { readonly type: 'server.unreachable'; readonly why: string }
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
    markReplayed: assign(({ context }, params: { dispatched: boolean }) => ({
      replayed: context.replayed || params.dispatched,
    })),
    rememberFault: assign((_, params: { fault: CallFault }) => ({ fault: params.fault })),
  },
  guards: {
    isRefused: ({ context }) => context.fault !== null,
    asksFirst: ({ context }) => context.asks,
    isReached: ({ context }) => context.reached,
    isApproved: (_, params: { verdict: string }) => params.verdict === 'approved',
    isFailed: (_, verdict: CallVerdict) => verdict.kind === 'failed',
    mayGoAgain: ({ context }, verdict: CallVerdict) =>
      verdict.kind === 'lost' && context.tries < mostTries && afterLost(context, verdict) !== 'outcomeUncertain',
    isLost: (_, verdict: CallVerdict) => verdict.kind === 'lost',
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
      description: 'Finds the tool by its registered name and holds the arguments against its schema.',
      meta: { rule: 'LIF-13' },
      tags: ['working'],
      entry: 'resolveTool',
      always: [
        { guard: 'isRefused', target: 'settled' },
        { guard: 'asksFirst', target: 'approving' },
        { guard: 'isReached', target: 'calling' },
        { target: 'reaching' },
      ],
    },
    approving: {
      description: 'A person is asked; until the answer nothing is sent and nothing is spawned.',
      meta: { rule: 'TRU-1' },
      tags: ['needsUser'],
      entry: 'askApproval',
      on: {
        'approval.settled': [
          { guard: { type: 'isApproved', params: ({ event }) => event }, target: 'reaching' },
          {
            target: 'settled',
            actions: { type: 'rememberFault', params: ({ context, event }) => ({ fault: refusal(context, event) }) },
          },
        ],
        'call.cancel': {
          target: 'settled',
          actions: ['withdrawApproval', { type: 'rememberFault', params: { fault: cancelled() } }],
        },
      },
    },
    reaching: {
      description: 'Waits for a connected session; a sleeping or parked server is woken.',
      meta: { rule: 'LIF-7' },
      tags: ['working'],
      entry: 'reachServer',
      on: {
        'server.reached': 'calling',
        'server.unreachable': {
          target: 'settled',
          actions: { type: 'rememberFault', params: ({ event }) => ({ fault: unavailable(event.why) }) },
        },
        'call.cancel': { target: 'settled', actions: { type: 'rememberFault', params: { fault: cancelled() } } },
      },
      after: {
        reachLimit: {
          target: 'settled',
          actions: {
            type: 'rememberFault',
            params: ({ context }) => ({
              fault: unavailable(`mcp server "${context.server}": not reached within ${context.reachMs / 1_000} s`),
            }),
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
            guard: { type: 'mayGoAgain', params: ({ event }) => event.verdict },
            target: 'replaying',
            actions: { type: 'markReplayed', params: ({ event }) => ({ dispatched: wasDispatched(event.verdict) }) },
          },
          {
            guard: { type: 'isLost', params: ({ event }) => event.verdict },
            target: 'settled',
            actions: {
              type: 'rememberFault',
              params: ({ context, event }) => ({ fault: lostFault(context, event.verdict) }),
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
      },
    },
    replaying: {
      description: 'The connection was lost under a call that may be sent again: not yet sent, or only reading.',
      meta: { rule: 'TRU-2' },
      tags: ['working'],
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

function afterLost(context: CallContext, verdict: Extract<CallVerdict, { kind: 'lost' }>) {
  return afterLostCall({
    annotations: { readOnlyHint: context.readOnly },
    replayed: context.replayed,
    dispatched: verdict.dispatched || context.replayed,
  });
}

function lostFault(context: CallContext, verdict: CallVerdict): CallFault {
  const why = verdict.kind === 'lost' ? verdict.why : '';
  if (verdict.kind === 'lost' && afterLost(context, verdict) !== 'outcomeUncertain') return unavailable(why);
  return {
    code: 'outcome_uncertain',
    message: `mcp server "${context.server}": the connection was lost during ${context.name} (${why}); the tool may have run: check before you call it again`,
  };
}

function refusal(context: CallContext, event: { readonly verdict: string }): CallFault {
  return event.verdict === 'timedOut'
    ? {
        code: 'approval_timed_out',
        message: `${context.name} was not run: nobody approved it in time; answer with \`agent approvals\``,
      }
    : { code: 'approval_denied', message: `${context.name} was not run: it was denied` };
}

function unavailable(why: string): CallFault {
  return { code: 'server_unavailable', message: why };
}

function cancelled(): CallFault {
  return { code: 'cancelled', message: 'the caller cancelled the call' };
}

function wasDispatched(verdict: CallVerdict): boolean {
  return verdict.kind === 'lost' && verdict.dispatched;
}

function faultOf(verdict: CallVerdict): CallFault {
  return verdict.kind === 'failed' ? verdict.fault : unavailable('');
}
