import t from 'tap';
import type { CommandContext } from '../../cli/context.ts';
import { askedEvent, queryOf, tellNextPage } from '../../cli/history-query.ts';

function contextOf(flags: Readonly<Record<string, string>>, isTerminal = true) {
  const printed: string[] = [];
  const context = {
    args: ['d1'],
    flags,
    out: { isTerminal, coloured: false, columns: 80, print: (text: string) => printed.push(text), complain: () => {} },
  };
  return { context: context as unknown as CommandContext, printed };
}

t.test('CLI-2 · what narrows a list is asked for, and nothing else', async (t) => {
  t.same(queryOf(contextOf({}).context), {});
  const narrow = { before: 'k9', route: 'r', profile: 'work', status: 'failed' };
  t.same(queryOf(contextOf({ ...narrow, limit: '7', target: 'slack' }).context), { ...narrow, limit: 7 });
  t.same(askedEvent(contextOf({ ...narrow, limit: '7' }).context), { id: 'd1', route: 'r', profile: 'work' });
});

t.test('CLI-2 · DUR-2 · a full list on a terminal names the next page, as full as the daemon makes it', async (t) => {
  const keys = (count: number): string[] => Array.from({ length: count }, (_, n) => `k${n}`);
  for (const [count, flags, isTerminal, told] of [
    [50, {}, true, true],
    [49, {}, true, false],
    [50, {}, false, false],
    [7, { limit: '7' }, true, true],
    [6, { limit: '7' }, true, false],
    [1_000, { limit: '5000' }, true, true],
    [999, { limit: '5000' }, true, false],
    [0, {}, true, false],
  ] as const) {
    const { context, printed } = contextOf(flags, isTerminal);
    tellNextPage(context, keys(count));
    const expected = told ? [`There may be more: the same with --before k${count - 1}\n`] : [];
    t.same(printed, expected, `${count} rows, ${JSON.stringify(flags)}, ${isTerminal ? 'terminal' : 'pipe'}`);
  }
});
