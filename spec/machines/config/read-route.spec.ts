import t from 'tap';
import { filterChecker } from '../../../actors/config/load-config.ts';
import { defined, type JsonObject } from '../../../machines/base/json.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { type RouteRead, readRoute } from '../../../machines/config/read-route.ts';
import { fc } from '../../support/property.ts';
import { readText } from '../../support/read-config.ts';

const checkFilters = filterChecker('/home/of/nobody');

const read = (written: JsonObject, unread: readonly string[] = []): RouteRead =>
  readRoute('r', written, {
    source: 'static',
    profile: defaultProfile,
    host: '0.0.0.0',
    checkFilters,
    unread: new Set(unread),
  });
const codes = (found: RouteRead): string[] => (found.ok ? [] : found.findings.map(({ code }) => code));
const secret = 'long-enough-secret';

t.test('COA-1 · a key in whose braces there is no token would group everything, and is a finding', (t) => {
  const rows: readonly (readonly [key: string, fits: boolean])[] = [
    ['pull_request.id', true],
    ['pull-request.id', true],
    ['{pull_request.id}', true],
    ['{repo.name}/{number}', true],
    ['{event_type}', true],
    ['{{number}}', true],
    ['{pull-request.id}', false],
    ['{number}-{pull-request.id}', false],
    ['{}', false],
    ['{ number }', false],
    ['{', false],
    ['a{b', false],
  ];
  for (const [key, fits] of rows) t.same(codes(read({ secret, coalesce: { key } })), fits ? [] : ['coalesce-key'], key);
  t.end();
});

t.test(
  'TPL-1 · SUB-3 · an empty prompt is none, as in the subscriptions of Hermes Agent, but of a job without context',
  (t) => {
    const promptOf = (written: JsonObject) => {
      const found = read({ secret, ...written });
      return found.ok ? found.value.route.prompt : found;
    };
    t.equal(promptOf({ prompt: '' }), undefined);
    t.equal(promptOf({ prompt: '', deliver: 'telegram', deliver_only: true }), undefined);
    t.equal(promptOf({ prompt: ' ' }), ' ');
    t.equal(promptOf({ prompt: '', cron_job: 'nightly' }), '');
    t.end();
  },
);

t.test('SIG-2 · a secret that a header may not carry whole is warned of, and used', (t) => {
  const rows: readonly (readonly [secret: string, safe: boolean])[] = [
    [secret, true],
    ['with space inside', true],
    ['ein-langes-geheimnisß', false],
    ['ein-langes-geheißmnis', false],
    [' led-by-one-space', false],
    ['trailed-by-one-space ', false],
    ['held-by-a-tab\tbed', false],
  ];
  for (const [given, safe] of rows) {
    const found = read({ secret: given });
    t.same(found.ok && found.warnings.map(({ code }) => code), safe ? [] : ['secret-not-header-safe'], given);
  }
  t.end();
});

t.test('SEC-6 · SIG-5 · a weak secret is refused outside loopback, and a warning where that is allowed', (t) => {
  const cases: readonly (readonly [host: string, allowed: boolean, given: string, found: string])[] = [
    ['0.0.0.0', false, 'fifteen-letters', 'refused: has 15 characters, fewer than 16'],
    ['0.0.0.0', false, 'sixteen-letters!', ''],
    ['192.0.2.7', false, 'x', 'refused: has 1 character, fewer than 16'],
    ['::', false, 'Webhook-Secret-2026', 'refused: is a word that everybody tries first'],
    ['0.0.0.0', false, 'deploys-of-the-shop', 'refused: is the name of its route'],
    ['0.0.0.0', true, 'fifteen-letters', 'warning: has 15 characters, fewer than 16'],
    ['0.0.0.0', true, 'sixteen-letters!', ''],
    ['127.0.0.1', false, 'x', ''],
    ['localhost', false, 'x', ''],
    ['::1', false, 'deploys-of-the-shop', ''],
  ];
  for (const [host, allowWeakSecrets, given, expected] of cases) {
    const name = 'Deploys-of-the-shop';
    const context = { source: 'static', profile: defaultProfile, host, allowWeakSecrets, checkFilters } as const;
    const found = readRoute(name, { secret: given }, context);
    const told = found.ok ? found.warnings : found.findings;
    const [why = ''] = told.map(({ message, code, path }) => {
      t.same([code, path], ['secret-weak', ['secret']]);
      return /has a secret that (.*), while the adapter binds/.exec(message)?.[1] ?? message;
    });
    t.equal(why === '' ? '' : `${found.ok ? 'warning' : 'refused'}: ${why}`, expected, `${host} ${given}`);
    if (given.length > 5) t.notMatch(told.map(({ message }) => message).join(), given, 'the secret is not quoted');
  }
  t.end();
});

