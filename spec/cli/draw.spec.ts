import t from 'tap';
import type { Output } from '../../cli/context.ts';
import { drawChart, drawTree, factsText, line, whole } from '../../cli/draw.ts';
import type { ActorRow } from '../../runtime/control/contract/wire.ts';
import { chartOf } from '../../runtime/inspector/charts.ts';

function output(columns: number, coloured = false, isTerminal = true): Output {
  return { isTerminal, coloured, columns, print: () => {}, complain: () => {} };
}

const row = (more: Partial<ActorRow>): ActorRow => ({
  id: 'supervisor',
  parent: null,
  machine: 'supervisor',
  state: 'up.running',
  since: 0,
  tags: [],
  ...more,
});

const rows: readonly ActorRow[] = [
  row({}),
  row({
    id: 'servers/connections',
    parent: 'supervisor',
    machine: 'connectionsPool',
    state: 'active',
    meta: { size: 3 },
  }),
  row({
    id: 'connections/files',
    parent: 'servers/connections',
    machine: 'serverConnection',
    state: 'backingOff',
    tags: ['retrying'],
    why: `mcp server "files": ${'cannot be reached '.repeat(20)}`,
    meta: { server: 'files', attempt: 3 },
  }),
  row({
    id: `groups/${'g'.repeat(120)}`,
    parent: 'supervisor',
    machine: 'coalescingGroup',
    state: 'pending',
    meta: { waiting: 2 },
  }),
];

t.test('INS-2 · the tree fits the terminal, and is whole on a pipe', (t) => {
  const source = { rows, more: { 'servers/connections': 2 }, nowMs: 61_000, agent: 'agent' };
  for (const columns of [40, 80, 200])
    for (const one of drawTree(output(columns), source).lines) t.ok(one.length <= columns, `${columns}: ${one}`);
  t.match(
    drawTree(output(80), source).lines.join('\n'),
    /g{9}… {2}pending {2}1m…$/m,
    'a long name leaves room for its state',
  );
  const whole = drawTree(output(80, false, false), source).lines.join('\n');
  t.match(whole, /^├─ connections {2}3$/m);
  t.match(whole, /connections\/files {2}backing off {2}1m {2}attempt 3 {2}mcp server "files": cannot/);
  t.match(whole, /└─ … 2 more/);
  t.match(whole, /g{120} {2}pending {2}1m {2}2 waiting/);
  t.end();
});

t.test('INS-2 · the tree shows the children of a pool that are in trouble first', (t) => {
  const pool = row({ id: 'gateway/runs', parent: 'supervisor', machine: 'runsPool', meta: { size: 4 } });
  const run = (name: string, ...tags: string[]) =>
    row({ id: `runs/${name}`, parent: pool.id, machine: 'agentRun', state: name, tags });
  const runs = [run('well'), run('again', 'retrying'), run('lost', 'failed'), run('asks', 'needsUser')];
  const { lines, failed } = drawTree(output(80, false, false), {
    rows: [row({}), pool, ...runs],
    more: {},
    nowMs: 0,
    agent: 'agent',
  });
  t.same(
    lines.slice(2).map((one) => /runs\/(\w+)/.exec(one)?.[1]),
    ['lost', 'asks', 'again', 'well'],
  );
  t.same(failed, [{ id: 'runs/lost', line: 2 }]);
  t.end();
});

t.test('TRU-3 · INS-2 · a run that waits for a person says so, with the command that lets it go on', (t) => {
  const run = row({ id: 'runs/r1', parent: 'supervisor', machine: 'agentRun', state: 'running' });
  const question = row({ id: 'approvals/a3', parent: 'supervisor', machine: 'approval', state: 'asked' });
  const draw = (key: string): string =>
    drawTree(output(80, false, false), {
      rows: [row({}), run, { ...question, meta: { key } }],
      more: {},
      nowMs: 0,
      agent: 'agent --home /srv',
    }).lines.join('\n');
  t.match(draw('r1'), /runs\/r1 {2}waiting for you .*agent --home \/srv approvals show a3/);
  t.match(draw('r2'), /runs\/r1 {2}running /);
  t.end();
});

/** How a terminal is told of a colour. */
const style = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g');

t.test('INS-2 · CLI-2 · colours are only where they are wanted, and change no width', (t) => {
  const source = { rows, more: {}, nowMs: 0, agent: 'agent' };
  const plain = drawTree(output(80), source).lines;
  const coloured = drawTree(output(80, true), source).lines;
  t.notMatch(plain.join(''), '\u001b');
  t.match(coloured.join(''), '\u001b[33mbacking off');
  t.same(
    coloured.map((one) => one.replaceAll(style, '')),
    plain,
  );
  t.end();
});

t.test('INS-2 · CLI-2 · an id of thousands of characters is cut among the facts, on a pipe too', (t) => {
  const facts = factsText({ route: 'r', event: 'e'.repeat(5_000), delivery: 'd1' });
  t.match(facts, /^r {2}e{159}… {2}d1$/);
  t.end();
});

t.test('INS-2 · nothing of an actor can move the cursor', (t) => {
  const hostile = row({ id: 'groups/a\u001b[2J\nb', why: '\u009b31m\u202e', meta: { delivery: 'x\u0007' } });
  t.notMatch(
    drawTree(output(200), { rows: [hostile], more: {}, nowMs: 0, agent: 'agent' }).lines.join('|'),
    /\p{Cc}|\u202e/u,
  );
  t.end();
});

t.test('INS-2 · a chart is drawn with the state that its actor is in, and the states around it', async (t) => {
  const supervisor = await chartOf('supervisor');
  if (supervisor === undefined) throw new Error('no chart');
  const drawn = drawChart(output(80), supervisor, 'up.running');
  for (const one of drawn) t.ok(one.length <= 80, one);
  t.same(
    drawn.filter((one) => one.includes('← here')).map((one) => one.trim().split(' ')[1]),
    ['up', 'running'],
  );
  t.ok(drawn.some((one) => /config\.reload ─▶ up\.reloading/.test(one)));
  t.ok(
    drawn.some((one) => one.includes('◎')),
    'final states are marked',
  );
});

t.test('INS-2 · a line is cut where the terminal ends, between its pieces too', (t) => {
  const out = output(10);
  t.equal(line(out, [['12345'], ['67890']]), '1234567890');
  t.equal(line(out, [['12345'], ['678901']]), '123456789…');
  t.equal(line(out, [['1234567890'], ['x']]), '123456789…');
  t.equal(line(out, [['12345'], ['67890'], ['x']]).length, 10);
  t.equal(line(out, []), '');
  t.end();
});

t.test('INS-2 · a text that is never cut ends its lines between words, and is one line for a pipe', (t) => {
  const text = '→ Mend what the reason names';
  t.same(whole(output(16), text, 'cyan'), ['→ Mend what the', '  reason names']);
  t.same(whole(output(16), '  why: it has failed'), ['  why: it has', '  failed']);
  t.same(whole(output(16, false, false), text, 'cyan'), [text]);
  t.match(whole(output(16, true), text, 'cyan')[1], /36m {2}reason names/);
  t.end();
});
