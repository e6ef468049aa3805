/**
 * The life of one connection to one MCP server in one profile: connects, stays connected, recycles, backs off, parks. Has
 * only the number of tools and a session number; the wiring keeps the session itself.
 * @see LIF-1, LIF-5, LIF-7 and LIF-8 in docs/specification.md
 */

import { assign, cancel, raise, setup } from 'xstate';
import { effect, effectOf, itself, itsOutput, promisePlaceholder } from '../base/declare.ts';
import { maxTimerMs } from '../base/timer.ts';
import type { CallFault } from './call-faults.ts';
import type { AfterFailure } from './connect-failure.ts';
import type { Era } from './era.ts';
import {
  type BreakerEvent,
  type BreakerState,
  breakerStep,
  closedBreaker,
  planRetry,
  selfProbeMs,
} from './retry-plan.ts';
import type { ServerSettings, TransportPlan } from './server-settings.ts';

export interface ConnectionInput {
  readonly server: string;
  readonly profile: string;
  readonly transport: TransportPlan['kind'];
  /** The first state: `failed` for a broken entry, `lazy` for one with cached tools. */
  readonly begin: 'disabled' | 'lazy' | 'connecting' | 'failed';
  /** The fault of a broken entry. */
  readonly why: string | null;
  /** The number of tools cached from an earlier discovery. */
  readonly tools: number;
  readonly keepaliveMs: number;
  readonly idleTimeoutMs: number;
  readonly maxLifetimeMs: number;
  readonly breakerLimits: ServerSettings['breaker'];
}

export interface ConnectionContext extends ConnectionInput {
  readonly era: Era | null;
  /** Counts the sessions, so that events of an old one are not attributed to the new one. */
  readonly session: number;
  /** Consecutive failed attempts and sessions. */
  readonly failures: number;
  readonly retryMs: number;
  readonly inFlight: number;
  readonly answered: boolean;
  /** The lifetime is over; the end of the last call in progress closes the session. */
  readonly retiring: boolean;
  /** Whether to reconnect after closing, for a call or a person. */
  readonly wanted: boolean;
  /** Why the gateway closes the session, for the calls still on it; null if they get another reason. */
  readonly closing: string | null;
  readonly breaker: BreakerState;
}

export type ConnectVerdict =
  | { readonly kind: 'connected'; readonly era: Era; readonly tools: number }
  | ({ readonly kind: 'refused'; readonly after: AfterFailure } & Failed);

interface Failed {
  readonly why: string;
  readonly chance: number;
  /** How long the server asks to wait; after a refusal of credentials, when to try again although nothing has changed. */
  readonly waitMs?: number;
}

export type ConnectionEvent =
  /** A person requests a new connection. */
  | { readonly type: 'server.connect' }
  /** A call needs the connection. */
  | { readonly type: 'server.wake' }
  | { readonly type: 'server.stop'; readonly why: string }
  | { readonly type: 'credentials.changed' }
  /** The session ended: its child exited, its transport broke, or it did not answer a ping. */
  | { readonly type: 'session.closed'; readonly session: number; readonly why: string; readonly chance: number }
  /** The server has dropped the session; a new one does not count as an attempt. */
  | { readonly type: 'session.expired'; readonly session: number }
  | { readonly type: 'tools.listed'; readonly tools: number }
  | { readonly type: 'call.began'; readonly atMs: number }
  /** The session that sent it, and what its end says about the transport; null if nothing. */
  | { readonly type: 'call.ended'; readonly session: number; readonly reading: BreakerEvent | null }
  | { readonly type: 'keepalive.due' }
  | { readonly type: 'idle.due' }
  | { readonly type: 'age.due' }
  | { readonly type: 'stable.due' };

export interface ConnectInput {
  readonly server: string;
  readonly profile: string;
  readonly session: number;
}

export interface CloseInput extends ConnectInput {
  readonly why: string | null;
}

/** The code for the waiting calls; absent: `server_unavailable`. */
type Unreached = Pick<CallFault, 'code'>;

