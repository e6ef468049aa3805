import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { checkServerEntry, serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { validate } from '../../../machines/config/validate.ts';

const url = 'https://mcp.example/mcp';
const codes = (entry: JsonObject): readonly string[] =>
  [...validate(serverEntrySchema, entry), ...checkServerEntry(entry)].map(({ code }) => code);
const withOauth = (oauth: JsonObject): JsonObject => ({ url, auth: 'oauth', oauth });

t.test('OAU-1 · auth and oauth are keys of url servers', (t) => {
  t.same(codes(withOauth({})), []);
  t.same(codes({ command: 'x', auth: 'oauth' }), ['server-key-transport']);
  t.same(codes({ command: 'x', oauth: {} }), ['server-key-transport']);
  t.same(codes({ url, auth: 'basic' }), ['wrong-value']);
  t.end();
});

t.test('OAU-3 · the keys of oauth, each with its type, and no other', (t) => {
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{ flow: 'device', timeout: 0.5, scope: 'a b', client_name: 'n', token_endpoint_auth_method: 'none' }, []],
    [{ client_id: 'c', client_secret: 's', redirect_port: 8_000, cimd: false, user_agent: 'Fleet/7' }, []],
    [{ user_agent: null }, []],
    [{ user_agent: '' }, []],
    [{ flow: 'magic' }, ['wrong-value']],
    [{ timeout: 0 }, ['wrong-value']],
    [{ timeout: '60' }, ['wrong-type']],
    [{ redirect_port: 70_000 }, ['wrong-value']],
    [{ redirect_port: 80.5 }, ['wrong-type']],
    [{ cimd: 'no' }, ['wrong-type']],
    [{ client_id: 5 }, ['wrong-type']],
    [{ user_agent: 5 }, ['wrong-type']],
    [{ headers: { 'x-tenant': '7' } }, ['unknown-key']],
    [{ user_agents: 'x' }, ['unknown-key']],
  ];
  for (const [oauth, expected] of rows) t.same(codes(withOauth(oauth)), expected, JSON.stringify(oauth));
  t.end();
});

t.test('OAU-5 · each rule for the address of the document has its own finding', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['https://agent.test/client.json', []],
    ['https://agent.test/client?v=2', []],
    ['https://agent.test:8443/a.b/..c', []],
    ['${DOCUMENT}', []],
    ['http://agent.test/client.json', ['metadata-url-https']],
    ['agent.test/client.json', ['metadata-url-https']],
    ['https://', ['metadata-url-https']],
    ['https://agent.test/a\\..\\b', ['metadata-url-https']],
    ['https://agent.test/.\t./b', ['metadata-url-https']],
    ['https://agent.test/a b', ['metadata-url-https']],
    ['https://agent.test', ['metadata-url-path']],
    ['https://agent.test/', ['metadata-url-path']],
    ['https://agent.test//', ['metadata-url-path']],
    ['https://agent.test/?x=/y', ['metadata-url-path']],
    ['https://agent.test/c#', ['metadata-url-fragment']],
    ['https://agent.test/c#x', ['metadata-url-fragment']],
    ['https://me@agent.test/c', ['metadata-url-userinfo']],
    ['https://me:pw@agent.test/c', ['metadata-url-userinfo']],
    ['https://agent.test/./c', ['metadata-url-dots']],
    ['https://agent.test/a/../c', ['metadata-url-dots']],
    ['https://agent.test/a/%2E%2e/c', ['metadata-url-dots']],
    ['https://agent.test/c/..', ['metadata-url-dots']],
  ];
  for (const [address, expected] of rows) t.same(codes(withOauth({ client_metadata_url: address })), expected, address);
  t.end();
});

t.test('OAU-6 · a redirect goes to this computer or by https', (t) => {
  for (const address of [
    'http://localhost:4000/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:1/cb',
    'https://t.example/cb',
  ])
    t.same(codes(withOauth({ redirect_uri: address })), [], address);
  for (const address of ['http://t.example/cb', 'nonsense', 'myapp://cb', 'http://localhost.evil.example/cb'])
    t.same(codes(withOauth({ redirect_uri: address })), ['redirect-uri'], address);
  t.end();
});
