import t from 'tap';
import { chartNames, chartOf, labelOf } from '../../../runtime/inspector/charts.ts';
import { charts } from '../../house/charts.ts';

t.test('INS-2 · every chart can be drawn, and none that is not there', async (t) => {
  t.same([...chartNames].sort(), [...charts.values()].map(({ id }) => id).sort());
  for (const name of chartNames) {
    const chart = await chartOf(name);
    t.equal(chart?.machine, name);
    const ids = new Set(chart?.states.map(({ id }) => id));
    for (const { id, parent, description, rule } of chart?.states ?? []) {
      t.ok(parent === null || ids.has(parent), `${name}: ${id} lies in ${parent}`);
      t.ok(description !== '' && rule !== '', `${name}: ${id} says what it means and which rule it keeps`);
    }
    for (const { from, to } of chart?.transitions ?? [])
      t.ok((from === null || ids.has(from)) && (to === null || ids.has(to)), `${name}: ${from} to ${to}`);
    t.ok(
      chart?.states.some(({ initial, parent }) => initial && parent === null),
      `${name} begins somewhere`,
    );
  }
  t.equal(await chartOf('requestsPool'), undefined);
  t.equal(await chartOf('constructor'), undefined);
});

t.test('INS-2 · events of the interpreter’s own making are named by what they mean', (t) => {
  t.same(labelOf(''), { kind: 'always', label: '' });
  t.same(labelOf('xstate.after.retryDelay.delivery.waiting'), { kind: 'after', label: 'retryDelay' });
  t.same(labelOf('xstate.done.actor.runScript'), { kind: 'done', label: 'runScript' });
  t.same(labelOf('xstate.error.actor.runScript'), { kind: 'error', label: 'runScript' });
  t.same(labelOf('server.connect'), { kind: 'event', label: 'server.connect' });
  t.end();
});
