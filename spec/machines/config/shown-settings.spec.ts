import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { atOnce } from '../../../machines/base/pieces.ts';
import { parseDocument } from '../../../machines/config/document.ts';
import { configSchema } from '../../../machines/config/schema.ts';
import { listingSettings, type ShownSetting, type VariableSource } from '../../../machines/config/shown-settings.ts';

function shown(text: string, variables: Readonly<Record<string, VariableSource>> = {}) {
  const rows = atOnce(
    listingSettings(parseDocument(text), configSchema() as JsonObject, (name) => variables[name] ?? 'unset'),
  );
  const byKey = new Map<string, Omit<ShownSetting, 'key'>>(rows.map(({ key, ...row }) => [key, row]));
  t.equal(byKey.size, rows.length, 'each key once');
  return byKey;
}

t.test('CLI-6 · a setting comes from a line of the file, or is the default', async (t) => {
  const rows = shown(
    'agent:\n  runner: command\n  command: [run, "it"]\nplatforms:\n  webhook:\n    extra: {port: 1}\n',
  );
  t.same(rows.get('agent.runner'), { value: 'command', from: 'file', line: 2 });
  t.same(rows.get('agent.command'), { value: ['run', 'it'], from: 'file', line: 3 });
  t.same(rows.get('agent.concurrency'), { value: 4, from: 'default' });
  t.same(
    rows.get('gateway.history.max_age_hours'),
    { value: 168, from: 'default' },
    'of a section that is not written',
  );
  t.same(rows.get('platforms.webhook.extra.port'), { value: 1, from: 'file', line: 6 });
  t.equal(rows.get('platforms.webhook.port'), undefined, 'extra comes before it, so no default is in force');
  t.same(rows.get('platforms.webhook.extra.host'), { value: '0.0.0.0', from: 'default' });
  t.equal(rows.get('platforms.webhook.host'), undefined, 'once');
  for (const text of ['', 'platforms: {webhook: {extra: {}}}', 'platforms: {webhook: {port: 1}}'])
    t.same(shown(text).get('platforms.webhook.extra.host'), { value: '0.0.0.0', from: 'default' }, text);
  t.equal(shown('platforms: {webhook: {port: 1}}').get('platforms.webhook.extra.port'), undefined, 'it is beside');
  t.equal(
    [...rows.keys()].some((key) => key.startsWith('platforms.telegram')),
    false,
    'a target that is not configured',
  );
});

t.test('CLI-6 · what a variable sets names the variable, and a reference is shown as it is written', async (t) => {
  const text =
    'platforms:\n  webhook:\n    routes:\n      gh: {secret: "${GH_SECRET}", prompt: p}\nmcp_servers:\n  s: {url: "https://s", headers: {Authorization: "Bearer ${TOKEN}"}}\n';
  const rows = shown(text, { GH_SECRET: '.env', WEBHOOK_PORT: 'environment' });
  t.match(rows.get('platforms.webhook.routes.gh.secret'), {
    value: '${GH_SECRET}',
    from: 'file',
    line: 4,
    variables: [{ name: 'GH_SECRET', from: '.env' }],
  });
  t.match(rows.get('mcp_servers.s.headers.Authorization')?.variables, [{ name: 'TOKEN', from: 'unset' }]);
  t.match(rows.get('platforms.webhook.extra.port'), {
    value: '${WEBHOOK_PORT}',
    from: 'variable',
    variables: [{ name: 'WEBHOOK_PORT', from: 'environment' }],
  });
});

t.test('CLI-6 · SEC-1 · secrets are masked, whatever their length, and in addresses too', async (t) => {
  const text = `platforms:
  webhook: {secret: abc, routes: {r: {secret: "a\\"b'c", prompt: p}}}
mcp_servers:
  s: {url: "https://me:pw12@s/?token=xyz", headers: {X-Any: hush}, env: {API_TOKEN: t, PLAIN: shown}}
  t: {url: "https://t", client_cert: [a.pem, b.pem, pw1], oauth: {client_secret: cs}}
`;
  const rows = shown(text);
  const settingAt = (key: string): unknown => rows.get(key)?.value;
  for (const key of [
    'platforms.webhook.secret',
    'platforms.webhook.routes.r.secret',
    'mcp_servers.s.headers.X-Any',
    'mcp_servers.s.env.API_TOKEN',
    'mcp_servers.t.oauth.client_secret',
  ])
    t.equal(settingAt(key), '***', key);
  t.equal(settingAt('mcp_servers.s.url'), 'https://me:***@s/?token=***');
  t.same(settingAt('mcp_servers.t.client_cert'), ['a.pem', 'b.pem', '***']);
  t.equal(settingAt('mcp_servers.s.env.PLAIN'), 'shown');
});
