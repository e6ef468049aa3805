import t, { type Test } from 'tap';
import type { AnyStateMachine, EventObject } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import {
  type ConnectionContext,
  type ConnectionEvent,
  type ConnectionInput,
  type ConnectVerdict,
  serverConnectionMachine,
} from '../../machines/mcp/server-connection.machine.ts';
import { type Edge, edgesOf, type Seen, valuesOf } from '../support/edges.ts';
import { plainConnection } from '../support/records.ts';

type State = Seen<ConnectionContext>;

const input: ConnectionInput = {
  ...plainConnection,
  keepaliveMs: 5_000,
  idleTimeoutMs: 60_000,
  maxLifetimeMs: 600_000,
  breakerLimits: { failures: 1, resetMs: 30_000 },
};

const verdicts: readonly ConnectVerdict[] = [
  { kind: 'connected', era: 'legacy', tools: 3 },
  { kind: 'refused', after: 'retry', why: 'busy', chance: 0.5 },
  { kind: 'refused', after: 'failed', why: 'not there', chance: 0.5 },
  { kind: 'refused', after: 'parked', why: 'not there now', chance: 0.5 },
  { kind: 'refused', after: 'needsLogin', why: 'who are you', chance: 0.5 },
];

const facts: readonly ConnectionEvent[] = [
  { type: 'server.connect' },
  { type: 'server.wake' },
  { type: 'server.stop', why: 'the gateway stops' },
  { type: 'credentials.changed' },
  { type: 'tools.listed', tools: 4 },
  { type: 'call.began', atMs: 0 },
  { type: 'keepalive.due' },
  { type: 'idle.due' },
  { type: 'age.due' },
  { type: 'stable.due' },
];

const outside: readonly EventObject[] = [
  ...verdicts.map((output) => ({ type: 'xstate.done.actor.connectServer', output })),
  { type: 'xstate.error.actor.connectServer', error: new Error('x') } as EventObject,
  { type: 'xstate.done.actor.closeSession' },
  { type: 'xstate.error.actor.closeSession', error: new Error('x') } as EventObject,
  { type: 'xstate.after.retry.serverConnection.backingOff' },
  { type: 'xstate.after.selfProbe.serverConnection.parked' },
];

/** What the present session says, and what an old one says too late. */
function eventsOf({ context }: State): readonly EventObject[] {
  const said = [context.session, context.session - 1].flatMap((session): ConnectionEvent[] => [
    { type: 'session.closed', session, why: 'lost', chance: 0.5 },
    { type: 'session.expired', session },
    { type: 'call.ended', session, reading: { kind: 'answered' } },
    { type: 'call.ended', session, reading: { kind: 'transportFailed', nowMs: 0 } },
    { type: 'call.ended', session, reading: null },
  ]);
  return [...facts, ...said, ...outside];
}

const options = {
  events: eventsOf,
  // Only what decides: the number of a session distinguishes sessions, and its words are for people.
  key: ({ value, context }: State) => {
    const { begin, tools, failures, inFlight, retiring, wanted, breaker, era } = context;
    return [value, begin, tools > 0, Math.min(failures, 5), inFlight, retiring, wanted, breaker.kind, era];
  },
  stopWhen: ({ context }: State) => context.inFlight > 1,
};

function edges(given: Partial<ConnectionInput> = {}): Edge<ConnectionContext>[] {
  return edgesOf<ConnectionContext>(serverConnectionMachine as unknown as AnyStateMachine, {
    input: { ...input, ...given },
    ...options,
  });
}

const everyBegin = (['connecting', 'lazy', 'disabled', 'failed'] as const).flatMap((begin) => edges({ begin }));
const changes = everyBegin.filter(({ from, to }) => from.value !== to.value);
const told = ({ from, event, to }: Edge<ConnectionContext>): string =>
  `${from.value} --${JSON.stringify(event)}--> ${to.value} ${JSON.stringify(from.context)}`;

