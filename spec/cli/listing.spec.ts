import t, { type Test } from 'tap';
import { showAudit } from '../../cli/commands/audit.ts';
import { showConfig } from '../../cli/commands/config.ts';
import { listJobs, showJob } from '../../cli/commands/cron.ts';
import { listServers, listTools, showServerLog, testServer } from '../../cli/commands/mcp.ts';
import { listWebhooks } from '../../cli/commands/webhook.ts';
import type { CommandContext } from '../../cli/context.ts';
import { type Listing, sayWhyNone, showList } from '../../cli/listing.ts';
import type { HistoryQuery } from '../../runtime/control/contract/choices.ts';
import { createControlServer } from '../../runtime/control/server.ts';
import type { DaemonView } from '../../runtime/control/view.ts';
import { stageCommand } from '../support/command-stage.ts';
import { askCli } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

const keysTo = (count: number): string[] => Array.from({ length: count }, (_, n) => `k${count - n}`);

/** A list of keys, of which a gateway holds so many. */
async function shown(
  held: number,
  { journal = 'ready', ...stage }: { flags?: CommandContext['flags']; isTerminal?: boolean; journal?: string },
) {
  const asked: Partial<HistoryQuery>[] = [];
  const listing: Listing<string> = {
    read: async (_, query) => {
      asked.push(query);
      const from = query.before === undefined ? 0 : keysTo(held).indexOf(query.before) + 1;
      return keysTo(held).slice(from, from + Math.min(1_000, query.limit ?? 50));
    },
    keyOf: (key) => key,
    atOf: () => '2026-01-01T00:00:00.000Z',
    phaseOf: () => '',
    head: ['ID'],
    cells: (key) => [key],
    none: 'No rows.',
  };
  const { context, seen } = stageCommand(stage);
  const ask = (): Promise<never> => Promise.resolve({ journal } as never);
  const code = await showList({ ...context, ask }, listing);
  return { ...seen, asked, code };
}

t.test('CLI-6 · a list that stops short says how to see more, to a reader of a pipe too', async (t) => {
  const short = (limit: number, next: number | undefined, last: string): string =>
    `The newest ${limit} rows. There are more: ${next === undefined ? '' : `--limit ${next}, or `}--before ${last} for the next page.\n`;
  for (const [held, limit, words] of [
    [51, undefined, short(50, 100, 'k2')],
    [50, undefined, ''],
    [3, '2', short(2, 4, 'k2')],
    [2, '2', ''],
    [2_000, '5000', short(1_000, undefined, 'k1001')],
    [1_000, '5000', ''],
    [0, undefined, ''],
  ] as const) {
    const flags = limit === undefined ? {} : { limit };
    const person = await shown(held, { flags, isTerminal: true });
    t.equal(person.code, 0);
    t.ok(person.printed.endsWith(words), `${held} rows, limit ${limit}: ${person.printed.slice(-200)}`);
    if (words === '') t.notMatch(person.printed, 'There are more');
    t.equal(person.complained, '');
    const piped = await shown(held, { flags });
    t.notMatch(piped.printed, 'There are more');
    t.equal(piped.complained, words === '' ? '' : `agent: ${words}`);
    const script = await shown(held, { flags: { ...flags, json: true }, isTerminal: true });
    t.equal(JSON.parse(script.printed).length, Math.min(held, Number(limit ?? 50), 1_000));
    t.equal(script.complained, words === '' ? '' : `agent: ${words}`);
  }
  t.match((await shown(0, {})).printed, 'No rows.\n');
});

t.test('CLI-6 · a list without rows says that no route has the name', async (t) => {
  for (const [route, words] of [
    ['github', ''],
    ['githb', 'agent: no route is named "githb"; did you mean "github"?\n'],
    ['zzz', 'agent: no route is named "zzz"; `agent webhook list` lists them\n'],
  ] as const) {
    const { context, seen } = stageCommand({ flags: { route } });
    await sayWhyNone({ ...context, ask: () => Promise.resolve([{ name: 'github' }] as never) });
    t.equal(seen.complained, words);
  }
});

t.test('CLI-6 · CLI-2 · a list is not called empty where the journal cannot be read', async (t) => {
  const journal = 'postgres://h/db: away';
  for (const flags of [{}, { json: true }] as const) {
    const none = await shown(0, { flags, journal });
    t.match(none, { code: 1, printed: '', complained: `agent: ${journal}\n` });
    t.match(await shown(1, { flags, journal }), { code: 0, complained: '' }, 'what the gateway has in memory is shown');
  }
});

