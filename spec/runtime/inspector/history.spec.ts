import t from 'tap';
import type { StepRow } from '../../../runtime/control/contract/wire.ts';
import { createHistory } from '../../../runtime/inspector/history.ts';

const step = (seq: number, actor = 'a'): StepRow => ({
  seq,
  at: seq,
  actor,
  machine: 'm',
  event: '',
  from: 'x',
  to: 'y',
});

t.test('INS-1 · the last steps are remembered in order, and no more than a fixed number', (t) => {
  const history = createHistory();
  for (let seq = 1; seq <= 12_000; seq += 1) history.keep([step(seq, seq % 2 === 0 ? 'even' : 'odd')]);
  const all = history.latest(100_000);
  t.equal(all.length, 5_000);
  t.equal(all[0]?.seq, 7_001);
  t.equal(all.at(-1)?.seq, 12_000);
  t.same(
    history.latest(2).map(({ seq }) => seq),
    [11_999, 12_000],
  );
  t.ok(history.stepsOf('odd').every(({ seq }) => seq % 2 === 1));
  t.same(history.stepsOf('nobody'), []);
  t.equal(history.nextSeq(), 1);
  t.equal(history.nextSeq(), 2);
  t.end();
});

t.test('INS-1 · events are remembered by who received them', (t) => {
  const history = createHistory();
  const event = (at: number) => ({ at, type: 't', from: '', event: {} });
  for (let at = 1; at <= 3_000; at += 1) history.keepEvent(at > 2_990 ? 'late' : 'early', event(at));
  t.equal(history.eventsOf('early').length, 990);
  t.same(
    history.eventsOf('late').map(({ at }) => at),
    [2_991, 2_992, 2_993, 2_994, 2_995, 2_996, 2_997, 2_998, 2_999, 3_000],
  );
  t.end();
});
