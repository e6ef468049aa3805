import t from 'tap';
import { askedEvent, type CommandContext, queryOf, withHomeNamed } from '../../cli/context.ts';

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

t.test('CLI-2 · a home is named in a command to run next with each of its characters', (t) => {
  const named = (home: string): string =>
    withHomeNamed({ socket: '', home, isNamed: true }, 'no route; `agent webhook list` lists them, or agent doctor');
  for (const [home, word] of [
    ['/home/me/.agent', '/home/me/.agent'],
    ["/srv/it's $$ $& $`", "'/srv/it'\\''s $$ $& $`'"],
    ['C:\\My "Home"', `'C:\\My "Home"'`],
  ] as const)
    t.equal(named(home), `no route; \`agent --home ${word} webhook list\` lists them, or agent --home ${word} doctor`);
  t.equal(withHomeNamed({ socket: '', home: '/x' }, '`agent doctor`'), '`agent doctor`');
  t.end();
});
