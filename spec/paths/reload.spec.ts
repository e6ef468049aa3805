import t from 'tap';
import type { AnyStateMachine, EventObject } from 'xstate';
import { type ReloadContext, reloadMachine } from '../../machines/reload.machine.ts';
import { edgesOf, valuesOf } from '../support/edges.ts';

const plan = { listens: true, listenerChanged: false, blocked: null };
const read = (more: object = {}): EventObject =>
  ({ type: 'xstate.done.actor.readHome', output: { fault: null, plan: { ...plan, ...more } } }) as EventObject;
const events = [
  read(),
  read({ listenerChanged: true }),
  read({ listenerChanged: true, blocked: 'route "a" has findings' }),
  { type: 'xstate.done.actor.readHome', output: { plan: null, fault: 'findings' } },
  { type: 'xstate.done.actor.adoptHome' },
  ...['readHome', 'adoptHome'].map((id) => ({ type: `xstate.error.actor.${id}`, error: new Error('boom') })),
  { type: 'gateway.opened', url: 'http://a:1' },
  { type: 'gateway.refused', fault: 'cannot bind' },
  { type: 'servers.reconciled', fault: null },
  { type: 'servers.reconciled', fault: 'no disk' },
] as readonly EventObject[];
const machine = reloadMachine.provide({
  actions: { requestMove: () => {}, requestReconciling: () => {} },
}) as unknown as AnyStateMachine;
const edges = edgesOf<ReloadContext>(machine, {
  input: { wasBlocked: false },
  events,
}).filter(({ from }) => from.status === 'active');
const moves = edges.filter(({ from, to }) => from.value !== to.value);

t.test('CFG-2 · ADP-1 · LIF-12 · every state is reached, and a reload goes one way', (t) => {
  const order = ['reading', 'moving', 'adopting', 'reconciling', 'inForce'];
  t.same([...valuesOf(edges)].sort(), [...order, 'refused'].sort());
  for (const { from, event, to } of moves) {
    const way = `${from.value} ${event.type} ${to.value}`;
    if (to.value === 'refused') continue;
    const steps = order.indexOf(to.value) - order.indexOf(from.value);
    t.ok(steps === 1 || (from.value === 'reading' && to.value === 'adopting'), way);
  }
  t.end();
});

t.test('CFG-2 · nothing is adopted by a refused reload, and nothing is refused once it is adopted', (t) => {
  for (const { from, event, to } of moves) {
    const way = `${from.value} ${event.type} ${to.value}`;
    t.equal(to.context.adopted, to.value === 'reconciling' || to.value === 'inForce', way);
    if (to.value === 'refused') t.ok(to.context.fault, `${way}: the reason is known`);
  }
  t.end();
});

t.test(
  'ADP-1 · the listener moves before the adoption; only an adapter that stays blocked is adopted without it',
  (t) => {
    for (const { from, event, to } of moves.filter(({ to }) => to.value === 'adopting')) {
      const { listenerChanged, blocked } = to.context.plan ?? plan;
      if (from.value === 'reading') t.notOk(listenerChanged, event.type);
      else t.equal(event.type === 'gateway.refused', blocked !== null && to.context.fault !== null, event.type);
    }
    t.end();
  },
);
