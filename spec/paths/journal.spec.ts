import t from 'tap';
import type { AnyStateMachine, EventObject } from 'xstate';
import { type JournalContext, journalMachine } from '../../machines/webhook/journal.machine.ts';
import { edgesOf, valuesOf } from '../support/edges.ts';

const events: readonly EventObject[] = [
  { type: 'journal.refused', fault: 'disk full' } as EventObject,
  ...['openJournal', 'keepJournal'].flatMap((effect) => [
    { type: `xstate.done.actor.${effect}` },
    { type: `xstate.error.actor.${effect}`, error: new Error('read-only') } as EventObject,
  ]),
  { type: 'xstate.after.heartbeat.journal.ready' },
  { type: 'xstate.after.patience.journal.unavailable' },
];
/** Without a supervisor there is none to report to. */
const alone = journalMachine.provide({ actions: { reportReady: () => {}, reportUnavailable: () => {} } });
const edges = edgesOf<JournalContext>(alone as unknown as AnyStateMachine, {
  input: {},
  events,
  key: ({ value, context }) => [value, context.fault],
});

t.test('DUR-1 · DUR-2 · every state is reached, and each on its own ways only', (t) => {
  t.same([...valuesOf(edges)].sort(), ['keeping', 'opening', 'ready', 'unavailable']);
  const ways = new Set(
    edges.filter(({ from, to }) => from.value !== to.value).map(({ from, to }) => `${from.value} ${to.value}`),
  );
  t.same([...ways].sort(), [
    'keeping ready',
    'keeping unavailable',
    'opening ready',
    'opening unavailable',
    'ready keeping',
    'ready unavailable',
    'unavailable opening',
  ]);
  t.end();
});

t.test('DUR-1 · it is ready without a fault, and unavailable with one and a try more', (t) => {
  for (const { from, event, to } of edges) {
    const way = `${from.value} ${event.type} ${to.value}`;
    if (to.value === 'ready' || to.value === 'keeping') t.same(to.context, { fault: null, tries: 0 }, way);
    if (to.value === 'unavailable') t.type(to.context.fault, 'string', way);
    if (to.value === 'unavailable' && from.value !== 'unavailable')
      t.equal(to.context.tries, from.context.tries + 1, way);
    if (from.value === 'unavailable' && to.value !== 'unavailable')
      t.equal(event.type, 'xstate.after.patience.journal.unavailable', way);
  }
  t.end();
});
