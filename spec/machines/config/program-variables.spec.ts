import t from 'tap';
import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import { asArgument, isBasicVariable, variablesOfProgram } from '../../../machines/config/program-variables.ts';
import { homeSchema } from '../../../machines/config/schema.ts';
import { fc } from '../../support/property.ts';

const scope = {
  secrets: new Map(
    ['OWN', 'REFERRED', 'WEBHOOK_SECRET', 'AGENT_HOME', 'PATH'].map((name) => [name, `${name} of .env`]),
  ),
  env: { OF_PROCESS: 'of process', OWN: 'of process' },
  userHome: '/home/me',
  pathSeparator: '/',
};

/** Every place of the schema that holds a value, in lists and under names that the user chooses too. */
function* placesIn(schema: Json, path: readonly string[]): Generator<readonly string[]> {
  if (!isJsonObject(schema)) return;
  const { properties, additionalProperties, items, anyOf, oneOf, allOf } = schema;
  const below: readonly (readonly [readonly string[], Json])[] = [
    ...Object.entries(isJsonObject(properties) ? properties : {}).map(([key, held]) => [[key], held] as const),
    ...(isJsonObject(additionalProperties) ? [[['x'], additionalProperties] as const] : []),
    ...(isJsonObject(items) ? [[['0'], items] as const] : []),
    ...[anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list.map((held) => [[], held] as const) : [])),
  ];
  if (below.length === 0) yield path;
  for (const [keys, held] of below) yield* placesIn(held, [...path, ...keys]);
}

t.test('SEC-4 · CON-3 · a program has what nothing else refers to, or what agent.env names', (t) => {
  const referring: readonly JsonObject[] = [
    { platforms: { telegram: { token: '${REFERRED}' } } },
    { platforms: { telegram: { enabled: false, token: 'Bearer ${env:REFERRED}' } } },
    { platforms: { webhook: { secret: '${REFERRED}' } } },
    { platforms: { webhook: { extra: { secret: '${REFERRED}' } } } },
    { platforms: { webhook: { routes: { a: {}, b: { secret: '${REFERRED}' } } } } },
    { platforms: { webhook: { extra: { routes: { b: { secret: '${REFERRED}' } } } } } },
    { mcp_servers: { one: { env: { KEY: '${REFERRED}' } } } },
    { mcp_servers: { one: { enabled: false, headers: { Authorization: 'Bearer ${REFERRED}' } } } },
    { mcp_servers: { one: { args: ['--key', ['${REFERRED}']] } } },
    { telemetry: { otlp_endpoint: 'https://${REFERRED}@host' } },
    { agent: { model: { api_key: '${REFERRED}' } } },
    { agent: { web_search: { api_key: '${REFERRED}' } } },
  ];
  for (const written of referring)
    t.same(Object.keys(variablesOfProgram(written, scope)), ['OWN', 'PATH'], JSON.stringify(written));

  const places = [...placesIn(homeSchema, [])];
  const isFree = (path: readonly string[]): boolean =>
    /^(workspace|agent command\b.*|agent cwd|platforms webhook (extra )?routes x (?!secret\b|verify_token$).*)$/.test(
      path.join(' '),
    );
  for (const path of places) {
    const written = path.reduceRight<Json>((held, key) => ({ [key]: held }), 'x ${REFERRED}') as JsonObject;
    const isLent = Object.hasOwn(variablesOfProgram(written, scope), 'REFERRED');
    t.equal(isLent, isFree(path), path.join('.'));
  }
  t.ok(places.length > 100 && places.some(isFree), `${places.length} places`);

  const free: readonly JsonObject[] = [
    {},
    { agent: { command: ['a', '--key=${REFERRED}'] } },
    { workspace: '${REFERRED}' },
    { platforms: { webhook: { routes: { a: { prompt: '${REFERRED}' } } } } },
    { mcp_servers: { one: { url: '$REFERRED' } } },
    { platforms: [], mcp_servers: 'x', agent: { env: 'OWN' } },
  ];
  for (const written of free.slice(0, 5))
    t.same(Object.keys(variablesOfProgram(written, scope)), ['OWN', 'REFERRED', 'PATH'], JSON.stringify(written));
  t.same(Object.keys(variablesOfProgram(free[5] ?? {}, scope)), ['PATH'], 'a list that cannot be read lends nothing');

  const named = (env: readonly string[]) =>
    variablesOfProgram({ agent: { env }, mcp_servers: { one: { env: { KEY: '${REFERRED}' } } } }, scope);
  t.same(named([]), { PATH: 'PATH of .env' });
  t.same(named(['OWN', 'REFERRED', 'OF_PROCESS', 'UNSET', 'constructor']), {
    PATH: 'PATH of .env',
    OWN: 'OWN of .env',
    REFERRED: 'REFERRED of .env',
    OF_PROCESS: 'of process',
  });
  t.end();
});

t.test('LIF-10 · SEC-4 · a child gets the way to the network, and no login of a proxy', (t) => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['HTTPS_PROXY', 'http://proxy.example:3128', true],
    ['http_proxy', 'http://me:secret@proxy.example:3128', false],
    ['no_proxy', 'localhost,.example', true],
    ['NODE_EXTRA_CA_CERTS', '/etc/ca.pem', true],
    ['SSL_CERT_FILE', '/home/me@example.com/ca.pem', true],
    ['REQUESTS_CA_BUNDLE', '/etc/ca.pem', true],
    ['LC_ALL', 'C', true],
    ['NODE_OPTIONS', '--require /tmp/x', false],
    ['MY_PROXY', 'http://proxy.example', false],
  ];
  for (const [name, value, isGiven] of rows) t.equal(isBasicVariable(name, value), isGiven, `${name}=${value}`);
  t.end();
});

t.test('SEC-4 · a value that a sender chose is no option, no path and no syntax of a shell', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['', ''],
    ['72d3162e-cc78-11e3-81ab-4c9367dc0958', '72d3162e-cc78-11e3-81ab-4c9367dc0958'],
    ['msg_2Lh:9~a.b=+@,c', 'msg_2Lh:9~a.b=+@,c'],
    ['--yes', '%2D-yes'],
    ['-', '%2D'],
    ['a b\tc\nd', 'a%20b%09c%0Ad'],
    ['../x', '..%2Fx'],
    ['%2D', '%252D'],
    ['$(id);`id`&\'"*?#!', '%24%28id%29%3B%60id%60%26%27%22%2A%3F%23%21'],
    ['ü\u00a0\u2028', '%C3%BC%C2%A0%E2%80%A8'],
    ['\ud800', '%EF%BF%BD'],
  ];
  for (const [value, word] of rows) t.equal(asArgument(value), word, word);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (value) => {
      const word = asArgument(value);
      return decodeURIComponent(word) === value.toWellFormed() && /^(?!-)[\w.~:=+@,%-]*$/.test(word);
    }),
  );
  t.end();
});
