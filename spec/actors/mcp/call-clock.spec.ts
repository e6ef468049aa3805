import t from 'tap';
import { createCallClock } from '../../../actors/mcp/call-clock.ts';
import { lentTime } from '../../support/lent-time.ts';

const hourMs = 3_600_000;

t.test('TRU-5 · LIF-3 · what is due fires by the time that passes while nobody holds the clock', (t) => {
  const time = lentTime(t);
  const clock = createCallClock();
  const fired: string[] = [];
  clock.after(3 * hourMs, () => fired.push('first'));
  clock.after(3 * hourMs, () => fired.push('cancelled'))();
  time.pass(hourMs);
  const one = clock.hold();
  const other = clock.hold();
  clock.after(hourMs / 2, () => fired.push('begun while held'));
  time.pass(24 * hourMs);
  one();
  one();
  time.pass(24 * hourMs);
  t.same(fired, [], 'it stands still until each hold is over');
  other();
  time.pass(hourMs);
  t.same(fired, ['begun while held']);
  time.pass(hourMs);
  t.same(fired, ['begun while held', 'first']);
  t.end();
});

t.test('LIF-3 · SRV-1 · what is asked while no call is due stops no call that begins later', (t) => {
  const time = lentTime(t);
  const clock = createCallClock();
  const fired: string[] = [];
  const release = clock.hold();
  clock.after(hourMs, () => fired.push('due'));
  time.pass(hourMs);
  t.same(fired, ['due']);
  release();
  t.end();
});