/** An action with the reason of a refused attempt. */
function refused<const Action extends string>(type: Action) {
  const params = ({ event: { output } }: { event: { output: ConnectVerdict } }): Failed =>
    output.kind === 'refused' ? output : { why: '', chance: 0 };
  return { type, params };
}

/** What connects a server that sleeps or waits: a call, a person, and new credentials. */
const woken = {
  'server.wake': 'connecting',
  'server.connect': { target: 'connecting', actions: 'forgive' },
  'credentials.changed': 'connecting',
} as const;

/** A session that lasts this long resets the failures. */
const stableMs = 30_000;

export const serverConnectionMachine = setup({
  types: { input: {} as ConnectionInput, context: {} as ConnectionContext, events: {} as ConnectionEvent },
  actors: {
    connectServer: promisePlaceholder<ConnectVerdict, ConnectInput>('connectServer'),
    closeSession: promisePlaceholder<undefined, CloseInput>('closeSession'),
  },
  actions: {
    /** Sends a liveness ping; its failure comes back as `session.closed`. */
    ping: effect('ping'),
    /** Notifies the waiting calls. */
    reportReached: effect('reportReached'),
    reportUnreachable: effectOf<Unreached | undefined>('reportUnreachable'),
    countSession: assign(({ context }) => ({
      session: context.session + 1,
      wanted: false,
      retiring: false,
      closing: null,
    })),
    rememberSession: assign((_, params: { era: Era; tools: number }) => ({
      ...params,
      why: null,
      answered: false,
    })),
    rememberTools: assign((_, params: { tools: number }) => ({ tools: params.tools })),
    rememberFailure: assign(({ context }, { why, chance, waitMs = 0 }: Failed) => ({
      why,
      failures: context.failures + 1,
      // At a server that asks for a day, a person may have ended what it refuses for.
      retryMs: Math.max(waitAfter(context.failures + 1, chance), Math.min(waitMs, selfProbeMs)),
    })),
    /** A session that had answered calls was lost: it is retried soon without spending the budget. */
    rememberLoss: assign((_, params: { why: string; chance: number }) => ({
      why: params.why,
      retryMs: waitAfter(1, params.chance),
    })),
    /** A permanent error of an entry that was connected before: only the slow probe and calls try again. */
    rememberOutage: assign((_, params: { why: string }) => ({ why: params.why, retryMs: selfProbeMs })),
    rememberWhy: assign((_, { why, waitMs = 0 }: Failed) => ({ why, retryMs: waitMs })),
    forgetFailures: assign({ failures: 0 }),
    /** A person's request overrides the counted failures. */
    forgive: assign({ failures: 0, breaker: closedBreaker }),
    rememberClosing: assign((_, params: { why: string }) => ({ closing: params.why })),
    forgetSession: assign({ era: null, inFlight: 0 }),
    want: assign({ wanted: true }),
    retire: assign({ retiring: true }),
    beginCall: assign(({ context }, params: { atMs: number }) => ({
      inFlight: context.inFlight + 1,
      breaker: breakerStep(context.breaker, { kind: 'sent', nowMs: params.atMs }, context.breakerLimits),
    })),
    endCall: assign(({ context }, params: { session: number; reading: BreakerEvent | null }) => ({
      inFlight: Math.max(0, context.inFlight - 1),
      breaker: heeded(context, params.reading),
      answered: context.answered || (params.reading?.kind === 'answered' && params.session === context.session),
    })),
    heedReading: assign(({ context }, params: { reading: BreakerEvent | null }) => ({
      breaker: heeded(context, params.reading),
    })),
    armKeepalive: raise({ type: 'keepalive.due' }, { id: 'keepalive', delay: 'keepalive' }),
    armIdle: raise({ type: 'idle.due' }, { id: 'idle', delay: 'idleTimeout' }),
    armAge: raise({ type: 'age.due' }, { id: 'age', delay: 'maxLifetime' }),
    armStable: raise({ type: 'stable.due' }, { id: 'stable', delay: 'stable' }),
    disarmIdle: cancel('idle'),
    disarmKeepalive: cancel('keepalive'),
    disarmAge: cancel('age'),
    disarmStable: cancel('stable'),
  },
  guards: {
    beginsDisabled: ({ context }) => context.begin === 'disabled',
    beginsLazy: ({ context }) => context.begin === 'lazy',
    beginsFailed: ({ context }) => context.begin === 'failed',
    isConnected: (_, verdict: ConnectVerdict) => verdict.kind === 'connected',
    needsLogin: (_, verdict: ConnectVerdict) => isFollowedBy(verdict, 'needsLogin'),
    isPermanent: (_, verdict: ConnectVerdict) => isFollowedBy(verdict, 'failed'),
    isOutage: (_, verdict: ConnectVerdict) => isFollowedBy(verdict, 'parked'),
    hasBudget: ({ context }) => planRetry(context.failures + 1, 0).kind === 'retry',
    isLostByCall: ({ context }, params: { session: number }) =>
      params.session === context.session && context.inFlight > 0 && context.answered,
    isCurrent: ({ context }, params: { session: number }) => params.session === context.session,
    isOfOldSession: ({ context }, params: { session: number }) => params.session !== context.session,
    isCurrentWithBudget: ({ context }, params: { session: number }) =>
      params.session === context.session && planRetry(context.failures + 1, 0).kind === 'retry',
    isWanted: ({ context }) => context.wanted,
    mayPass: ({ context }) => context.retryMs > 0,
    idleEnds: ({ context }) => context.idleTimeoutMs > 0 && context.inFlight === 0,
    ageEnds: ({ context }) => context.maxLifetimeMs > 0 && context.inFlight === 0,
    agesBusy: ({ context }) => context.maxLifetimeMs > 0 && context.inFlight > 0,
    lastOfRetiring: ({ context }) => context.retiring && context.inFlight <= 1,
    sleeps: ({ context }) => context.idleTimeoutMs > 0,
    sleepsAgain: ({ context }) => context.idleTimeoutMs > 0 && context.inFlight <= 1,
    pings: ({ context }) => context.keepaliveMs > 0 && context.inFlight === 0,
  },
  delays: {
    keepalive: ({ context }) => timer(context.keepaliveMs),
    idleTimeout: ({ context }) => timer(context.idleTimeoutMs),
    maxLifetime: ({ context }) => timer(context.maxLifetimeMs),
    stable: stableMs,
    retry: ({ context }) => context.retryMs,
    selfProbe: ({ context }) => context.retryMs,
  },
}).createMachine({
  id: 'serverConnection',
  context: ({ input }) => ({
    ...input,
    era: null,
    session: 0,
    failures: 0,
    retryMs: 0,
    inFlight: 0,
    answered: false,
    retiring: false,
    wanted: false,
    closing: null,
    breaker: closedBreaker,
  }),
  initial: 'starting',
  on: {
    'server.stop': { target: '.stopping', actions: { type: 'rememberClosing', params: itself } },
    'server.connect': { actions: 'forgive' },
    'tools.listed': { actions: { type: 'rememberTools', params: itself } },
    'call.ended': { actions: { type: 'endCall', params: itself } },
  },
  states: {
    starting: {
      description: 'Chooses where the connection begins from what its entry says.',
      meta: { rule: 'LIF-1' },
      tags: ['working'],
      always: [
        { guard: 'beginsDisabled', target: 'disabled' },
        { guard: 'beginsFailed', target: 'failed' },
        { guard: 'beginsLazy', target: 'lazy' },
        { target: 'connecting' },
      ],
    },
    disabled: {
      description: 'The entry says `enabled: false`: nothing is tried and no tool is registered.',
      meta: { rule: 'LIF-2' },
      tags: ['resting'],
    },
    lazy: {
      description: 'The tools are registered from memory; the first call connects.',
      meta: { rule: 'LIF-6' },
      tags: ['resting'],
      on: woken,
    },
    connecting: {
      description: 'Starts or reaches the server, settles the era and lists its tools, all within `connect_timeout`.',
      meta: { rule: 'LIF-3' },
      tags: ['working'],
      entry: 'countSession',
      invoke: {
        id: 'connectServer',
        src: 'connectServer',
        input: ({ context }) => ({ server: context.server, profile: context.profile, session: context.session }),
        onDone: [
          {
            guard: { type: 'isConnected', params: itsOutput },
            target: 'connected',
            actions: { type: 'rememberSession', params: ({ event }) => connectedPart(event.output) },
          },
          { guard: { type: 'needsLogin', params: itsOutput }, target: 'needsLogin', actions: refused('rememberWhy') },
          { guard: { type: 'isPermanent', params: itsOutput }, target: 'failed', actions: refused('rememberWhy') },
          { guard: { type: 'isOutage', params: itsOutput }, target: 'parked', actions: refused('rememberOutage') },
          { guard: 'hasBudget', target: 'backingOff', actions: refused('rememberFailure') },
          { target: 'parked', actions: refused('rememberFailure') },
        ],
        onError: {
          target: 'parked',
          actions: { type: 'rememberFailure', params: { why: 'connecting crashed; see the log', chance: 0 } },
        },
      },
      // The current attempt uses the old ones.
      on: { 'credentials.changed': { target: 'connecting', reenter: true } },
    },
    connected: {
      description: 'Calls are taken. Pings, the idle time and the lifetime are counted here.',
      meta: { rule: 'LIF-4' },
      tags: ['resting'],
      entry: ['armKeepalive', 'armIdle', 'armAge', 'armStable', 'reportReached'],
      exit: ['disarmKeepalive', 'disarmIdle', 'disarmAge', 'disarmStable', 'forgetSession'],
      on: {
        'call.began': [
          { guard: 'sleeps', actions: [{ type: 'beginCall', params: itself }, 'disarmIdle'] },
          { actions: { type: 'beginCall', params: itself } },
        ],
        'call.ended': [
          {
            // A retired session finishes its calls beside the new one.
            guard: { type: 'isOfOldSession', params: itself },
            actions: { type: 'heedReading', params: itself },
          },
          { guard: 'lastOfRetiring', target: 'recycling', actions: { type: 'endCall', params: itself } },
          { guard: 'sleepsAgain', actions: [{ type: 'endCall', params: itself }, 'armIdle'] },
          { actions: { type: 'endCall', params: itself } },
        ],
        'keepalive.due': [{ guard: 'pings', actions: ['ping', 'armKeepalive'] }, { actions: 'armKeepalive' }],
        'idle.due': { guard: 'idleEnds', target: 'recycling' },
        'age.due': [
          { guard: 'ageEnds', target: 'recycling' },
          { guard: 'agesBusy', actions: 'retire' },
        ],
        'stable.due': { actions: 'forgetFailures' },
        'session.expired': { guard: { type: 'isCurrent', params: itself }, target: 'connecting' },
        'session.closed': [
          {
            guard: { type: 'isLostByCall', params: itself },
            target: 'backingOff',
            actions: { type: 'rememberLoss', params: itself },
          },
          {
            guard: { type: 'isCurrentWithBudget', params: itself },
            target: 'backingOff',
            actions: { type: 'rememberFailure', params: itself },
          },
          {
            guard: { type: 'isCurrent', params: itself },
            target: 'parked',
            actions: { type: 'rememberFailure', params: itself },
          },
        ],
        'server.wake': { actions: 'reportReached' },
        'server.connect': {
          target: 'recycling',
          actions: ['want', 'forgive', { type: 'rememberClosing', params: { why: 'it was reloaded' } }],
        },
        'credentials.changed': {
          target: 'recycling',
          actions: [
            'want',
            { type: 'rememberClosing', params: { why: 'it was connected anew with other credentials' } },
          ],
        },
      },
    },
    recycling: {
      description: 'The session is closed because it was idle, old, or is to be made anew; its tools stay registered.',
      meta: { rule: 'LIF-5' },
      tags: ['working'],
      invoke: {
        id: 'closeSession',
        src: 'closeSession',
        input: ({ context }) => closeInput(context),
        onDone: [{ guard: 'isWanted', target: 'connecting' }, { target: 'lazy' }],
        onError: 'connecting',
      },
      on: { 'server.wake': { actions: 'want' }, 'server.connect': { actions: ['want', 'forgive'] } },
    },
    backingOff: {
      description: 'Waits before the next attempt, longer each time; a call does not wait for it.',
      meta: { rule: 'LIF-7' },
      tags: ['resting', 'retrying'],
      entry: 'reportUnreachable',
      on: woken,
      after: { retry: { target: 'connecting' } },
    },
    parked: {
      description:
        'No attempts are left, or a server that was connected answers with a permanent error: it is tried from time to time, and once for each call.',
      meta: { rule: 'LIF-7' },
      tags: ['resting', 'failed'],
      entry: 'reportUnreachable',
      on: woken,
      after: { selfProbe: { target: 'connecting' } },
    },
    needsLogin: {
      description:
        'The server wants credentials that are not there, and only a person can log in; one that refuses a valid token is also tried from time to time.',
      meta: { rule: 'OAU-8' },
      tags: ['resting', 'needsUser'],
      entry: { type: 'reportUnreachable', params: { code: 'needs_login' } },
      on: {
        'server.wake': { actions: { type: 'reportUnreachable', params: { code: 'needs_login' } } },
        'server.connect': woken['server.connect'],
        'credentials.changed': woken['credentials.changed'],
      },
      after: { selfProbe: { guard: 'mayPass', target: 'connecting' } },
    },
    failed: {
      description:
        'Never connected, and trying again as it is cannot help: the entry, a file or the credentials must change.',
      meta: { rule: 'LIF-7' },
      tags: ['resting', 'needsUser', 'failed'],
      entry: 'reportUnreachable',
      on: {
        'server.wake': { actions: 'reportUnreachable' },
        'server.connect': [
          { guard: 'beginsFailed', actions: 'reportUnreachable' },
          { target: 'connecting', actions: 'forgive' },
        ],
        'credentials.changed': [{ guard: 'beginsFailed', actions: 'reportUnreachable' }, { target: 'connecting' }],
      },
    },
    stopping: {
      description: 'The session is closed for good.',
      meta: { rule: 'LIF-9' },
      tags: ['working'],
      invoke: {
        id: 'closeSession',
        src: 'closeSession',
        input: ({ context }) => closeInput(context),
        onDone: 'stopped',
        onError: 'stopped',
      },
      on: { 'server.stop': {} },
    },
    stopped: {
      description: 'The server was retired, or the daemon stops.',
      meta: { rule: 'LIF-1' },
      tags: ['ended'],
      type: 'final',
    },
  },
});

function isFollowedBy(verdict: ConnectVerdict, after: AfterFailure): boolean {
  return verdict.kind === 'refused' && verdict.after === after;
}

function heeded({ breaker, breakerLimits }: ConnectionContext, reading: BreakerEvent | null): BreakerState {
  return reading === null ? breaker : breakerStep(breaker, reading, breakerLimits);
}

function closeInput({ server, profile, session, closing }: ConnectionContext): CloseInput {
  return { server, profile, session, why: closing };
}

function waitAfter(failures: number, chance: number): number {
  const plan = planRetry(failures, chance);
  return plan.kind === 'retry' ? plan.delayMs : plan.probeInMs;
}

/** Something that is never due waits as long as a timer can; its event is then ignored. */
function timer(ms: number): number {
  return ms > 0 ? Math.min(ms, maxTimerMs) : maxTimerMs;
}

function connectedPart(verdict: ConnectVerdict): { era: Era; tools: number } {
  return verdict.kind === 'connected' ? { era: verdict.era, tools: verdict.tools } : { era: 'legacy', tools: 0 };
}
