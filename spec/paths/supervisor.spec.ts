import t from 'tap';
import { type AnyStateMachine, createMachine, type EventObject } from 'xstate';
import { type SupervisorContext, supervisorMachine } from '../../machines/supervisor.machine.ts';
import { edgesOf } from '../support/edges.ts';

const plan = { listens: true, listenerChanged: true, blocked: null };
const outcome = { inForce: true, hasFindings: false, fault: null };
const events = [
  ...['journal.ready', 'daemon.stop', 'config.reload'].map((type) => ({ type })),
  { type: 'journal.unavailable', fault: 'disk full' },
  { type: 'gateway.opened', url: 'http://a:1' },
  { type: 'gateway.refused', fault: 'cannot bind' },
  { type: 'crash.reported', fault: 'boom', atMs: 0, jitter: 0 },
  { type: 'listener.wanted', plan },
  { type: 'servers.outdated' },
  { type: 'servers.reconciled', fault: null },
  { type: 'xstate.done.actor.reload', output: outcome },
  { type: 'xstate.done.actor.reload', output: { ...outcome, inForce: false, fault: 'findings' } },
  ...['gateway', 'servers', 'resumeWork', 'reload'].map((id) => ({
    type: `xstate.error.actor.${id}`,
    error: new Error('boom'),
  })),
  ...['gateway', 'servers', 'resumeWork'].map((id) => ({ type: `xstate.done.actor.${id}` })),
  { type: 'xstate.after.restartDelay.supervisor.restarting' },
  { type: 'xstate.after.closeLimit.supervisor.closing' },
] as readonly EventObject[];
const inert = {
  transition: (snapshot: unknown) => snapshot,
  getInitialSnapshot: () => ({ status: 'active', output: undefined, error: undefined }),
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
} as never;

const named = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value as object)
        .map(([name, inner]) => `${name}.${inner}`)
        .join();
/** Two gateways, one after the other, would have one name: a walk keeps what it has passed. */
function unnamed(config: unknown): unknown {
  if (Array.isArray(config)) return config.map(unnamed);
  if (typeof config !== 'object' || config === null) return config;
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, held]) => (key === 'systemId' ? [] : [[key, unnamed(held)]])),
  );
}

const machine = createMachine(unnamed(supervisorMachine.config) as never, supervisorMachine.implementations as never);
const steps = edgesOf<SupervisorContext>(
  machine.provide({
    actors: { journal: inert, servers: inert, gateway: inert, reload: inert },
  } as never) as unknown as AnyStateMachine,
  {
    input: { listens: true, blocked: null },
    events,
    key: ({ value, context: { recovers, reloads, reloading, stops, refusal, budget, fault } }) => [
      ...[value, recovers, reloads, reloading, stops, refusal],
      ...[budget.spentAtMs.length, fault],
    ],
  },
)
  // What has ended takes no event any more.
  .filter(({ from }) => from.status === 'active')
  .map(({ from, event, to }) => ({
    from: named(from.value),
    event: event.type,
    to: named(to.value),
    before: from.context,
    after: to.context,
  }));
const moves = steps.filter(({ from, to }) => from !== to);

t.test('CON-2 · DUR-1 · CFG-2 · INS-1 · every state is reached', (t) => {
  t.same([...new Set(steps.flatMap(({ from, to }) => [from, to]))].sort(), [
    'booting',
    'closing',
    'crashed',
    'failed',
    'restarting',
    'stopped',
    'up.draining',
    'up.opening',
    'up.recovering',
    'up.reloading',
    'up.resuming',
    'up.running',
  ]);
  t.end();
});

