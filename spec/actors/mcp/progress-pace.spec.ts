import t, { type Test } from 'tap';
import { paceProgress } from '../../../actors/mcp/progress-pace.ts';
import { lentTime } from '../../support/lent-time.ts';

function stage(t: Test) {
  const waits = lentTime(t);
  let now = 0;
  const passed: number[] = [];
  const pace = paceProgress(
    ({ progress }) => void passed.push(progress),
    () => now,
  );
  const time = {
    pass(ms: number): void {
      now += ms;
      waits.pass(ms);
    },
  };
  return { passed, pace, time };
}

t.test('LIF-14 · SRV-3 · of a flood of progress ten a second are passed on, the newest each time', (t) => {
  const { passed, pace, time } = stage(t);
  for (let ms = 0; ms < 10_000; ms += 1) {
    pace.take({ progress: ms });
    time.pass(1);
  }
  t.same(passed.slice(0, 7), [0, 1, 2, 3, 4, 99, 199], 'a short burst, then the newest of each tenth of a second');
  t.equal(passed.length, 105);
  pace.end();
  t.equal(passed.at(-1), 9_999, 'the last one always');
  t.end();
});

t.test('SRV-3 · progress at an honest pace is passed on at once, and nothing comes after the end', (t) => {
  const { passed, pace, time } = stage(t);
  for (let step = 0; step < 20; step += 1) {
    pace.take({ progress: step });
    t.equal(passed.length, step + 1);
    time.pass(100);
  }
  for (const step of [20, 21, 22, 23, 24, 25, 26]) pace.take({ progress: step });
  pace.end();
  pace.end();
  time.pass(10_000);
  t.same(passed.slice(20), [20, 21, 22, 23, 24, 26]);
  t.end();
});
