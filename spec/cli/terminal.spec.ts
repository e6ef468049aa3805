import t from 'tap';
import type { Output } from '../../cli/context.ts';
import { indented, inTime, table, wrapped } from '../../cli/terminal.ts';

const out = (columns: number, isTerminal = true): Output => ({
  isTerminal,
  coloured: false,
  columns,
  print: () => {},
  complain: () => {},
});

const head = ['AGO', 'STATUS', 'PROFILE', 'ROUTE', 'NEXT', 'ID', 'REASON'];
const rows = [
  [
    '4s',
    'failed',
    'default',
    'reports-of-the-northern-region',
    '',
    '0mwqfges70000ewy8l',
    'slack: the channel is archived',
  ],
  ['5s', 'delivered', 'default', 'alerts', '', '0mwqfgcvy0000ewy8l', ''],
];

t.test('CLI-2 · a table that has room is one line a row, on a pipe always', (t) => {
  const wide = table(out(400), head, rows).split('\n');
  t.equal(wide.length, 4);
  t.match(wide[0], /^AGO {2}STATUS {5}PROFILE {2}ROUTE/);
  t.match(wide[1], /the channel is archived$/);
  t.equal(table(out(20, false), head, rows), wide.join('\n'), 'a pipe has no width');
  t.end();
});

t.test('CLI-2 · at 80 columns what is to be copied is complete, and a reason is shown under its row', (t) => {
  const lines = table(out(80), head, rows).trimEnd().split('\n');
  t.ok(
    lines.every((line) => line.length <= 80),
    'nothing is broken by the terminal',
  );
  t.same(lines, [
    'AGO  STATUS     ROUTE                           ID',
    '4s   failed     reports-of-the-northern-region  0mwqfges70000ewy8l',
    '     slack: the channel is archived',
    '5s   delivered  alerts                          0mwqfgcvy0000ewy8l',
  ]);
  t.end();
});

t.test('CLI-2 · in a narrow terminal the widest column is cut, never an id or a status', (t) => {
  const lines = table(out(50), head, rows).split('\n');
  t.match(lines[1], /^4s {3}failed {5}reports-of-th… {2}0mwqfges70000ewy8l$/);
  // As of `agent events --follow`, whose ids are wider than what is left.
  const followed = table(
    out(60),
    ['TIME', 'STATUS', 'ROUTE', 'EVENT', 'DELIVERY'],
    [['13:35:31Z', 'delivered', 'deploys', 'pull_request', 'f5b956d7-63b8-4444-814f-c67ce0dca98c']],
  );
  t.match(followed, '13:35:31Z  delivered  deploys');
  const least = table(out(10), ['ID', 'ROUTE'], [['0mwqfges70000ewy8l', 'a-route-of-some-length']]).split('\n');
  t.equal(least[1], '0mwqfges70000ewy8l  a-route…', 'too narrow for all of it: the terminal breaks the line');
  t.end();
});

t.test('CLI-2 · a sentence under its row is two lines at most', (t) => {
  const long = 'word '.repeat(60).trim();
  const lines = table(out(60), ['NAME', 'WHY'], [['a', long]])
    .trimEnd()
    .split('\n');
  t.equal(lines.length, 4);
  t.match(lines[3], /^ {5}word .*…$/);
  t.ok(lines.every((line) => line.length <= 60));
  t.end();
});

t.test('CLI-2 · a cell of thousands of characters widens no table, on a pipe neither', (t) => {
  const long = 'x'.repeat(5_000);
  for (const isTerminal of [true, false]) {
    const lines = table(
      out(80, isTerminal),
      ['EVENT', 'ROUTE', 'REASON'],
      [
        [long, long, long],
        ['push', 'd1', 'none'],
      ],
    )
      .trimEnd()
      .split('\n');
    t.ok((lines[0] ?? '').length < 400 && (lines.at(-1) ?? '').length < 400, 'no other row is widened');
    t.ok(lines.every((line) => line.length < 1_400));
    t.match(lines[1], isTerminal ? /x…/ : /x{159}…/);
  }
  t.end();
});

t.test('CLI-2 · an id on a pipe is whole however long it is, and widens no other row', (t) => {
  const id = 'd'.repeat(200);
  const told = (isTerminal: boolean) => {
    const lines = table(
      out(300, isTerminal),
      ['EVENT', 'DELIVERY', 'REASON'],
      [
        ['push', id, 'none'],
        ['push', 'd1', 'none'],
      ],
    );
    return lines.trimEnd().split('\n');
  };
  const [, long, short] = told(false);
  t.equal(long, `push   ${id}  none`);
  t.equal(short?.length, 'push   '.length + 160 + '  none'.length);
  t.match(told(true)[1], /^push {3}d{159}… {2}none$/, 'on a terminal it is one of many columns');
  t.end();
});

t.test('CLI-2 · times to come are shown in their largest unit', (t) => {
  const at = (seconds: number) => inTime(new Date(seconds * 1_000).toISOString(), 0);
  t.same([0, 119, 120, 7_199, 7_200, 172_799, 172_800].map(at), [
    'in 0s',
    'in 119s',
    'in 2m',
    'in 120m',
    'in 2h',
    'in 48h',
    'in 2d',
  ]);
  t.end();
});

t.test('CLI-2 · lines are broken between words, and a word that is longer than a line stays whole', (t) => {
  t.same(wrapped('one two three', 7, '  '), ['one two', '  three']);
  t.same(wrapped('0123456789 x', 4, ''), ['0123456789', 'x']);
  t.end();
});

t.test('TRU-3 · CLI-2 · no line of untrusted text begins at the margin', (t) => {
  t.equal(
    indented('Deletes.\n\na2  tool  files\r\n\u001b[2J  deep'),
    '  Deletes.\n\n  a2  tool  files\uFFFD\n  \uFFFD[2J  deep',
  );
  t.end();
});
