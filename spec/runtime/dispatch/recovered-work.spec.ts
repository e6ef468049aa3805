import t from 'tap';
import type { Taken } from '../../../actors/store/journal.ts';
import { createRecoveredWork } from '../../../runtime/dispatch/recovered-work.ts';
import { plainRun } from '../../support/records.ts';

const owners = new Map([
  ['s1', 'eu-1'],
  ['s2', 'eu-2'],
]);

function stage() {
  const { note, rows } = createRecoveredWork({
    keeper: { node: () => 'eu-1', ownerOf: (session) => owners.get(session) },
    nowMs: () => Date.parse('2026-01-02T03:04:05.006Z'),
  });
  return {
    rows,
    takes: (value: object, from?: string) =>
      note({ key: 'k', version: 2, value, ...(from === undefined ? {} : { from }) } as Taken<'runs'>),
  };
}

const run = { ...plainRun, profile: 'work', route: 'reviews', eventKey: 'e1' };

t.test('SCA-3 · what was taken from another gateway is listed, newest first, with its event', (t) => {
  const { rows, takes } = stage();
  takes(run, 's2');
  takes({ ...run, target: 'slack', eventKey: 'e2' }, 's2');
  takes({ profile: 'work', route: 'builds', groupKey: 'main', burst: { latestEventKey: 'e3' } }, 's2');

  const at = '2026-01-02T03:04:05.006Z';
  t.same(rows(), [
    { at, from: 'eu-2', profile: 'work', route: 'builds', kind: 'batch', event: 'e3' },
    { at, from: 'eu-2', profile: 'work', route: 'reviews', kind: 'delivery', event: 'e2', target: 'slack' },
    { at, from: 'eu-2', profile: 'work', route: 'reviews', kind: 'run', event: 'e1' },
  ]);
  t.end();
});

t.test('SCA-3 · work that waited, that of an earlier life and that of a gateway without a known name are not', (t) => {
  const { rows, takes } = stage();
  takes(run);
  takes(run, 's1');
  takes(run, 's9');
  t.same(rows(), []);
  for (let n = 0; n < 30; n += 1) takes({ ...run, eventKey: `e${n}` }, 's2');
  t.same([rows().length, rows()[0]?.event, rows().at(-1)?.event], [20, 'e29', 'e10'], 'the last twenty');
  t.end();
});
