import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { isSecret, takeSecrets, variableName } from '../../../machines/mcp/secret-places.ts';
import { fc } from '../../support/property.ts';

const named = (wanted: string): string => wanted;

t.test('CLI-5 · secrets are found where they stand, and replaced by references', (t) => {
  const rows: readonly (readonly [JsonObject, JsonObject, Readonly<Record<string, string>>])[] = [
    [
      { env: { GITHUB_TOKEN: 'abc', LOG: 'info' } },
      { env: { GITHUB_TOKEN: '${GITHUB_TOKEN}', LOG: 'info' } },
      { GITHUB_TOKEN: 'abc' },
    ],
    [
      { env: { apiKey: 'abc', 'odd name key': 'x' } },
      { env: { apiKey: '${apiKey}', 'odd name key': '${MY_SRV_ODD_NAME_KEY}' } },
      { apiKey: 'abc', MY_SRV_ODD_NAME_KEY: 'x' },
    ],
    [{ env: { URL: 'ghp_abcdefgh1234' } }, { env: { URL: '${URL}' } }, { URL: 'ghp_abcdefgh1234' }],
    [
      { env: { MONKEY: 'george', KEYBOARD: 'de', PATH: '/bin', AUTHOR: 'ada' } },
      { env: { MONKEY: 'george', KEYBOARD: 'de', PATH: '/bin', AUTHOR: 'ada' } },
      {},
    ],
    [{ env: { TOKEN: '${OTHER}', SECRET: '' } }, { env: { TOKEN: '${OTHER}', SECRET: '' } }, {}],
    [
      { headers: { Authorization: 'Bearer abc', 'X-Region': 'eu' } },
      { headers: { Authorization: 'Bearer ${MY_SRV_TOKEN}', 'X-Region': 'eu' } },
      { MY_SRV_TOKEN: 'abc' },
    ],
    [
      { headers: { 'X-API-Key': 'abc' } },
      { headers: { 'X-API-Key': '${MY_SRV_X_API_KEY}' } },
      { MY_SRV_X_API_KEY: 'abc' },
    ],
    [
      { args: ['--api-key=zzz', '--port=1', '--token', 'ttt', '--verbose', 'x'] },
      { args: ['--api-key=${MY_SRV_API_KEY}', '--port=1', '--token', '${MY_SRV_TOKEN}', '--verbose', 'x'] },
      { MY_SRV_API_KEY: 'zzz', MY_SRV_TOKEN: 'ttt' },
    ],
    [
      { args: ['--header', 'Authorization: Bearer abc'] },
      { args: ['--header', 'Authorization: Bearer ${MY_SRV_TOKEN}'] },
      { MY_SRV_TOKEN: 'abc' },
    ],
    [
      { args: ['-e', 'API_KEY=abc', 'sk-abcdefgh'] },
      { args: ['-e', 'API_KEY=${MY_SRV_API_KEY}', '${MY_SRV_SECRET}'] },
      { MY_SRV_API_KEY: 'abc', MY_SRV_SECRET: 'sk-abcdefgh' },
    ],
    [
      { args: ['postgres://u:pw@db/x', 'https://x/?a=1&token=t'] },
      { args: ['postgres://u:${MY_SRV_PASSWORD}@db/x', 'https://x/?a=1&token=${MY_SRV_TOKEN}'] },
      { MY_SRV_PASSWORD: 'pw', MY_SRV_TOKEN: 't' },
    ],
    // Zapier, Composio and others have the key in the path of the address.
    [
      { url: 'https://mcp.x/api/mcp/s/MDk4YzA4ZjktM2U4Yy00NDA5LWE1Yjkt/mcp?a=098c08f9-3e8c-4409-a5b9-000000000000' },
      { url: 'https://mcp.x/api/mcp/s/${MY_SRV_URL_KEY}/mcp?a=098c08f9-3e8c-4409-a5b9-000000000000' },
      { MY_SRV_URL_KEY: 'MDk4YzA4ZjktM2U4Yy00NDA5LWE1Yjkt' },
    ],
    [
      { args: ['mcp-remote', 'https://x/098c08f9-3e8c-4409-a5b9-000000000000/sse'] },
      { args: ['mcp-remote', 'https://x/${MY_SRV_URL_KEY}/sse'] },
      { MY_SRV_URL_KEY: '098c08f9-3e8c-4409-a5b9-000000000000' },
    ],
    [
      { url: 'https://a-long-name-of-a-server-2.example/a-long-word-of-a-path-in-version-2/Bedrock' },
      { url: 'https://a-long-name-of-a-server-2.example/a-long-word-of-a-path-in-version-2/Bedrock' },
      {},
    ],
    [
      { env: { ALERTS: 'https://hooks.slack.com/services/T0/B0/abc', DOCS: 'https://slack.com/services' } },
      { env: { ALERTS: '${ALERTS}', DOCS: 'https://slack.com/services' } },
      { ALERTS: 'https://hooks.slack.com/services/T0/B0/abc' },
    ],
    [{ url: 'https://x/?api_key=q&b=1' }, { url: 'https://x/?api_key=${MY_SRV_API_KEY}&b=1' }, { MY_SRV_API_KEY: 'q' }],
    [
      { auth: 'oauth', oauth: { client_id: 'c', client_secret: 's' } },
      { auth: 'oauth', oauth: { client_id: 'c', client_secret: '${MY_SRV_CLIENT_SECRET}' } },
      { MY_SRV_CLIENT_SECRET: 's' },
    ],
    [
      { headers: { Authorization: 'basic abc', 'X-Token': 'Token t', 'X-Auth': 'Bot b', Cookie: 'no Bearer c' } },
      {
        headers: {
          Authorization: 'basic ${MY_SRV_TOKEN}',
          'X-Token': 'Token ${MY_SRV_TOKEN}',
          'X-Auth': 'Bot ${MY_SRV_TOKEN}',
          Cookie: '${MY_SRV_COOKIE}',
        },
      },
      { MY_SRV_TOKEN: 'b', MY_SRV_COOKIE: 'no Bearer c' },
    ],
    // A flag has a value only in the next argument, and only if that is a text and no flag.
    [
      { args: ['--token', 5, '--token', '--verbose', 'my token: abc', 'HTTPS://u:pw@h/'] },
      { args: ['--token', 5, '--token', '--verbose', 'my token: abc', 'HTTPS://u:${MY_SRV_PASSWORD}@h/'] },
      { MY_SRV_PASSWORD: 'pw' },
    ],
    [
      { url: 'https://u:${PW}@h/${PLACE}?token=abc&ws=${TOKEN}' },
      { url: 'https://u:${PW}@h/${PLACE}?token=${MY_SRV_TOKEN}&ws=${TOKEN}' },
      { MY_SRV_TOKEN: 'abc' },
    ],
    [{ url: 'https://${USER}:pw@h/' }, { url: 'https://${USER}:pw@h/' }, {}],
    [{ env: { TOKEN: ' ' } }, { env: { TOKEN: ' ' } }, {}],
    [{ command: 'x', args: [1, true], timeout: 3 }, { command: 'x', args: [1, true], timeout: 3 }, {}],
  ];
  for (const [entry, expected, secrets] of rows) {
    const taken = takeSecrets('my-srv', entry, named);
    t.same(taken.entry, expected);
    t.same(Object.fromEntries(taken.secrets.map(({ variable, value }) => [variable, value])), secrets);
  }
  t.end();
});

