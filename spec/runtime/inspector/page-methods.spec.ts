import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { commands } from '../../../runtime/control/commands.ts';
import { onlyReads, type PageAccess } from '../../../runtime/control/methods.ts';
import { pageAccessOf } from '../../../runtime/inspector/page-methods.ts';

/** What a session that may only read may call. */
const ofReader: readonly string[] = [
  ...['answered', 'list', 'show', 'watch'].map((name) => `approvals.${name}`),
  ...['audit.list', 'chat.tools', 'gateway.database', 'gateway.nodes', 'gateway.status', 'link.read', 'setup.read'],
  ...['check', 'hints', 'schema', 'show', 'source'].map((name) => `config.${name}`),
  ...['cron.list', 'cron.show', 'runs.list', 'runs.show', 'failures.groups', 'failures.list'],
  ...['list', 'progress', 'show', 'targets'].map((name) => `deliveries.${name}`),
  ...['curl', 'follow', 'open', 'search'].map((name) => `events.${name}`),
  ...['chart', 'follow', 'show', 'tree', 'watch', 'why'].map((name) => `inspect.${name}`),
  ...['calls', 'gateways', 'importable', 'instructions', 'list', 'logs', 'oauthServers'].map((name) => `mcp.${name}`),
  ...['prompts', 'resourceTemplates', 'resources', 'show', 'tools', 'watch'].map((name) => `mcp.${name}`),
  ...['overview.read', 'overview.watch'],
  ...['deliveries', 'delivery', 'doctor', 'list', 'samples', 'show'].map((name) => `webhook.${name}`),
];

/** Every method of the control socket, and what the page may do with it without params. One that is not here fails. */
const ofPage: Readonly<Record<PageAccess, readonly string[]>> = {
  open: [
    ...ofReader,
    ...['approvals.answer', 'cron.pause', 'cron.resume', 'cron.run', 'events.replayAll', 'runs.cancel'],
    ...['confirm', 'drop', 'retry'].map((name) => `deliveries.${name}`),
    ...['call', 'disable', 'getPrompt', 'login', 'loginPaste', 'logout', 'readResource', 'reconnect', 'test'].map(
      (name) => `mcp.${name}`,
    ),
    ...['disable', 'enable', 'hold', 'release', 'replay'].map((name) => `webhook.${name}`),
  ],
  fresh: [
    ...['cancel', 'new', 'open', 'say'].map((name) => `chat.${name}`),
    ...['add', 'edit', 'remove'].map((name) => `cron.${name}`),
    ...['reload', 'stop'].map((name) => `gateway.${name}`),
    'link.add',
    ...['add', 'edit', 'enable', 'import', 'remove'].map((name) => `mcp.${name}`),
    ...['agent', 'target', 'webhooks'].map((name) => `setup.${name}`),
    ...['edit', 'remove', 'subscribe', 'test'].map((name) => `webhook.${name}`),
  ],
  terminalOnly: ['gateway.migrate', 'inspect.endSessions', 'inspect.link', 'journal.copy'],
};

const linkTo = (config: JsonObject): string =>
  `agent://mcp/install?name=x&config=${Buffer.from(JSON.stringify(config)).toString('base64url')}`;

t.test('SEC-1 · of every method it is said whether the page needs a fresh link for it, and a new one does', (t) => {
  t.same(Object.values(ofPage).flat().sort(), [...commands.keys()].sort(), 'ofPage');
  for (const [access, methods] of Object.entries(ofPage)) {
    for (const method of methods) t.equal(pageAccessOf(method, {}), access, method);
  }
  for (const method of ['no.such', 'toString', '__proto__']) t.equal(pageAccessOf(method, {}), 'fresh', method);
  t.end();
});

t.test('SEC-1 · a session that may only read calls these methods and no other', (t) => {
  t.same([...commands.keys()].filter(onlyReads).sort(), [...ofReader].sort(), 'ofReader');
  for (const method of ['no.such', 'toString', '__proto__']) t.equal(onlyReads(method), false, method);
  t.end();
});

t.test('SEC-1 · a method that takes a program or a prompt needs a fresh link only where it brings one', (t) => {
  const rows: readonly (readonly [string, JsonObject, PageAccess])[] = [
    ['link.add', { url: linkTo({ command: 'sh' }) }, 'fresh'],
    ['link.add', { url: linkTo({ url: 'http://127.0.0.1:1/mcp' }) }, 'fresh'],
    ['link.add', { url: linkTo({ url: 'http://127.0.0.1:1/mcp', trust: 'untrusted' }) }, 'open'],
    ['link.add', { url: linkTo({ url: 'http://127.0.0.1:1/mcp', trust: 'untrusted', ssl_verify: false }) }, 'fresh'],
    ['link.add', { url: 'nonsense' }, 'fresh'],
    ['link.add', { url: 1 }, 'fresh'],
    ['approvals.answer', { id: 'a1', grant: true, remember: 'run' }, 'open'],
    ['approvals.answer', { id: 'a1', grant: true, remember: 'always' }, 'fresh'],
    ['webhook.test', { name: 'ci', checks_only: true }, 'open'],
    ['config.check', { text: '' }, 'terminalOnly'],
    ['webhook.delivery', { id: 'a' }, 'open'],
    ['webhook.delivery', { id: 'a', handshake: true }, 'terminalOnly'],
    ['cron.add', { name: 'nightly', record: { schedule: '@daily', prompt: 'x' } }, 'fresh'],
    ['cron.remove', { job: 'nightly' }, 'fresh'],
    ['cron.run', { job: 'nightly', force: true }, 'open'],
    ['cron.run', { job: 'nightly', context: 'x' }, 'fresh'],
    ['webhook.replay', { id: 'x', dry: true }, 'open'],
    ['webhook.replay', { id: 'x', payload: '{}' }, 'fresh'],
    ['mcp.importable', {}, 'open'],
    ['mcp.importable', { block: '{}' }, 'fresh'],
    ['mcp.test', { server: 'x' }, 'open'],
    ['mcp.test', { server: 'x', entry: { command: 'sh' } }, 'fresh'],
    ['mcp.test', { server: 'x', changes: { lazy: true } }, 'fresh'],
    ['mcp.add', { entry: { command: 'sh', trust: 'untrusted' } }, 'fresh'],
    ['mcp.add', { entry: { url: 'http://127.0.0.1:1/mcp' } }, 'fresh'],
    ['mcp.add', { entry: { url: 'http://127.0.0.1:1/mcp', trust: 'untrusted' } }, 'open'],
    ['mcp.add', { entry: { url: 'http://127.0.0.1:1/${TOKEN}', trust: 'untrusted' } }, 'fresh'],
    ['mcp.add', { entry: { url: 'http://127.0.0.1:1/', trust: 'untrusted', ssl_verify: false } }, 'fresh'],
    ['mcp.add', { entry: { url: 'http://127.0.0.1:1/', trust: 'untrusted', command: null } }, 'fresh'],
    ['mcp.edit', { changes: { timeout: 60, lazy: true } }, 'open'],
    ['mcp.edit', { changes: { timeout: 60, trust: 'full' } }, 'fresh'],
    ['mcp.edit', { changes: { args: ['-c', 'x'] } }, 'fresh'],
    ['mcp.edit', { changes: 1 }, 'fresh'],
  ];
  for (const [method, params, access] of rows) {
    t.equal(pageAccessOf(method, params), access, `${method} ${JSON.stringify(params)}`);
  }
  t.end();
});