t.test('CLI-6 · PRF-1 · a list without rows says that its profile is not served, and no other refusal', async (t) => {
  for (const [code, words] of [
    ['profile-unknown', 'agent: make profiles/x\n'],
    ['run-refused', ''],
  ] as const) {
    const { context, seen } = stageCommand({ flags: { profile: 'x' } });
    const refusal = Object.assign(new Error('make profiles/x'), { code });
    const ask = (method: string): Promise<never> =>
      method === 'cron.list' ? Promise.reject(refusal) : Promise.resolve({} as never);
    await sayWhyNone({ ...context, ask });
    t.equal(seen.complained, words);
  }
});

t.test('CLI-6 · --since is sent as a time', async (t) => {
  const { asked } = await shown(1, { flags: { since: '2026-01-31T12:00:00+01:00', limit: '7' } });
  t.same(asked, [{ since: '2026-01-31T11:00:00.000Z', limit: 8 }]);
});

/** A home whose gateway answers each look at the events with the next of some lists, and then ends. */
async function follows(t: Test, looks: readonly (readonly object[])[], words: readonly string[]) {
  const { path } = makeHome(t);
  const queries: HistoryQuery[] = [];
  const left = [...looks];
  const daemon = {
    deliveries: async (query: HistoryQuery) => {
      queries.push(query);
      const rows = left.shift();
      if (rows === undefined) void server.close();
      return rows ?? [];
    },
  } as unknown as DaemonView;
  const server = await createControlServer({
    path: `${path}/gateway.sock`,
    host: { source: { home: path, env: {} }, daemon },
    log: { log: () => {}, warnOnce: () => {} },
    redact: (text) => text,
  });
  t.teardown(() => server.close());
  return { ...(await askCli(['webhook', 'deliveries', '--follow', ...words], path)), queries };
}

const event = (key: string, status: string): object => ({
  key,
  delivery_id: `d-${key}`,
  route: 'gh',
  profile: 'default',
  event: 'push',
  status,
  received_at: '2026-01-01T10:00:00.000Z',
  attempts: 0,
});

t.test('CLI-6 · --follow prints each row as it comes and as it changes, until the gateway ends', async (t) => {
  const looks = [
    [event('k2', 'accepted'), event('k1', 'delivered')],
    [event('k2', 'accepted'), event('k1', 'delivered')],
    [event('k3', 'ignored'), event('k2', 'delivered'), event('k1', 'delivered')],
  ];
  const { code, stdout, stderr, queries } = await follows(t, looks, ['--route', 'gh']);
  t.equal(code, 3, 'as every command whose gateway is gone');
  t.match(stderr, /is not running; start it with `agent gateway`/);
  t.same(
    stdout.split('\n').map((line) => line.replace(/^\d\d:\d\d:\d\dZ/, '<time>').replace(/ +/g, ' ')),
    [
      'TIME STATUS ROUTE EVENT TRIES DELIVERY REASON',
      '<time> delivered gh push 0 d-k1',
      '<time> accepted gh push 0 d-k2',
      '<time> delivered gh push 0 d-k2',
      '<time> ignored gh push 0 d-k3',
      '',
    ],
  );
  t.match(stdout, /^10:00:00Z {2}delivered/m);
  t.match(queries[0], { route: 'gh', limit: 200 });
});

t.test('CLI-6 · --follow --json prints a row a line, the newest of --limit first of all', async (t) => {
  const many = Array.from({ length: 200 }, (_, n) => event(`k${500 - n}`, 'delivered'));
  const before = Array.from({ length: 200 }, (_, n) => event(`k${900 - n}`, 'delivered'));
  const rest = [event('k700', 'delivered'), ...many.slice(0, 199)];
  const { stdout, queries } = await follows(t, [many, before, rest], ['--json', '--limit', '2']);
  const keys = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).key);
  t.same(keys.slice(0, 2), ['k499', 'k500']);
  t.equal(keys.length, 2 + 201, 'none of those that came between two looks is missed');
  t.equal(keys.at(-1), 'k900');
  t.equal(queries[2]?.before, 'k701');
  const both = await askCli(['webhook', 'deliveries', '--follow', '--before', 'k1'], makeHome(t).path);
  t.equal(both.code, 2);
  t.match(both.stderr, /--before/);
});

