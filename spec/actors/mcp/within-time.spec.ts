import t from 'tap';
import { threadTimeMs, withinTime } from '../../../actors/mcp/within-time.ts';

t.test('LIF-13 · work that comes to an end gives its value or throws its error', (t) => {
  t.same(
    withinTime(1_000, () => 42),
    { kind: 'done', value: 42 },
  );
  t.throws(
    () =>
      withinTime(1_000, () => {
        throw new TypeError('its own');
      }),
    new TypeError('its own'),
  );
  t.end();
});

const endless = (): never => {
  for (;;);
};

t.test('LIF-13 · work without an end is ended, and the next is not touched by it', (t) => {
  t.same(withinTime(20, endless, { cpuTimeMs: passing(20) }), { kind: 'tooDear' });
  t.same(
    withinTime(1_000, () => 'after'),
    { kind: 'done', value: 'after' },
  );
  t.end();
});

t.test('LIF-13 · work that a busy machine gave no time has a second, longer attempt', (t) => {
  let attempts = 0;
  const slow = (): number => {
    attempts += 1;
    return attempts === 1 ? endless() : attempts;
  };
  t.same(withinTime(20, slow, { cpuTimeMs: passing(2) }), { kind: 'done', value: 2 });
  t.same(withinTime(20, endless, { cpuTimeMs: passing(2) }), { kind: 'starved' });
  t.same(withinTime(20, endless, { cpuTimeMs: passing(2, 20) }), { kind: 'tooDear' });
  t.end();
});

t.test('LIF-13 · the thread is held no longer than is said, and work without time is not begun', (t) => {
  let attempts = 0;
  const counted = (): never => {
    attempts += 1;
    return endless();
  };
  t.same(withinTime(20, counted, { cpuTimeMs: passing(2), holdMs: 20 }), { kind: 'starved' });
  t.equal(attempts, 1, 'no time is left for the second attempt');
  t.same(withinTime(20, counted, { cpuTimeMs: passing(2), holdMs: 0 }), { kind: 'starved' });
  t.equal(attempts, 1);
  t.end();
});

t.test('LIF-13 · the clock counts what this thread computes, and not what it waits', (t) => {
  const startMs = threadTimeMs();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  const waitedMs = threadTimeMs() - startMs;
  t.ok(waitedMs < 100, `${waitedMs} ms`);
  while (threadTimeMs() - startMs < waitedMs + 5);
  t.end();
});

/** A processor clock on which each attempt takes as long as is said; the last one is repeated. */
function passing(...attemptsMs: readonly number[]): () => number {
  let looks = 0;
  let nowMs = 0;
  return () => {
    // It is read before and after an attempt.
    if (looks % 2 === 1) nowMs += attemptsMs[Math.floor(looks / 2)] ?? attemptsMs.at(-1) ?? 0;
    looks += 1;
    return nowMs;
  };
}
