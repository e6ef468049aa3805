import t from 'tap';
import type { AnyStateMachine, EventObject } from 'xstate';
import { serversMachine } from '../../machines/mcp/servers.machine.ts';
import { edgesOf, valuesOf } from '../support/edges.ts';

const events: readonly EventObject[] = [
  { type: 'servers.reconcile' },
  { type: 'servers.stop' },
  { type: 'xstate.done.actor.reconcile' },
  { type: 'xstate.error.actor.reconcile', error: 'x' } as EventObject,
  { type: 'xstate.done.actor.closeAll' },
  { type: 'xstate.error.actor.closeAll', error: 'x' } as EventObject,
];
const inert = {
  transition: (snapshot: unknown) => snapshot,
  getInitialSnapshot: () => ({ status: 'active', output: undefined, error: undefined }),
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
} as never;
const machine = serversMachine.provide({
  actors: { connections: inert, calls: inert, approvals: inert, serverRequests: inert },
  actions: { reportReconciled: () => {} },
}) as unknown as AnyStateMachine;
const edges = edgesOf(machine, { input: {}, events, key: ({ value }) => value });

t.test('LIF-9 · LIF-12 · every state is reached, and every way out closes the sessions first', (t) => {
  t.same([...valuesOf(edges)].sort(), ['closed', 'closing', 'keeping', 'reconciling']);
  for (const { from, event, to } of edges) {
    if (event.type === 'servers.stop' && from.value !== 'closed') t.equal(to.value, 'closing', from.value);
    if (to.value === 'closed' && from.value !== 'closed') t.equal(from.value, 'closing', event.type);
    const serves = !from.value.startsWith('clos');
    if (event.type === 'servers.reconcile' && serves) t.equal(to.value, 'reconciling', 'no reload is left unanswered');
    if (to.value === 'keeping' && from.value !== 'keeping') t.equal(from.value, 'reconciling', event.type);
  }
  t.end();
});
