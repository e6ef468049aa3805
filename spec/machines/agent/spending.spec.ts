import t from 'tap';
import { spendingOf } from '../../../machines/agent/spending.ts';

t.test('DIS-3 · a run shows its steps and tokens, and its cost where prices are known', (t) => {
  const tokens = { input: 1_500, output: 200 };
  t.same(spendingOf(3, tokens, undefined), { steps: 3, inputTokens: 1_500, outputTokens: 200 });
  t.equal(spendingOf(3, tokens, { inputPerMillion: 3, outputPerMillion: 15 }).cost, 0.0075);
  t.equal(spendingOf(0, { input: 0, output: 0 }, { inputPerMillion: 3, outputPerMillion: 15 }).cost, 0);
  t.end();
});