t.test('CLI-6 · a server’s log and the history of a cron job say when they stop short', async (t) => {
  const lines = ['one', 'two', 'three'];
  const log = stageCommand({ answer: lines, args: ['s'], flags: { limit: '2' }, isTerminal: true });
  t.equal(await showServerLog(log.context), 0);
  t.same(log.seen.asked, [{ method: 'mcp.logs', server: 's', lines: 3 }]);
  t.equal(log.seen.printed, 'two\nthree\nThe newest 2 lines. --limit 4 shows more.\n');
  const all = stageCommand({ answer: lines, args: ['s'], flags: { lines: '3', json: true } });
  await showServerLog(all.context);
  t.same(JSON.parse(all.seen.printed), lines);
  t.equal(all.seen.complained, '');
  const firing = { at: '2026-01-01T00:00:00.000Z', cause: 'schedule', status: 'delivered' };
  const answer = { id: 'j', name: 'j', history: [firing, firing, firing] };
  const job = stageCommand({ answer, args: ['j'], flags: { limit: '2', json: true } });
  t.equal(await showJob(job.context), 0);
  t.same(job.seen.asked, [{ method: 'cron.show', job: 'j', limit: 3 }]);
  t.equal(JSON.parse(job.seen.printed).history.length, 2);
  t.equal(job.seen.complained, 'agent: The newest 2 firings. --limit 4 shows more.\n');
  const broken = { ...answer, schedule: '0 0 30 2 *', timezone: '', state: 'broken', skills: [], next: [], prompt: '' };
  const shown = stageCommand({ answer: broken, args: ['j'] });
  await showJob(shown.context);
  t.match(shown.seen.printed, /Schedule +0 0 30 2 \*\n/, 'a schedule that is never due has no zone');
  // The gateway reads no more than this of a history.
  const max = { ...answer, history: Array(1_000).fill(firing) };
  const long = stageCommand({ answer: max, args: ['j'], flags: { limit: '5000', json: true } });
  t.equal(await showJob(long.context), 0);
  t.equal(JSON.parse(long.seen.printed).history.length, 1_000);
  t.equal(long.seen.complained, 'agent: The newest 1000 firings. `agent events --route cron/j` lists them all.\n');
});

t.test('CLI-2 · a test of a server says on a terminal that it connects, which may take a minute', async (t) => {
  const answer = { ok: true, era: 'modern', milliseconds: 1, tools: [], filtered: 0 };
  const said = async (more: object): Promise<string> => {
    const { context, seen } = stageCommand({ answer, args: ['notes'], ...more });
    t.equal(await testServer(context), 0);
    return seen.complained;
  };
  t.equal(await said({ isTerminal: true }), 'Connecting to notes …\n');
  t.equal(await said({}), '');
  t.equal(await said({ isTerminal: true, flags: { json: true } }), '');
});

t.test('CLI-2 · a list of servers or tools without a row says so, and what comes next', async (t) => {
  const servers = stageCommand({ answer: [] });
  t.equal(await listServers(servers.context), 0);
  t.match(servers.seen.printed, /^No MCP servers\. Add one: agent mcp add /);
  const tools = stageCommand({ answer: [] });
  t.equal(await listTools(tools.context), 0);
  t.match(tools.seen.printed, /^No tools\. `agent mcp list` /);
  const ofRun = stageCommand({ answer: [] });
  const gateway = { home: undefined, socket: '/run/agent.sock' };
  t.equal(await listTools({ ...ofRun.context, gateway }), 0);
  t.equal(ofRun.seen.printed, 'No tools.\n', 'a run may not list the servers');
  for (const list of [listServers, listTools, listJobs, listWebhooks]) {
    const { context, seen } = stageCommand({ answer: [] });
    t.equal(await list({ ...context, gateway: { ...context.gateway, isNamed: true } }), 0);
    t.match(seen.printed, /\bagent --home \/home\/me\/\.agent (?:mcp|cron|webhook) /);
    t.notMatch(seen.printed, /(?<!\.)\bagent (?!--home)/);
  }
  const data = stageCommand({ answer: [], flags: { json: true } });
  await listServers(data.context);
  t.equal(data.seen.printed, '[]\n');
});

t.test(
  'CLI-6 · SEC-1 · on a terminal, settings have their values and places, and refusals their reasons',
  async (t) => {
    const { context, seen } = stageCommand({ isTerminal: true });
    const key = 'mcp_servers.a-server-with-a-name-of-some-length.circuit_breaker.reset_seconds';
    const value = 'a-value-of-some-length '.repeat(5).trim();
    const settings = [
      { key, value: 30, from: 'default' },
      { key: 'agent.command', value, from: 'file', line: 5 },
    ];
    const ask = async (method: string) => (method === 'config.show' ? { file: 'config.yaml', settings } : []) as never;
    t.equal(await showConfig({ ...context, ask }), 0);
    t.equal(seen.printed, `${key}: 30  default\nagent.command: ${value}  config.yaml:5\n`);
    const refused = 'no delivery is in the history; `agent events` lists them, '.repeat(2);
    const row = { at: '2026-01-01T00:00:00.000Z', who: 'owner', from: 'terminal', what: 'replayed', on: { id: 'x' } };
    const audit = stageCommand({ answer: [{ ...row, refused }], isTerminal: true });
    t.equal(await showAudit(audit.context), 0);
    t.match(audit.seen.printed, /id=x\n {5}refused: no delivery is .*\n {5}.*lists them,\n$/);
  },
);