/** Every edge keeps the rule; there is at least one to keep it. */
function all(
  t: Test,
  given: readonly Edge<ConnectionContext>[],
  holds: (edge: Edge<ConnectionContext>) => boolean,
  rule: string,
): void {
  t.ok(given.length > 0, `${rule}: there are such edges`);
  t.same(
    given
      .filter((edge) => !holds(edge))
      .slice(0, 3)
      .map(told),
    [],
    `${rule}: ${given.length} edges`,
  );
}

t.test('LIF-1 · every state is reached, and every one can be stopped', (t) => {
  const reached = valuesOf(everyBegin);
  for (const state of Object.keys(serverConnectionMachine.config.states ?? {}))
    if (state !== 'starting') t.ok(reached.has(state), `${state} is reached`);
  const stops = everyBegin.filter(({ from, event }) => event.type === 'server.stop' && from.value !== 'stopped');
  all(t, stops, ({ to }) => to.value === 'stopping', 'stopping');
  t.end();
});

t.test('LIF-1 · the shortest way to each state from a fresh start', (t) => {
  const paths = getShortestPaths(serverConnectionMachine, {
    input,
    ...options,
    serializeState: (state: unknown) => JSON.stringify(options.key(state as State)),
    limit: 200_000,
  } as never);
  const shortest = new Map<string, number>();
  for (const { state, steps } of paths) {
    const name = String(state.value);
    const told = steps.filter(({ event }) => String(event.type) !== 'xstate.init').length;
    shortest.set(name, Math.min(shortest.get(name) ?? Number.POSITIVE_INFINITY, told));
  }
  t.same(Object.fromEntries(shortest), {
    connecting: 0,
    connected: 1,
    backingOff: 1,
    // A crash of the attempt itself parks at once.
    parked: 1,
    needsLogin: 1,
    failed: 1,
    stopping: 1,
    recycling: 2,
    stopped: 2,
    lazy: 3,
  });
  t.end();
});

t.test('LIF-2 · a disabled entry is never attempted', (t) => {
  t.same([...valuesOf(edges({ begin: 'disabled' }))].sort(), ['disabled', 'stopped', 'stopping']);
  t.end();
});

t.test('LIF-7 · an entry with a finding is never attempted, also on request', (t) => {
  t.same([...valuesOf(edges({ begin: 'failed', why: 'a finding' }))].sort(), ['failed', 'stopped', 'stopping']);
  t.end();
});

t.test('LIF-5 · no session is recycled for its age or idleness while a call is in flight', (t) => {
  const recycled = changes.filter(({ from, to }) => from.value === 'connected' && to.value === 'recycling');
  const by = (type: string) => recycled.filter(({ event }) => event.type === type);
  all(t, [...by('idle.due'), ...by('age.due')], ({ from }) => from.context.inFlight === 0, 'by time');
  all(
    t,
    by('call.ended'),
    ({ from }) => from.context.inFlight <= 1 && from.context.retiring,
    'by the last call of a lifetime that is over',
  );
  t.end();
});

t.test('LIF-5 · where no limit is set, time recycles nothing', (t) => {
  const timed = edges({ idleTimeoutMs: 0, maxLifetimeMs: 0 }).filter(({ event }) => /^(idle|age)\./.test(event.type));
  all(t, timed, ({ from, to }) => to.value === from.value && !to.context.retiring, 'without limits');
  t.end();
});

t.test('LIF-5 · LIF-7 · the tools stay known whatever becomes of the session', (t) => {
  const knowing = everyBegin.filter(({ from }) => from.context.tools > 0);
  all(t, knowing, ({ to }) => to.context.tools > 0, 'tools');
  t.end();
});