t.test('SRC-1 · SRC-2 · a public key is the secret of what verifies by it alone, and well formed', (t) => {
  const key = `whpk_${Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString('base64')}`;
  const declared = { header: 'X-Sig', signed: '{body}' };
  const byEd25519 = { ...declared, algorithm: 'ed25519', encoding: 'base64' };
  const byEcdsa = { ...byEd25519, algorithm: 'ecdsa-sha256' };
  for (const [written, found] of [
    [{ source: 'standard-webhooks', secret: key }, ''],
    [{ source: 'svix', secret: [key, 'whsec_b2xkIHNlY3JldA=='] }, ''],
    [{ signature: byEd25519, secret: key }, ''],
    [{ signature: byEd25519, secret: key.slice(5) }, ''],
    [{ signature: byEd25519, secret: `MCowBQYDK2VwAyEA${key.slice(5)}` }, ''],
    [{ signature: byEd25519, secret: 'a-secret-of-another-kind' }, 'has a secret that is no public key of its sender'],
    [{ signature: byEcdsa, secret: key }, 'has a public key as its secret'],
    [
      {
        signature: byEcdsa,
        secret: 'MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgAC2o6Cs_RjoBoqdaTN9shTWDhhrsVQ2NeO5LFF8eMSlwk=',
      },
      '',
    ],
    [
      {
        signature: byEcdsa,
        secret: '9c1185a5c5e9fc54612808977ee8f548b2258d31b4b5c3a5a6d1c9e8f7b0a1d2',
      },
      'has a secret that is no public',
    ],
    [{ source: 'standard-webhooks', secret: key.slice(0, -4) }, 'has a malformed public key as its secret'],
    [{ source: 'standard-webhooks', secret: `${key}A` }, 'has a malformed public key as its secret'],
    [{ source: 'standard-webhooks', secret: `whsk_${key.slice(5)}` }, 'has the private key of its sender'],
    [{ source: 'gitlab', secret: key }, 'has a public key as its secret, by which anybody could sign'],
    [{ source: 'github', secret: key }, 'has a public key as its secret, by which anybody could sign'],
    [{ signature: declared, secret: key }, 'has a public key as its secret, by which anybody could sign'],
    [{ secret: key }, 'has a public key as its secret, by which anybody could sign'],
  ] as const) {
    const got = read(written as JsonObject);
    t.match(got, found === '' ? { ok: true } : { findings: [{ code: 'secret-strange', message: found }] }, found);
    t.notMatch(JSON.stringify(got.ok || got.findings), key.slice(5, 20), 'the key is in no finding');
  }
  t.end();
});

t.test('SRC-1 · a secret of an unusual form is warned of and used, since a provider may change that form', (t) => {
  const shared = (source: string, secret: string) => {
    const found = read({ source, secret, events: ['x'] });
    return found.ok ? found.warnings.map(({ code }) => code) : ['refused'];
  };
  // https://shopify.dev/changelog/app-secret-key-length-has-increased
  t.same(shared('shopify', `shpss_${'0a1b2c3d'.repeat(4)}`), []);
  t.same(shared('mailgun', `key-${'0a1b2c3d'.repeat(4)}`), []);
  t.same(shared('shopify', `shpat_${'0a1b2c3d'.repeat(4)}`), ['secret-strange']);
  t.same(shared('slack', 'a-signing-secret-of-tomorrow'), ['secret-strange']);
  t.same(shared('discord', 'no-public-key-of-any-form'), ['refused'], 'nothing could be verified by it');
  t.end();
});

