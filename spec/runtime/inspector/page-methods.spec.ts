import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { commands } from '../../../runtime/control/commands.ts';
import { type PageAccess, pageAccessOf } from '../../../runtime/inspector/page-methods.ts';

/** Every method of the control socket, and what the page may do with it without params. One that is not here fails. */
const ofPage: Readonly<Record<PageAccess, readonly string[]>> = {
  open: [
    ...['answer', 'list', 'show', 'watch'].map((name) => `approvals.${name}`),
    ...['check', 'hints', 'schema', 'show'].map((name) => `config.${name}`),
    ...['list', 'pause', 'resume', 'run', 'show'].map((name) => `cron.${name}`),
    ...['confirm', 'drop', 'list', 'progress', 'retry', 'show', 'targets'].map((name) => `deliveries.${name}`),
    ...['curl', 'follow', 'open', 'search'].map((name) => `events.${name}`),
    ...['groups', 'list'].map((name) => `failures.${name}`),
    'gateway.status',
    ...['chart', 'follow', 'show', 'tree', 'watch', 'why'].map((name) => `inspect.${name}`),
    'link.read',
    ...['call', 'getPrompt', 'instructions', 'list', 'login', 'loginPaste', 'logs', 'oauthServers', 'prompts'].map(
      (name) => `mcp.${name}`,
    ),
    ...['readResource', 'reconnect', 'resourceTemplates', 'resources', 'test', 'tools', 'watch'].map(
      (name) => `mcp.${name}`,
    ),
    ...['cancel', 'list', 'show'].map((name) => `runs.${name}`),
    ...['deliveries', 'delivery', 'doctor', 'list', 'replay', 'samples', 'show'].map((name) => `webhook.${name}`),
  ],
  fresh: [
    ...['cancel', 'new', 'open', 'say', 'tools'].map((name) => `chat.${name}`),
    ...['add', 'remove'].map((name) => `cron.${name}`),
    ...['reload', 'stop'].map((name) => `gateway.${name}`),
    'link.add',
    ...['remove', 'subscribe', 'test'].map((name) => `webhook.${name}`),
  ],
  terminalOnly: ['inspect.endSessions', 'inspect.link'],
};

const linkTo = (config: JsonObject): string =>
  `agent://mcp/install?name=x&config=${Buffer.from(JSON.stringify(config)).toString('base64url')}`;

t.test('SEC-1 · of every method it is said whether the page needs a fresh link for it, and a new one does', (t) => {
  t.same(Object.values(ofPage).flat().sort(), [...commands.keys()].sort());
  for (const [access, methods] of Object.entries(ofPage)) {
    for (const method of methods) t.equal(pageAccessOf(method, {}), access, method);
  }
  for (const method of ['no.such', 'toString', '__proto__']) t.equal(pageAccessOf(method, {}), 'fresh', method);
  t.end();
});

t.test('SEC-1 · a method that takes a program or a prompt needs a fresh link only where it brings one', (t) => {
  const rows: readonly (readonly [string, JsonObject, PageAccess])[] = [
    ['link.add', { url: linkTo({ command: 'sh' }) }, 'fresh'],
    ['link.add', { url: linkTo({ url: 'http://127.0.0.1:1/mcp' }) }, 'open'],
    ['link.add', { url: 'nonsense' }, 'fresh'],
    ['link.add', { url: 1 }, 'fresh'],
    ['cron.run', { job: 'nightly', force: true }, 'open'],
    ['cron.run', { job: 'nightly', context: 'x' }, 'fresh'],
    ['webhook.replay', { id: 'x', dry: true }, 'open'],
    ['webhook.replay', { id: 'x', payload: '{}' }, 'fresh'],
    ['mcp.test', { server: 'x' }, 'open'],
    ['mcp.test', { server: 'x', entry: { command: 'sh' } }, 'terminalOnly'],
  ];
  for (const [method, params, access] of rows) {
    t.equal(pageAccessOf(method, params), access, `${method} ${JSON.stringify(params)}`);
  }
  t.end();
});
