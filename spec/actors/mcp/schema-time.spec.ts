import t from 'tap';
import { createSchemaTime, threadTimeMs, withinTime } from '../../../actors/mcp/schema-time.ts';

/** Work that takes as much processor time as is said, on clocks that only it and the test move. */
function lentClocks() {
  let [steadyMs, cpuMs] = [0, 0];
  const pass = (ms: number): void => {
    steadyMs += ms;
  };
  const takes = (ms: number) => (): string => {
    steadyMs += ms;
    cpuMs += ms;
    return 'done';
  };
  const time = createSchemaTime({ steadyMs: () => steadyMs, cpuTimeMs: () => cpuMs });
  return { pass, takes, check: (ms: number) => time.forOne()(takes(ms)) };
}

t.test('LIF-13 · work that stays just below the limit of one check is refused once it adds up', (t) => {
  const { check, pass } = lentClocks();
  const kinds = (count: number): string[] => Array.from({ length: count }, () => check(460).kind);
  t.same(kinds(13), [...Array(11).fill('done'), 'spent', 'spent']);
  pass(600_000);
  t.same(kinds(12), [...Array(11).fill('done'), 'spent'], 'as many in a row, however long it was quiet');
  t.end();
});

t.test('LIF-13 · sixteen large schemas are compiled in a row where each takes a quarter of a second', (t) => {
  const { check } = lentClocks();
  for (let tool = 0; tool < 16; tool += 1) t.equal(check(250).kind, 'done');
  t.end();
});

t.test('LIF-13 · a refusal names the time after which the next check is done', (t) => {
  const { check, pass } = lentClocks();
  let refused = check(450);
  for (let more = 0; more < 20 && refused.kind !== 'spent'; more += 1) refused = check(450);
  if (refused.kind !== 'spent') return t.fail(refused.kind);
  pass(refused.waitMs - 1);
  t.equal(check(1).kind, 'spent');
  pass(1);
  t.equal(check(1).kind, 'done');
  t.end();
});

t.test('LIF-13 · in the long run a server’s schemas take a twentieth of the time', (t) => {
  const { check, pass } = lentClocks();
  let taken = 0;
  for (let second = 0; second < 1_000; second += 1) {
    pass(1_000);
    if (check(300).kind === 'done') taken += 300;
  }
  t.ok(taken > 40_000 && taken < 60_000, `${taken} of 1,000,000 ms`);
  t.end();
});

t.test('LIF-13 · what honest work takes is never refused', (t) => {
  const { check } = lentClocks();
  for (let call = 0; call < 1_000; call += 1) if (check(10).kind !== 'done') return t.fail(`call ${call}`);
  t.end();
});

t.test('LIF-13 · work that throws is charged too', (t) => {
  let cpuMs = 0;
  const time = createSchemaTime({ steadyMs: () => 0, cpuTimeMs: () => cpuMs });
  const fails = (): never => {
    cpuMs += 490;
    throw new RangeError('its own');
  };
  for (let piece = 0; piece < 10; piece += 1) t.throws(() => time.forOne()(fails), new RangeError('its own'));
  t.match(time.forOne()(fails), { kind: 'spent' });
  t.end();
});

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