t.test('LIF-1 · attempts are counted, and only a connected server has an era and calls in flight', (t) => {
  all(t, everyBegin, ({ to }) => (to.context.era !== null) === (to.value === 'connected'), 'era');
  all(t, everyBegin, ({ to }) => to.value === 'connected' || to.context.inFlight === 0, 'in flight');
  // New credentials begin an attempt anew that is under way.
  const counted = (edge: Edge<ConnectionContext>): number =>
    edge.to.value === 'connecting' && (changes.includes(edge) || edge.event.type === 'credentials.changed') ? 1 : 0;
  all(t, everyBegin, (edge) => edge.to.context.session - edge.from.context.session === counted(edge), 'session');
  t.end();
});

/** All but the breaker, which heeds the transport whoever used it. */
function restOf({ value, context }: State): unknown {
  return [value, { ...context, breaker: null }];
}

t.test('LIF-7 · what an old session says changes nothing', (t) => {
  const late = everyBegin.filter(({ from, event }) => {
    const { session } = event as { readonly session?: number };
    return session !== undefined && session !== from.context.session;
  });
  all(t, late, ({ from, to }) => JSON.stringify(restOf(from)) === JSON.stringify(restOf(to)), 'late');
  t.end();
});

t.test('LIF-7 · failures back off inside the budget and park beyond it; a hopeless one burns none', (t) => {
  const to = (state: string) => changes.filter((edge) => edge.to.value === state);
  // A call that loses a session which has answered others spends nothing: the next attempt is for the next call.
  const byCall = ({ from, event }: Edge<ConnectionContext>): boolean =>
    event.type === 'session.closed' && from.context.inFlight > 0 && from.context.answered;
  const spent = ({ from, to: { context } }: Edge<ConnectionContext>) => context.failures - from.context.failures;
  all(
    t,
    to('backingOff'),
    (edge) => spent(edge) === (byCall(edge) ? 0 : 1) && edge.to.context.retryMs <= 60_000,
    'backing off',
  );
  all(t, to('parked'), (edge) => !byCall(edge), 'no call parks');
  const isOutage = ({ event }: Edge<ConnectionContext>): boolean =>
    (event as { readonly output?: { readonly after?: string } }).output?.after === 'parked';
  all(
    t,
    to('parked').filter((edge) => !edge.event.type.startsWith('xstate.error') && !isOutage(edge)),
    ({ to: { context } }) => context.failures >= 5 && context.retryMs === 300_000,
    'parked',
  );
  all(
    t,
    to('parked').filter(isOutage),
    (edge) => spent(edge) === 0 && edge.to.context.retryMs === 300_000,
    'an outage',
  );
  all(
    t,
    [...to('failed'), ...to('needsLogin')],
    (edge) => edge.to.context.failures === edge.from.context.failures,
    'hopeless',
  );
  t.end();
});

t.test('LIF-7 · a call wakes a sleeping or parked server, and never one that only a person can fix', (t) => {
  const sleeping = new Set(['lazy', 'backingOff', 'parked']);
  all(
    t,
    everyBegin.filter(({ event }) => event.type === 'server.wake'),
    ({ from, to }) => to.value === (sleeping.has(from.value) ? 'connecting' : from.value),
    'woken',
  );
  t.end();
});

t.test('TRU-2 · an expired session is made anew and costs no attempt', (t) => {
  const expired = everyBegin.filter(
    ({ from, event }) =>
      from.value === 'connected' &&
      event.type === 'session.expired' &&
      (event as unknown as { session: number }).session === from.context.session,
  );
  all(
    t,
    expired,
    ({ from, to }) => to.value === 'connecting' && to.context.failures === from.context.failures,
    'expired',
  );
  t.end();
});

t.test('LIF-8 · the breaker opens by failures of the transport alone', (t) => {
  all(
    t,
    everyBegin.filter(({ from, to }) => from.context.breaker.kind !== 'open' && to.context.breaker.kind === 'open'),
    ({ event }) => (event as { reading?: { kind?: string } | null }).reading?.kind === 'transportFailed',
    'opened',
  );
  t.end();
});
