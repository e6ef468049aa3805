import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { keysOfTheHome, variablesOfTheHome } from '../../../machines/config/profile-keys.ts';

const found = (written: JsonObject): readonly string[] => keysOfTheHome(written).map((path) => path.join('.'));

t.test('PRF-2 · names each key of a profile that counts in the home alone, and no other', (t) => {
  const listener = ['host', 'port', 'rate_limit', 'max_body_bytes', 'max_unverified_bytes', 'script_concurrency'];
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{}, []],
    [
      { gateway: { front: 'node' }, inspector: {}, telemetry: {}, log: {} },
      ['gateway', 'inspector', 'telemetry', 'log'],
    ],
    [{ agent: { concurrency: 2, runner: 'echo' } }, ['agent.concurrency']],
    [{ agent: { runner: 'echo', timeout_seconds: 5 } }, []],
    ...listener.map((key) => [{ platforms: { webhook: { [key]: 1 } } }, [`platforms.webhook.${key}`]] as const),
    ...listener.map(
      (key) => [{ platforms: { webhook: { extra: { [key]: 1 } } } }, [`platforms.webhook.extra.${key}`]] as const,
    ),
    [{ platforms: { webhook: { secret: 's', routes: {}, enabled: true } } }, []],
    [{ platforms: { webhook: { enabled: false } } }, ['platforms.webhook.enabled']],
    [{ platforms: { webhook: null }, agent: 'x', mcp_servers: {} }, []],
  ];
  for (const [written, paths] of rows) t.same(found(written), paths, JSON.stringify(written));
  t.end();
});

t.test("PRF-2 · of the variables of a profile's .env the secret alone is its own", (t) => {
  const secrets = new Map([
    ['WEBHOOK_SECRET', 's'],
    ['WEBHOOK_PORT', ''],
    ['WEBHOOK_ENABLED', 'true'],
    ['TOOL', 'x'],
  ]);
  t.same(variablesOfTheHome(secrets), ['WEBHOOK_ENABLED', 'WEBHOOK_PORT']);
  t.same(variablesOfTheHome(new Map()), []);
  t.end();
});
