import t from 'tap';
import { createClock, type TimerHandle } from '../../../runtime/system/clock.ts';
import { fc, runs } from '../../support/property.ts';

/** A time that moves when it is told to, and wakes whoever asked. */
function manualTime(): {
  readonly nowMs: () => number;
  readonly wake: (callback: () => void, waitMs: number) => () => void;
  advance(byMs: number): void;
} {
  let now = 1_000;
  let alarms: { readonly atMs: number; readonly callback: () => void }[] = [];
  return {
    nowMs: () => now,
    wake(callback, waitMs) {
      const alarm = { atMs: now + waitMs, callback };
      alarms.push(alarm);
      return () => {
        alarms = alarms.filter((one) => one !== alarm);
      };
    },
    advance(byMs) {
      const until = now + byMs;
      for (;;) {
        const [next] = alarms.filter(({ atMs }) => atMs <= until).sort((one, other) => one.atMs - other.atMs);
        if (next === undefined) break;
        alarms = alarms.filter((one) => one !== next);
        now = Math.max(now, next.atMs);
        next.callback();
      }
      now = until;
    },
  };
}

t.test('COA-1 · a wait is never short, at most one tick long, and never fires once cleared', (t) => {
  const act = fc.oneof(
    fc.record({ set: fc.integer({ min: 0, max: 120_000 }) }),
    fc.record({ clear: fc.nat(30) }),
    fc.record({ advance: fc.integer({ min: 0, max: 60_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const time = manualTime();
      const clock = createClock(time);
      const timers: {
        readonly handle: TimerHandle;
        readonly dueMs: number;
        firedMs: number | undefined;
        cleared: boolean;
      }[] = [];
      for (const one of acts) {
        if ('set' in one) {
          const timer = {
            handle: undefined as unknown as TimerHandle,
            dueMs: time.nowMs() + one.set,
            firedMs: undefined as number | undefined,
            cleared: false,
          };
          timers.push(
            Object.assign(timer, {
              handle: clock.setTimeout(() => {
                timer.firedMs = time.nowMs();
              }, one.set),
            }),
          );
        } else if ('clear' in one) {
          const timer = timers[one.clear];
          if (timer !== undefined && timer.firedMs === undefined) {
            clock.clearTimeout(timer.handle);
            timer.cleared = true;
          }
        } else time.advance(one.advance);
      }
      time.advance(500_000);
      return timers.every(({ dueMs, firedMs, cleared }) =>
        cleared ? firedMs === undefined : firedMs !== undefined && firedMs >= dueMs && firedMs <= dueMs + 10,
      );
    }),
    { numRuns: runs(300) },
  );
  t.end();
});

t.test('COA-1 · timers fire in the order in which they are due', (t) => {
  const time = manualTime();
  const clock = createClock(time);
  const fired: number[] = [];
  for (const wait of [300, 100, 200, 41_000]) clock.setTimeout(() => void fired.push(wait), wait);
  time.advance(100_000);
  t.same(fired, [100, 200, 300, 41_000]);
  t.end();
});

t.test('CON-2 · a clock with nothing to wait for keeps nothing alive', (t) => {
  let asleep = 0;
  const clock = createClock({
    nowMs: () => 0,
    wake: () => {
      asleep += 1;
      return () => {
        asleep -= 1;
      };
    },
  });
  const [one, other] = [clock.setTimeout(() => {}, 20_000), clock.setTimeout(() => {}, 10)];
  t.equal(asleep, 1, 'one real timer for all');
  clock.clearTimeout(one);
  t.equal(asleep, 1);
  clock.clearTimeout(other);
  t.equal(asleep, 0);
  t.end();
});