t.test('CON-2 · a stop is obeyed in every state, and nothing comes up again after it', (t) => {
  for (const { from, to } of steps.filter(({ event }) => event === 'daemon.stop')) {
    const ended = ['stopped', 'failed', 'closing', 'up.draining'];
    t.equal(to, ended.includes(from) ? from : from.startsWith('up.') ? 'up.draining' : 'closing', from);
  }
  for (const { from, event, to } of moves.filter(({ from }) => ['up.draining', 'closing'].includes(from))) {
    const allowed = from === 'closing' ? ['stopped', 'failed'] : ['closing', 'crashed', 'stopped', 'failed'];
    t.ok(allowed.includes(to), `${from} ${event} ${to}`);
  }
  for (const { event, to } of moves.filter(({ from, before }) => from === 'crashed' && before.stops)) {
    t.ok(['closing', 'failed', 'stopped'].includes(to), `crashed while it drained: ${event} ${to}`);
  }
  t.end();
});

t.test('CON-2 · the servers are stopped last: the end comes by them, or by the limit', (t) => {
  for (const { from, event } of moves.filter(({ to }) => to === 'stopped')) {
    const byLimit = from === 'closing' && event === 'xstate.after.closeLimit.supervisor.closing';
    t.ok(byLimit || event === 'xstate.done.actor.servers', `${from} ${event}`);
  }
  t.end();
});

t.test('DUR-1 · INS-1 · the work is taken up before the HTTP server opens, after a crash too', (t) => {
  for (const { from, event, to } of moves) {
    const way = `${from} ${event} ${to}`;
    if (to.startsWith('up.') && !from.startsWith('up.')) t.equal(to, 'up.resuming', way);
    if (to === 'up.opening') t.equal(from, 'up.resuming', way);
    if (to === 'crashed') t.equal(event, 'xstate.error.actor.gateway', way);
    if (to === 'restarting') t.equal(event, 'crash.reported', way);
    if (event.startsWith('xstate.after.restartDelay')) t.equal(to, 'up.resuming', way);
    if (to === 'failed') t.match(event, /^(crash\.reported|gateway\.refused|xstate\.error\.actor\.servers)$/, way);
  }
  t.end();
});

t.test('INS-1 · CON-2 · a restart costs budget, and only an end that failed has a fault', (t) => {
  for (const { from, event, to, before, after } of moves) {
    const way = `${from} ${event} ${to}`;
    const spent = after.budget.spentAtMs.length - before.budget.spentAtMs.length;
    t.equal(spent, to === 'restarting' ? 1 : 0, way);
    t.equal(after.fault === null, to !== 'failed', way);
  }
  t.end();
});

t.test('DUR-1 · a journal that recovers while the supervisor is busy is not forgotten', (t) => {
  for (const { from, event, to, after } of moves.filter(({ to }) => to === 'up.recovering'))
    t.notOk(after.recovers, `${from} ${event} ${to}: what is taken up is no longer owed`);
  for (const { from, event, to, after } of steps.filter(({ from }) => /^up\.(resuming|opening|re)/.test(from))) {
    if (event === 'journal.ready') t.ok(after.recovers && from === to, from);
  }
  t.notOk(
    steps.some(({ to, after }) => to === 'up.running' && after.recovers),
    'running never leaves it undone',
  );
  t.end();
});

t.test(
  'CFG-2 · a reload that is asked for while the supervisor is busy is not forgotten, except by a stop or a crash',
  (t) => {
    for (const { from, event, to, before, after } of steps) {
      const way = `${from} ${event} ${to}`;
      if (to === 'up.reloading' && from !== to) t.notOk(after.reloads, `${way}: it is the one asked for`);
      if (event === 'config.reload' && /^up\.(resuming|opening|re)/.test(from)) t.ok(after.reloads && from === to, way);
      if (before.reloads && !after.reloads) t.ok(to === 'up.reloading' || to === 'crashed', way);
      // Its end and a crash of the gateway are the only ways out after which it no longer counts as under way.
      if (to === 'up.reloading' || from !== 'up.reloading') {
        t.equal(after.reloading, to === 'up.reloading' || (before.reloading && to !== 'crashed'), way);
      }
      if (to === 'crashed' && before.reloading) t.match(after.refusal, /crashed during a reload/, way);
    }
    t.notOk(
      steps.some(({ to, after }) => to === 'up.running' && after.reloads),
      'running never leaves it undone',
    );
    t.end();
  },
);
