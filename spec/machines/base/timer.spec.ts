import t from 'tap';
import { maxTimerMs, maxTimerSeconds } from '../../../machines/base/timer.ts';

t.test('CFG-2 · the longest wait is one that a timer keeps, and a setting may come within a second of it', (t) => {
  const overflown: string[] = [];
  const onWarning = ({ name }: Error): void => void overflown.push(name);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  clearTimeout(setTimeout(() => {}, maxTimerMs));
  t.ok(maxTimerSeconds * 1_000 <= maxTimerMs);
  t.ok((maxTimerSeconds + 1) * 1_000 > maxTimerMs);
  setImmediate(() => {
    t.same(overflown, []);
    t.end();
  });
});