t.test('SRC-1 · SRC-2 · signature stands beside a source only to name the headers that its owner chose', (t) => {
  const named = { header: 'X-Ours', timestamp: { header: 'X-Time' } };
  const grafana = (signature: object) => read({ source: 'grafana', secret, signature } as JsonObject);
  const timestamp = { at: { header: 'X-Time' }, unit: 's', toleranceSeconds: 300 };
  t.match(grafana(named), { ok: true, value: { route: { signature: { signed: '{timestamp}:{body}', timestamp } } } });
  t.match(grafana({ header: 'X-Ours' }), {
    ok: true,
    value: {
      route: { sender: 'grafana', signature: { at: { header: 'X-Ours' }, signed: '{body}', timestamp: undefined } },
    },
  });
  for (const [more, key] of [
    [{ prefix: 'x' }, 'prefix'],
    [{ timestamp: { header: 'X-Time', unit: 'ms' } }, 'timestamp.unit'],
    [{ timestamp: { part: 't' } }, 'timestamp.part'],
    [{ signed: '{body}' }, 'signed'],
  ] as const)
    t.match(grafana({ ...named, ...more }), { findings: [{ code: 'signature-with-source', message: key }] });
  t.same(codes(read({ source: 'github', secret, signature: { header: 'X-Ours' } })), ['signature-with-source']);
  t.end();
});

t.test('SRC-2 · a signature is in one place: a header, or for a token the address', (t) => {
  const at = (signature: JsonObject) => {
    const found = read({ secret, signature });
    return found.ok ? found.value.route.signature?.at : codes(found);
  };
  t.same(at({ header: 'X-Token', algorithm: 'token' }), { header: 'X-Token' });
  t.same(at({ query: 'token', algorithm: 'token' }), { query: 'token' });
  t.same(at({ query: 'token' }), ['signature-scheme'], 'no signature is in an address');
  t.same(at({ query: 'token', header: 'X-Token', algorithm: 'token' }), ['place-malformed']);
  t.same(at({ algorithm: 'token' }), ['place-malformed']);
  t.same(codes(read({ source: 'grafana', secret, signature: { timestamp: { header: 'X-Time' } } })), [
    'place-malformed',
  ]);
  t.end();
});

t.test('DLV-6 · on says which steps of a run are reported to http; without it both ends are', (t) => {
  const http = { secret, deliver: 'http', deliver_extra: { note: 'x' } };
  const rows: readonly (readonly [JsonObject, object])[] = [
    [http, { deliver: 'http', on: ['finished', 'failed'] }],
    [
      { ...http, on: ['failed', 'accepted'] },
      { deliver: 'http', on: ['failed', 'accepted'] },
    ],
    [
      { ...http, on_failure: 'email' },
      { deliver: 'http', on: ['finished'], onFailure: 'email' },
    ],
    [
      { ...http, on: ['failed'], on_failure: 'email' },
      { deliver: 'http', on: ['failed'], onFailure: 'email' },
    ],
    [{ ...http, deliver_only: true }, { deliver: 'http' }],
    [{ ...http, cron_job: 'nightly' }, { deliver: 'http' }],
  ];
  for (const [written, expected] of rows) {
    const found = read(written);
    const label = JSON.stringify(written);
    t.ok(found.ok, label);
    if (!found.ok) continue;
    const { deliver, on, onFailure } = found.value.route;
    t.same(defined({ deliver, on, onFailure }), expected, label);
  }
  t.same(codes(read({ secret, deliver: 'slack', on: ['failed'] })), ['on-needs-http']);
  t.same(codes(read({ ...http, on: ['failed'], on_failure: 'http' })), ['on-with-on-failure']);
  t.same(codes(read({ ...http, on: ['failed'], deliver_only: true })), ['on-unused']);
  t.same(codes(read({ ...http, on: ['failed'], cron_job: 'nightly' })), ['on-unused']);
  t.same(codes(read({ ...http, on: 5 }, ['on'])), []);
  t.end();
});