t.test('CLI-5 · a name shows a secret by a word of its own, or by its end', (t) => {
  const words =
    'token tokens secret secrets pass password passwd passphrase pwd pat key keys credential credentials auth authorization bearer cookie dsn jwt';
  for (const word of words.split(' ')) {
    for (const name of [word, `${word}_1`, `X-${word.toUpperCase()}-OLD`]) t.ok(isSecret(name, 'x'), name);
  }
  for (const end of 'token secret password passwd apikey accesskey privatekey authorization'.split(' '))
    t.ok(isSecret(`my${end}`, 'x'), end);
  for (const name of ['dbPwd', 'HTTPAuth']) t.ok(isSecret(name, 'x'), name);
  for (const name of ['tokenizer', 'secretary', 'passenger', 'keyword', 'compat', 'LOG'])
    t.notOk(isSecret(name, 'x'), name);
  t.equal(variableName('9-lives'), 'MCP_9_LIVES', 'a variable begins with a letter');
  t.end();
});

t.test('CLI-5 · put back, the variables give the entry that it was', (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('--token', '--api-key=a', 'Bearer x', 'https://u:p@h/?key=v', 'TOKEN=${X}'),
  );
  const map = fc.dictionary(fc.constantFrom('TOKEN', 'Authorization', 'X-Key', 'LOG', 'a b'), text);
  fc.assert(
    fc.property(fc.record({ env: map, headers: map, args: fc.array(text), url: text }), (entry) => {
      let number = 0;
      const fresh = (): string => `V${++number}`;
      const { entry: taken, secrets } = takeSecrets('s', entry, fresh);
      const values = new Map(secrets.map(({ variable, value }) => [`\${${variable}}`, value]));
      const back = JSON.parse(JSON.stringify(taken), (_, value) =>
        typeof value === 'string' ? value.replace(/\$\{V\d+\}/g, (found) => values.get(found) ?? found) : value,
      );
      t.same(back, JSON.parse(JSON.stringify(entry)));
    }),
  );
  t.end();
});
