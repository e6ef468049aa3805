import t from 'tap';
import type { FailureRow } from '../../../../../runtime/control/contract/deliveries.ts';
import { helpsWords, routesWords, selected } from '../../../../../runtime/inspector/page/data/failures.ts';

const rows = ['a', 'b', 'c', 'd'].map((id) => ({ id }) as FailureRow);

t.test('INS-4 · a row is selected and taken away again; a range has all rows between', (t) => {
  const one = selected(rows, new Set(), { id: 'b' });
  t.same([...one], ['b']);
  t.same([...selected(rows, one, { id: 'b' })], []);
  t.same([...selected(rows, one, { id: 'd', from: 'b' })], ['b', 'c', 'd']);
  t.same([...selected(rows, one, { id: 'a', from: 'gone' })], ['b', 'a']);
  t.end();
});

t.test('INS-4 · a group names up to three routes', (t) => {
  t.equal(routesWords({ routes: ['deploys'] }), 'Route deploys');
  t.equal(routesWords({ routes: ['a', 'b'] }), 'Routes a, b');
  t.equal(routesWords({ routes: ['a', 'b', 'c', 'd'] }), '4 routes');
  t.end();
});

t.test('INS-4 · a group says what a retry does, where that is not in its advice', (t) => {
  t.equal(helpsWords({ helps: 'afterFix' }), ' Retrying will not help before that.');
  t.equal(helpsWords({ helps: 'never' }), ' A retry sends the same message to the same place.');
  for (const helps of ['now', 'unsure'] as const) t.equal(helpsWords({ helps }), '');
  t.end();
});