t.test('DLV-6 · DLV-7 · each http entry of a list has an on of its own, and the defaults of the single form', (t) => {
  const http = { to: 'http', when: [{ field: 'a', exists: true }] };
  const listed = (entry: JsonObject, more: JsonObject = {}) =>
    read({ secret, deliver: [{ to: 'slack' }, entry], ...more });
  const rows: readonly (readonly [entry: JsonObject, more: JsonObject, on: readonly string[] | undefined])[] = [
    [http, {}, ['finished', 'failed']],
    [http, { on_failure: 'slack' }, ['finished']],
    [{ ...http, on: ['accepted', 'failed'] }, { on_failure: 'slack' }, ['accepted', 'failed']],
    [http, { deliver_only: true }, undefined],
  ];
  for (const [entry, more, on] of rows) {
    const found = listed(entry, more);
    t.ok(found.ok);
    if (!found.ok) continue;
    const { deliverTo = [], on: ofRoute } = found.value.route;
    t.same([deliverTo[0]?.on, deliverTo[1]?.on, ofRoute], [undefined, on, undefined], JSON.stringify([entry, more]));
  }
  const problems = (entry: JsonObject, more: JsonObject = {}) => {
    const found = listed(entry, more);
    return found.ok ? [] : found.findings.map(({ path, code }) => [path.join('.'), code]);
  };
  t.same(problems({ to: 'log', on: ['failed'] }), [['deliver.1.on', 'on-needs-http']]);
  t.same(problems(http, { on: ['failed'] }), [['on', 'on-needs-http']]);
  t.same(problems({ ...http, on: ['failed'] }, { deliver_only: true }), [['deliver.1.on', 'on-unused']]);
  t.same(problems({ ...http, on: ['failed'] }, { on_failure: 'http' }), [['deliver.1.on', 'on-with-on-failure']]);
  t.end();
});

t.test('CFG-2 · what the schema has refused is not judged twice, and hides nothing else', (t) => {
  t.same(codes(read({ deliver: 5, deliver_only: true, secret }, ['deliver'])), []);
  t.same(codes(read({ secret: 5 }, ['secret'])), []);
  t.same(codes(read({ profile: 5, deliver: 'fax', secret }, ['profile'])), ['deliver-unknown']);
  t.same(codes(read({ filters: 'x', secret: '' }, ['filters'])), ['route-secret-empty']);
  t.end();
});

t.test('CFG-2 · another mistake in a route, or beside it, takes no finding away', (t) => {
  // JSON is YAML, and this is all on one line.
  const findings = (file: JsonObject): string[] =>
    readText(JSON.stringify(file)).diagnostics.map(({ code, message }) => `${code}: ${message}`);
  const mistakes: JsonObject = {
    secret: '',
    deliver: 'fax',
    profile: 'No Name',
    filters: [{ field: 'a' }, { field: 'a', regex: '(' }],
    coalesce: { key: '{a-b}' },
    toolsets: 'x',
    concurrency: -1,
    promt: 'x',
  };
  const drawn = fc.subarray(Object.keys(mistakes));
  const fileOf = (keys: readonly string[], top: JsonObject): JsonObject => ({
    ...top,
    platforms: {
      webhook: {
        secret,
        extra: { routes: { r: Object.fromEntries(keys.map((key) => [key, mistakes[key] ?? null])) } },
      },
    },
  });
  fc.assert(
    fc.property(drawn, drawn, fc.boolean(), (some, more, beside) => {
      const fewer = findings(fileOf(some, {}));
      const all = findings(fileOf([...new Set([...some, ...more])], beside ? { gatway: {} } : {}));
      return fewer.every((one) => all.includes(one)) && all.length >= new Set([...some, ...more]).size;
    }),
  );
  t.end();
});
