import t from 'tap';
import type { LivingRow } from '../../../../../runtime/control/contract/wire.ts';
import {
  countStandings,
  everything,
  matchesFilter,
  treeLines,
  valuesOf,
} from '../../../../../runtime/inspector/page/data/tree.ts';

const row = (id: string, parent: string | null, more: Partial<LivingRow> = {}): LivingRow => ({
  id,
  parent,
  machine: 'agentRun',
  state: 'running',
  since: 1_000,
  tags: ['working'],
  ...more,
});
const rowsOf = (...rows: readonly LivingRow[]): ReadonlyMap<string, LivingRow> =>
  new Map(rows.map((one) => [one.id, one]));
const shown = (rows: ReadonlyMap<string, LivingRow>, filter = everything, folded = new Map<string, boolean>()) =>
  treeLines(rows, filter, { folded, nowMs: 10_000 }).map(
    ({ name, depth, dimmed }) => `${' '.repeat(depth)}${name}${dimmed ? ' (dimmed)' : ''}`,
  );

const house = rowsOf(
  row('supervisor', null, { machine: 'supervisor', state: 'up.running', tags: ['resting'] }),
  row('gateway', 'supervisor', { machine: 'gateway', state: 'listening', tags: ['resting'] }),
  row('gateway/runs', 'gateway', { machine: 'runsPool', state: 'active', tags: ['resting'] }),
  row('runs/r1', 'gateway/runs', { meta: { route: 'reviews' } }),
  row('runs/r2', 'gateway/runs', { state: 'failed', tags: ['ended', 'failed'], meta: { route: 'deploys' } }),
  row('servers', 'supervisor', { machine: 'servers', state: 'keeping', tags: ['resting'] }),
);

t.test('INS-2 · puts every actor under its parent, named by its address, and those in trouble first', async (t) => {
  t.same(shown(house), ['supervisor', ' gateway', '  runs', '   r2', '   r1', ' servers']);
});

t.test('INS-2 · an actor whose parent is not among the rows is at the top', async (t) => {
  t.same(shown(rowsOf(row('calls/c1', 'servers/calls'))), ['calls/c1']);
});

t.test('INS-2 · a filter leaves what matches and the way to it', async (t) => {
  const way = ['supervisor (dimmed)', ' gateway (dimmed)', '  runs (dimmed)'];
  t.same(shown(house, { ...everything, route: 'reviews' }), [...way, '   r1']);
  t.same(shown(house, { ...everything, standing: 'failed' }), [...way, '   r2']);
  t.same(shown(house, { ...everything, text: 'R2' }), [...way, '   r2']);
  t.same(shown(house, { ...everything, text: 'nobody' }), []);
});

t.test('INS-2 · longer than counts from the moment that a state began, and leaves out what has ended', async (t) => {
  const filter = { ...everything, longerThanMs: 9_000 };
  t.equal(matchesFilter(row('a', null), filter, 10_000), true);
  t.equal(matchesFilter(row('a', null), filter, 9_999), false);
  t.equal(matchesFilter(row('a', null, { tags: ['ended'] }), filter, 10_000), false);
});

t.test('INS-2 · retrying and needing a person are filters of their own', async (t) => {
  const retrying = row('a', null, { state: 'backingOff', tags: ['working'] });
  t.equal(matchesFilter(retrying, { ...everything, standing: 'retrying' }, 0), true);
  t.equal(matchesFilter(retrying, { ...everything, standing: 'working' }, 0), false);
  const asked = row('b', null, { state: 'asked', tags: ['needsUser'] });
  t.equal(matchesFilter(asked, { ...everything, standing: 'needsUser' }, 0), true);
});

t.test('TRU-3 · INS-2 · a run that waits for a person is found by its words and its standing', async (t) => {
  const run = row('runs/r1', null, { question: 'a1' });
  t.equal(matchesFilter(run, { ...everything, standing: 'needsUser' }, 0), true);
  t.equal(matchesFilter(run, { ...everything, standing: 'working' }, 0), false);
  t.equal(matchesFilter(run, { ...everything, text: 'waiting for' }, 0), true);
  t.equal(matchesFilter(row('runs/r1', null), { ...everything, text: 'waiting for' }, 0), false);
});

t.test('INS-2 · what a person folds stays folded, and a crowd begins folded', async (t) => {
  t.same(shown(house, everything, new Map([['gateway', true]])), ['supervisor', ' gateway', ' servers']);
  const crowd = Array.from({ length: 300 }, (_, at) => row(`runs/${at}`, 'gateway/runs'));
  const full = rowsOf(row('gateway/runs', null, { machine: 'runsPool' }), ...crowd);
  t.same(shown(full), ['gateway/runs']);
  t.equal(shown(full, everything, new Map([['gateway/runs', false]])).length, 301);
  t.equal(shown(full, { ...everything, text: 'runs/29' }).length, 12, 'a filter unfolds it');
});

t.test('INS-2 · gives screen readers the position among the siblings', async (t) => {
  const [, , , first, second] = treeLines(house, everything, { folded: new Map(), nowMs: 0 });
  t.match(first, { position: 1, siblings: 2, depth: 3 });
  t.match(second, { position: 2, siblings: 2 });
});

t.test('INS-2 · lays 10,000 actors out without losing one', async (t) => {
  const many = Array.from({ length: 10_000 }, (_, at) => row(`groups/${at}`, 'gateway/groups'));
  const rows = rowsOf(row('gateway/groups', null, { machine: 'groupsPool' }), ...many);
  t.equal(shown(rows, everything, new Map([['gateway/groups', false]])).length, 10_001);
});

t.test('INS-2 · offers the routes and servers that the living have', async (t) => {
  t.same(valuesOf(house.values(), 'route'), ['deploys', 'reviews']);
  t.same(valuesOf(house.values(), 'server'), []);
});

t.test('INS-2 · TRU-3 · what needs a person is counted by question, whichever actor reports it', async (t) => {
  const needs = { tags: ['needsUser'] };
  const hub = { meta: { server: 'hub', profile: 'work' } };
  const counts = countStandings([
    row('approvals/a1', null, { ...needs, machine: 'approval', state: 'asked' }),
    row('calls/c1', null, { ...needs, machine: 'toolCall', state: 'approving' }),
    row('runs/r1', null, { question: 'a1' }),
    row('approvals/a2', null, { ...needs, machine: 'approval', state: 'asked' }),
    row('serverRequests/s1', null, { ...needs, machine: 'serverRequest', state: 'asking' }),
    row('chats/t1', null, { ...needs, machine: 'chatSession', state: 'idle' }),
    row('connections/hub', null, { ...needs, ...hub, machine: 'serverConnection', state: 'needsLogin' }),
    row('logins/hub', null, { ...needs, ...hub, machine: 'browserLogin', state: 'awaitingRedirect' }),
    row('runs/r2', null),
  ]);
  t.same(counts, { working: 1, needsUser: 3 });
});
