import t from 'tap';
import { catalogue } from '../../cli/catalogue.ts';
import { runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { postSigned } from '../support/sign.ts';
import { secret, webhookConfig } from '../support/webhook-home.ts';

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

t.test('CLI-2 · CON-4 · every read command gives data with --json, of the law’s shape, and text without', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        gh: {events: [push], prompt: "P {n}", description: mine}\n', {
      more: 'mcp_servers: {bad: {command: x, url: "http://127.0.0.1:1"}}',
    }),
  });
  const daemon = await startDaemon(t, home.path);
  const answer = await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'd1' });
  t.equal(answer.status, 202);
  await daemon.line(({ message }) => message === 'run delivered');
  await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'd2', event: 'issues' });

  const route = { name: 'gh', url: `${daemon.url}/webhooks/gh`, events: ['push'], deliver: 'log', description: 'mine' };
  const ignored = {
    delivery_id: 'd2',
    route: 'gh',
    profile: 'default',
    event: 'issues',
    status: 'ignored',
    reason: 'event issues is not among push',
    received_at: iso,
    attempts: 0,
  };
  const { reason: _, ...base } = ignored;
  const delivered = { ...base, delivery_id: 'd1', event: 'push', status: 'delivered', attempts: 1 };
  const rows: readonly (readonly [words: string, shape: unknown, code?: number])[] = [
    [
      'gateway status',
      {
        pid: daemon.child.pid,
        version: /^\d+\.\d+\.\d+/,
        uptime_seconds: Number,
        home: home.path,
        webhook: { enabled: true, url: daemon.url },
        servers: { failed: 1 },
        actors: { supervisor: 1, gateway: 1, journal: 1 },
      },
    ],
    ['webhook list', [{ ...route, problem: undefined }]],
    ['webhook show gh', { ...route, definition: { prompt: 'P {n}' } }],
    ['webhook deliveries', [ignored, delivered]],
    [
      'webhook deliveries d1',
      { ...delivered, record: { body: '{"n":1}' }, run: { status: 'delivered' }, delivery: {} },
    ],
    [
      'config check',
      [{ file: 'config.yaml', line: 1, column: Number, code: 'server-two-transports', message: /"bad" has both/ }],
      1,
    ],
    ['config schema', { type: 'object', properties: { platforms: {} } }],
    ['runs list', [{ id: String, delivery_id: 'd1', route: 'gh', status: 'delivered', attempt: 1, queued_at: iso }]],
    [
      'inspect tree',
      { id: 'supervisor', machine: 'supervisor', state: 'up.running', since: iso, children: [{ id: 'journal' }] },
    ],
    [
      'inspect show gateway',
      { id: 'gateway', machine: 'gateway', state: 'listening', since: iso, context: { url: daemon.url } },
    ],
  ];
  for (const [words, shape, code = 0] of rows) {
    const asked = words.split(' ');
    const json = await runCli([...asked, '--json'], home.path);
    t.equal(json.code, code, words);
    t.match(JSON.parse(json.stdout), shape, words);
    if (words === 'config schema') continue;
    const text = await runCli(asked, home.path);
    t.equal(text.code, code, words);
    if (Array.isArray(shape)) t.throws(() => JSON.parse(text.stdout), `${words}: a table for people`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for.
    t.notMatch(text.stdout, /\u001b/, `${words}: no colours`);
  }
  const [run] = JSON.parse((await runCli(['runs', 'list', '--json'], home.path)).stdout) as { id: string }[];
  const shown = JSON.parse((await runCli(['runs', 'show', run?.id ?? '', '--json'], home.path)).stdout) as object;
  t.match(shown, { id: run?.id, prompt: 'P 1', response: 'P 1', delivery: { status: 'delivered' } });
});

t.test('CLI-2 · every command that reads takes --json', (t) => {
  const reads = /^(list|show|status|tools|deliveries|check|tree|test|schema)$/;
  const without = catalogue
    .filter(({ path, flags }) => reads.test(path.at(-1) ?? '') && !flags.some(({ name }) => name === 'json'))
    .map(({ path }) => path.join(' '));
  t.same(without, []);
  t.end();
});
