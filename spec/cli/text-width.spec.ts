import t from 'tap';
import { table, wrapped } from '../../cli/terminal.ts';
import { cutTo, padTo, widthOf } from '../../cli/text-width.ts';

t.test('CLI-6 · a wide character and an emoji take two columns, a joined mark none', async (t) => {
  const rows: readonly (readonly [text: string, columns: number])[] = [
    ['plain', 5],
    ['', 0],
    ['日本語', 6],
    ['한국', 4],
    ['ｆｕｌｌ', 8],
    ['e\u0301', 1],
    ['naïve', 5],
    ['🚀 go', 5],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['❤', 1],
    ['👍🏽', 2],
    ['𠮷', 2],
    ['→ …', 3],
    ['𝒜', 1],
  ];
  for (const [text, columns] of rows) t.equal(widthOf(text), columns, text);
});

t.test('CLI-6 · a text is cut between characters as a person sees them, and fills its columns', async (t) => {
  const rows: readonly (readonly [text: string, columns: number, cut: string])[] = [
    ['plain', 5, 'plain'],
    ['plain', 4, 'pla…'],
    ['日本語', 6, '日本語'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['👩‍👩‍👧👩‍👩‍👧', 3, '👩‍👩‍👧…'],
    ['🚀🚀', 2, '…'],
  ];
  for (const [text, columns, cut] of rows) t.equal(cutTo(text, columns), cut, `${text} in ${columns}`);
  t.equal(padTo('日本', 6), '日本  ');
  t.equal(padTo('日本語', 4), '日本語', 'longer than that');
});

t.test(
  'CLI-6 · columns with wide characters stay below each other, and no row is wider than the terminal',
  async (t) => {
    const out = { isTerminal: true, coloured: false, columns: 40, print: () => {}, complain: () => {} };
    const rows = [
      ['部署通知部署通知部署通知', 'ok', 'k1'],
      ['🚀 deploys to the production cluster', 'ok', 'k2'],
      ['plain', 'ok', 'k3'],
    ];
    const lines = table(out, ['ROUTE', 'STATUS', 'ID'], rows).trimEnd().split('\n');
    t.same(
      lines.map((line) => widthOf(line.slice(0, line.search(/STATUS|ok /)))),
      [30, 30, 30, 30],
    );
    for (const line of lines) t.ok(widthOf(line) <= 40, line);
    for (const line of wrapped('部署 通知 '.repeat(12).trim(), 20, '')) t.ok(widthOf(line) <= 20, line);
  },
);
