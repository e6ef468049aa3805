import t from 'tap';
import {
  type BreakerEvent,
  type BreakerState,
  breakerStep,
  closedBreaker,
  planRetry,
  refusedForMs,
} from '../../../machines/mcp/retry-plan.ts';
import { fc } from '../../support/property.ts';

const policy = { failures: 3, resetMs: 30_000 };
const failed = (nowMs: number): BreakerEvent => ({ kind: 'transportFailed', nowMs });
const sent = (nowMs: number): BreakerEvent => ({ kind: 'sent', nowMs });
const answered: BreakerEvent = { kind: 'answered' };

function after(...events: readonly BreakerEvent[]): BreakerState {
  return events.reduce((state, event) => breakerStep(state, event, policy), closedBreaker);
}

t.test('LIF-7 · the longest wait doubles from 1 s, and chance spreads it down to nothing', (t) => {
  const rows = [
    [1, 0, 0],
    [1, 0.5, 500],
    [1, 0.9999, 999],
    [2, 0.5, 1_000],
    [3, 0.5, 2_000],
    [4, 0.5, 4_000],
    [4, 0.9999, 7_999],
  ] as const;
  for (const [failures, random, delayMs] of rows)
    t.same(planRetry(failures, random), { kind: 'retry', delayMs }, `${failures} ${random}`);
  t.end();
});

t.test('LIF-7 · after five failures in a row the server is parked and probed every 5 min', (t) => {
  for (const failures of [5, 6, 1_000])
    t.same(planRetry(failures, 0.5), { kind: 'parked', probeInMs: 300_000 }, String(failures));
  t.end();
});

t.test('LIF-7 · no wait is longer than 60 s', (t) => {
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (failures, random) => {
      const plan = planRetry(failures, random);
      return plan.kind === 'parked' ? failures >= 5 : plan.delayMs >= 0 && plan.delayMs < 60_000;
    }),
  );
  t.end();
});

t.test('LIF-8 · failures of the transport in a row open the breaker', (t) => {
  t.same(after(failed(1), failed(2)), { kind: 'closed', failures: 2 });
  t.same(after(failed(1), failed(2), failed(3)), { kind: 'open', untilMs: 30_003 });
  t.same(after(failed(1), failed(2), answered, failed(3)), { kind: 'closed', failures: 1 });
  t.same(breakerStep(closedBreaker, failed(5), { failures: 1, resetMs: 7 }), { kind: 'open', untilMs: 12 });
  t.end();
});

t.test("LIF-8 · any answer, a tool's own error too, counts as none and sending counts nothing", (t) => {
  fc.assert(fc.property(fc.array(fc.constantFrom(answered, sent(1))), (events) => after(...events).kind === 'closed'));
  t.same(after(failed(1), sent(2), failed(3)), { kind: 'closed', failures: 2 });
  t.end();
});

t.test('LIF-8 · an open breaker refuses until its time, then lets one call try', (t) => {
  const open = after(failed(0), failed(0), failed(0));
  t.equal(refusedForMs(closedBreaker, 0), undefined);
  t.equal(refusedForMs(open, 10_000), 20_000);
  t.equal(refusedForMs(open, 29_999), 1);
  t.equal(refusedForMs(open, 30_000), undefined);

  const trial = breakerStep(open, sent(30_000), policy);
  t.same(trial, { kind: 'halfOpen', untilMs: 60_000 });
  t.equal(refusedForMs(trial, 30_001), 29_999, 'the others wait for the trial');
  t.equal(refusedForMs(trial, 60_000), undefined, 'a trial that was cancelled does not shut it for good');
  t.same(breakerStep(trial, answered, policy), closedBreaker);
  t.same(breakerStep(trial, failed(31_000), policy), { kind: 'open', untilMs: 61_000 });
  t.same(breakerStep(trial, sent(60_000), policy), { kind: 'halfOpen', untilMs: 90_000 });
  t.end();
});

t.test('LIF-8 · calls sent before it opened neither lengthen nor end it', (t) => {
  const open = after(failed(0), failed(0), failed(0));
  t.same(breakerStep(open, failed(20_000), policy), open);
  t.same(breakerStep(open, answered, policy), open);
  t.end();
});

t.test('LIF-8 · whatever happened, a call is admitted once the reset time has passed', (t) => {
  const event = fc.nat(1_000).chain((nowMs) => fc.constantFrom(failed(nowMs), sent(nowMs), answered));
  fc.assert(
    fc.property(fc.array(event), (events) => refusedForMs(after(...events), 1_000 + policy.resetMs) === undefined),
  );
  t.end();
});
