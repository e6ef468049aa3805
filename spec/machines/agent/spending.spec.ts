import t from 'tap';
import { noTokens } from '../../../machines/agent/model-talk.ts';
import { spendingOf } from '../../../machines/agent/spending.ts';

t.test('DIS-3 · a run shows its steps and tokens, and its cost where prices are known', (t) => {
  const tokens = { ...noTokens, input: 1_500, output: 200 };
  const prices = { inputPerMillion: 3, cachedPerMillion: 0.3, writtenPerMillion: 4, outputPerMillion: 15 };
  t.same(spendingOf(3, tokens, undefined), { steps: 3, inputTokens: 1_500, outputTokens: 200 });
  t.equal(spendingOf(3, tokens, prices).cost, 0.0075);
  t.equal(spendingOf(0, noTokens, prices).cost, 0);
  const kept = { input: 3_000_000, cached: 1_000_000, written: 1_000_000, output: 0 };
  t.same(spendingOf(1, kept, prices), {
    steps: 1,
    inputTokens: 3_000_000,
    cachedTokens: 1_000_000,
    outputTokens: 0,
    cost: 7.3,
  });
  t.end();
});
