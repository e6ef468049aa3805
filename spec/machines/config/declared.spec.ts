import t from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { agentSchema } from '../../../machines/config/agent-settings.ts';
import type { Schema } from '../../../machines/config/check-schema.ts';
import { declared } from '../../../machines/config/declared.ts';
import { clientOf } from '../../../machines/config/loose-ends.ts';
import { platformSchemas } from '../../../machines/config/platform-settings.ts';
import { deliverEntry, routeSchema } from '../../../machines/config/route.ts';
import { gatewaySchema, homeSchema, inspectorSchema, logSchema } from '../../../machines/config/schema.ts';
import { serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { listenerKeys } from '../../../machines/config/webhook-settings.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { readText } from '../../support/read-config.ts';

const example = {
  type: 'object',
  properties: {
    port: { type: 'integer', minimum: 1, default: 80 },
    host: { type: 'string' },
    mode: { enum: ['a', 'b'], default: 'a' },
    inner: { type: 'object', properties: { on: { type: 'boolean', default: true } }, default: {} },
    pair: { type: 'object', required: ['key'], properties: { key: { type: 'string' }, wait: { default: 1 } } },
  },
} as const;

t.test('CFG-7 · a key is what is written, else its default; a value of the wrong type counts as absent', (t) => {
  const defaults = { port: 80, mode: 'a', inner: { on: true } };
  const rows: readonly (readonly [JsonObject, object])[] = [
    [{}, {}],
    [
      { port: 1, host: 'h', mode: 'b' },
      { port: 1, host: 'h', mode: 'b' },
    ],
    [{ port: -1 }, { port: -1 }],
    [{ port: '1', host: 5, mode: 'c', inner: [], other: 1 }, {}],
    [{ port: null, inner: null, host: null }, {}],
    [{ inner: { on: false, off: 1 } }, { inner: { on: false } }],
    [{ inner: { on: 'no' } }, {}],
    [{ pair: { key: 'k' } }, { pair: { key: 'k', wait: 1 } }],
    [{ pair: { wait: 2 } }, {}],
    [JSON.parse('{"__proto__": {"host": "h"}, "constructor": 1}') as JsonObject, {}],
  ];
  for (const [written, expected] of rows) {
    t.strictSame(declared(example, written), { ...defaults, ...expected }, JSON.stringify(written));
  }
  t.equal(declared(example.properties.pair, { wait: 2 }), undefined, 'a required key is missing');
  t.end();
});

/** Every schema below one, with its path; `isFilled`: whether `declared` reaches it from the mapping that holds it. */
function* below(
  schema: Schema,
  path = '',
  isFilled = true,
): Generator<{ path: string; schema: Schema; isFilled: boolean }> {
  yield { path, schema, isFilled };
  const { properties = {}, items, anyOf = [], additionalProperties } = schema;
  for (const [key, one] of Object.entries(properties)) yield* below(one, `${path}.${key}`, isFilled);
  // These three are read by their own schemas.
  for (const one of [...(items === undefined ? [] : [items]), ...anyOf]) yield* below(one, path, one === deliverEntry);
  const isOwn = additionalProperties === serverEntrySchema || additionalProperties === routeSchema;
  if (typeof additionalProperties === 'object') yield* below(additionalProperties, `${path}.*`, isOwn);
}

t.test('CFG-7 · CFG-4 · every key of the schema has a description', (t) => {
  let keys = 0;
  for (const { path, schema } of below(homeSchema as Schema)) {
    for (const [key, { description = '' }] of Object.entries(schema.properties ?? {})) {
      keys += 1;
      t.match(description, /\S/, `${path}.${key}`);
    }
  }
  t.ok(keys > 300, `${keys} keys`);
  t.end();
});

t.test('CFG-7 · a default is declared only where it is filled in, and is a value of its key', (t) => {
  for (const { path, schema, isFilled } of below(homeSchema as Schema)) {
    if (schema.default === undefined) continue;
    t.ok(isFilled, path);
    const whole: Schema = { type: 'object', properties: { it: schema } };
    t.strictSame(declared(whole, { it: schema.default }), declared(whole, {}), path);
  }
  t.end();
});

/** Every default of a mapping, as a person would write them. */
function written(schema: object, without: readonly string[] = []): JsonObject {
  const { properties = {} } = schema as Schema;
  return Object.fromEntries(
    Object.entries(properties).flatMap(([key, one]): (readonly [string, Json])[] => {
      if (one.default === undefined || without.includes(key)) return [];
      return [[key, one.properties === undefined ? one.default : written(one)]];
    }),
  );
}

t.test(
  'CFG-7 · ADP-1 · CFG-1 · CON-3 · a file that writes every default is read like one that leaves them out',
  (t) => {
    const model = { provider: 'anthropic', base_url: 'https://api.example', name: 'm' };
    const search = { base_url: 'https://search.example' };
    const targets = Object.keys(platformSchemas).filter((name) => !('deprecated' in (platformSchemas[name] ?? {})));
    const stdioOnly = ['args', 'env', 'idle_timeout_seconds', 'max_lifetime_seconds'];
    // These two reach their target as they are written.
    const ofTarget = ['command', 'require_tls'];
    const httpOnly = ['headers', 'cross_origin_redirects', 'ssl_verify', 'skip_preflight', 'oauth'];
    const file = (given: typeof written) => ({
      mcp_servers: {
        local: { command: 'x', ...given(serverEntrySchema, httpOnly) },
        remote: { url: 'https://mcp.example/mcp', auth: 'oauth', ...given(serverEntrySchema, stdioOnly) },
      },
      platforms: {
        webhook: {
          ...given({ properties: listenerKeys }),
          ...given((homeSchema.properties.platforms.properties as Readonly<Record<string, object>>).webhook ?? {}),
          secret: 'long-enough-secret',
          routes: {
            plain: { ...given(routeSchema) },
            gathers: { coalesce: { key: 'id', ...given(routeSchema.properties.coalesce) } },
            signed: { signature: { header: 'X-Sig', part: 'v1', ...given(routeSchema.properties.signature) } },
          },
        },
        ...Object.fromEntries(targets.map((name) => [name, given(platformSchemas[name] ?? {}, ofTarget)])),
      },
      agent: {
        ...given(agentSchema),
        model: { ...model, ...given(agentSchema.properties.model) },
        web_search: { ...search, ...given(agentSchema.properties.web_search) },
      },
      gateway: given(gatewaySchema),
      inspector: given(inspectorSchema),
      log: given(logSchema),
    });
    const short = readText(JSON.stringify(file(() => ({}))));
    const long = readText(JSON.stringify(file(written)));
    t.same([short.diagnostics, long.diagnostics], [[], []]);
    t.strictSame(long.settings, short.settings);
    t.strictSame(long.settings.servers.map(readServerSettings), short.settings.servers.map(readServerSettings));
    t.match(long.settings, {
      webhook: { port: listenerKeys.port.default, rateLimit: listenerKeys.rate_limit.default },
      inspector: { port: inspectorSchema.properties.port.default },
      agent: { timeoutMs: agentSchema.properties.timeout_seconds.default * 1_000 },
    });
    const { github_comment: github } = platformSchemas as Readonly<Record<string, Schema>>;
    t.equal(clientOf(undefined), github?.properties?.command?.default, 'a target without an entry');
    t.end();
  },
);
