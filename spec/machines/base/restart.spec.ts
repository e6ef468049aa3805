import t from 'tap';
import { backoffMs, freshBudget, type RestartPolicy, spendRestart } from '../../../machines/base/restart.ts';
import { fc } from '../../support/property.ts';

const policy: RestartPolicy = { intensity: 3, periodMs: 1_000, baseDelayMs: 100, maxDelayMs: 250 };

t.test('INS-1 · a budget allows so many restarts in a period, each after a longer wait', (t) => {
  let budget = freshBudget(policy);
  for (const [atMs, delayMs] of [
    [0, 100],
    [10, 200],
    [20, 250],
  ] as const) {
    const spent = spendRestart(budget, atMs, 0);
    t.match(spent, { kind: 'restart', delayMs });
    if (spent.kind === 'restart') budget = spent.budget;
  }
  t.same(spendRestart(budget, 999, 0), { kind: 'exhausted' });
  t.match(spendRestart(budget, 1_000, 0), { kind: 'restart', delayMs: 250, budget: { spentAtMs: [10, 20, 1_000] } });
  t.match(spendRestart(budget, 5_000, 0), { kind: 'restart', delayMs: 100 }, 'after a quiet time from the beginning');
  t.end();
});

t.test('INS-1 · chance takes away up to half of a wait, and never adds to it', (t) => {
  t.match(spendRestart(freshBudget(policy), 0, 0.999_999), { delayMs: 50 });
  fc.assert(
    fc.property(fc.double({ min: 0, max: 0.999_999, noNaN: true }), (jitter) => {
      const spent = spendRestart(freshBudget(policy), 0, jitter);
      return spent.kind === 'restart' && spent.delayMs >= 50 && spent.delayMs <= 100;
    }),
  );
  t.end();
});

t.test('LIF-7 · waits double up to the longest, however many tries there were', (t) => {
  t.same(
    [0, 1, 2, 3, 1_000, 1_000_000].map((earlier) => backoffMs({ baseDelayMs: 100, maxDelayMs: 700 }, earlier)),
    [100, 200, 400, 700, 700, 700],
  );
  t.end();
});
