import { readFileSync, rmSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import { type Source, sourceNames, sourceOf } from '../../../machines/config/sources.ts';
import type { Refusal } from '../../../runtime/control/contract/refusal.ts';
import {
  askedRouteOf,
  listRoutes,
  profileOf,
  readRoutedHome,
  type SubscriptionRequest,
  showRoute,
  subscribe,
  unsubscribe,
} from '../../../runtime/control/home-view.ts';
import { makeHome } from '../../support/home.ts';

const work = 'work' as ProfileName;
const shared = 'a-secret-of-the-home';
const config = `
gateway: { multiplex_profiles: true }
platforms:
  webhook:
    enabled: true
    extra:
      host: 0.0.0.0
      port: 9000
      secret: ${shared}
      routes:
        both: { events: [push], description: Of the file }
        off: { enabled: false }
        theirs: { profile: work, deliver: telegram }
        a b: {}
`;
const dynamic = (more: JsonObject = {}): JsonObject => ({ secret: 'a-secret-of-its-own', ...more });

function homeOf(t: Test, records: JsonObject = {}, ofWork: JsonObject = {}) {
  const home = makeHome(t, {
    'config.yaml': config,
    'webhook_subscriptions.json': JSON.stringify(records),
    'profiles/work/webhook_subscriptions.json': JSON.stringify(ofWork),
    'cron/jobs.json': JSON.stringify({ jobs: [{ id: 'nightly', schedule: '@daily', prompt: 'p' }] }),
  });
  return { home, routed: () => readRoutedHome({ home: home.path, env: {} }) };
}

const codeOf = (thrown: unknown): string => (thrown as Refusal).code;
async function refusalOf(work: () => unknown): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await work();
  } catch (thrown) {
    return { code: codeOf(thrown), message: (thrown as Error).message };
  }
  return { code: 'none', message: '' };
}

t.test('CON-4 · SUB-2 · PRF-1 · the list has every route with its URL, and what cannot be used with why', (t) => {
  const { routed } = homeOf(
    t,
    { both: dynamic(), hook: dynamic({ deliver: 'slack' }), broken: 7 },
    { hook: dynamic() },
  );
  const rows = listRoutes(routed(), undefined);
  t.same(
    rows.map(({ name, url, source, profile, enabled }) => [name, url, source, profile, enabled]),
    [
      ['both', 'http://127.0.0.1:9000/webhooks/both', 'static', 'default', true],
      ['off', 'http://127.0.0.1:9000/webhooks/off', 'static', 'default', false],
      ['theirs', 'http://127.0.0.1:9000/p/work/webhooks/theirs', 'static', 'work', true],
      ['a b', 'http://127.0.0.1:9000/webhooks/a%20b', 'static', 'default', true],
      ['both', 'http://127.0.0.1:9000/webhooks/both', 'dynamic', 'default', true],
      ['hook', 'http://127.0.0.1:9000/webhooks/hook', 'dynamic', 'default', true],
      ['broken', '', undefined, undefined, undefined],
      ['hook', 'http://127.0.0.1:9000/p/work/webhooks/hook', 'dynamic', 'work', true],
    ],
  );
  t.match(rows[0], { events: ['push'], deliver: 'log', description: 'Of the file', problem: undefined });
  t.match(rows[4]?.problem, /config\.yaml has the same name/);
  t.match(rows[5], { deliver: 'slack', problem: /^delivers to "slack", which is not enabled; set platforms\.slack/ });
  t.match(rows[2], { problem: /^delivers to "telegram"/ });
  t.equal(rows[1]?.problem, undefined, 'a route that is switched off leads nowhere on purpose');
  t.type(rows[6]?.problem, 'string');
  t.notMatch(JSON.stringify(rows), /a-secret/, 'no secret is listed');
  t.match(listRoutes(routed(), 'http://real:1')[0]?.url, 'http://real:1/webhooks/both', 'the living address wins');
  t.end();
});

t.test(
  'SUB-1 · DLV-3 · what a route names and is gone later is the problem of its row, and of a new one at once',
  async (t) => {
    const { home, routed } = homeOf(t, { fired: dynamic({ cron_job: 'nightly', script: 'gone.sh' }) });
    home.write('scripts/gone.sh', 'true', 0o700);
    const standing = routed();
    const problemOf = (name: string): unknown =>
      listRoutes(standing, undefined).find((row) => row.name === name)?.problem;
    t.equal(problemOf('fired'), undefined);
    home.write('cron/jobs.json', '{"jobs": []}');
    t.match(problemOf('fired'), /^fires the cron job "nightly", which profile "default" does not have; /);
    rmSync(`${home.path}/scripts/gone.sh`);
    t.match(problemOf('fired'), /; and it runs the script "gone\.sh", which is not there/);
    t.match(showRoute(standing, { name: 'fired' }, undefined), { problem: /nightly/ });
    const made = await subscribe(
      routed(),
      { name: 'commenting', profile: defaultProfile, record: { deliver: 'github_comment' }, force: false },
      undefined,
    );
    t.match(made, { secret: /^[0-9a-f]{64}$/, problem: /without deliver_extra\.repo and deliver_extra\.pr_number/ });
  },
);

t.test('CFG-3 · a broken route of the file and a corrupt file of subscriptions are rows of their own', (t) => {
  const { home, routed } = homeOf(t);
  home.write('webhook_subscriptions.json', '{"a":');
  home.write('config.yaml', config.replace('{ enabled: false }', '{ deliver_only: true }'));
  const rows = listRoutes(routed(), undefined);
  t.match(
    rows.map(({ name }) => name),
    ['both', 'theirs', 'a b', 'webhook_subscriptions.json', /^config\.yaml:\d+$/],
  );
  t.match(rows.at(-1)?.problem, /deliver_only/);
  const names = listRoutes(readRoutedHome({ home: home.path, env: { WEBHOOK_ENABLED: 'perhaps' } }), undefined);
  t.ok(
    names.some(({ name }) => name === 'WEBHOOK_ENABLED'),
    'a variable is on no line',
  );
  t.end();
});

t.test('CLI-5 · PRF-1 · one route by its name and profile, with its definition and without its secret', async (t) => {
  const { routed } = homeOf(t, { hook: dynamic() }, { hook: dynamic(), mine: dynamic(), off: dynamic() });
  t.match(showRoute(routed(), { name: 'both' }, undefined), { source: 'static', definition: { events: ['push'] } });
  t.match(showRoute(routed(), { name: 'hook' }, undefined), { profile: 'default' }, 'the default one is meant');
  t.match(showRoute(routed(), { name: 'hook', profile: work }, undefined), { profile: 'work' });
  t.match(showRoute(routed(), { name: 'mine' }, undefined), { profile: 'work' }, 'the only one of that name');
  t.match(showRoute(routed(), { name: 'off' }, undefined), { profile: 'default', source: 'static' });
  t.notMatch(JSON.stringify(showRoute(routed(), { name: 'hook' }, undefined)), /a-secret/);
  t.match(await refusalOf(() => showRoute(routed(), { name: 'none' }, undefined)), { code: 'route-unknown' });
  t.match(await refusalOf(() => showRoute(routed(), { name: 'mine', profile: defaultProfile }, undefined)), {
    code: 'route-unknown',
    message: /of profile "default"; it is a route of profile "work"/,
  });
  const many = readRoutedHome({ home: homeOfTwo(t), env: {} });
  t.match(await refusalOf(() => showRoute(many, { name: 'x' }, undefined)), {
    code: 'route-ambiguous',
    message: /profiles one, two; name one with --profile/,
  });
});

/** A home in which two profiles, neither of them the default one, have a route of one name. */
function homeOfTwo(t: Test): string {
  const text = JSON.stringify({ x: dynamic() });
  return makeHome(t, {
    'config.yaml': config.replace('        theirs: { profile: work, deliver: telegram }\n', ''),
    'profiles/one/webhook_subscriptions.json': text,
    'profiles/two/webhook_subscriptions.json': text,
  }).path;
}

t.test('SUB-4 · any route can be tested, and its secret is lent for that', async (t) => {
  const { routed } = homeOf(t, { hook: dynamic() });
  t.match(askedRouteOf(routed(), { name: 'hook' }), { secret: { kind: 'shared', secret: 'a-secret-of-its-own' } });
  t.match(askedRouteOf(routed(), { name: 'both' }), { route: { source: 'static' }, secret: { kind: 'shared' } });
  t.equal((await refusalOf(() => askedRouteOf(routed(), { name: 'none' }))).code, 'route-unknown');
});

t.test('SUB-1 · SUB-3 · a subscription is written with a secret of its own and shown once', async (t) => {
  const { home, routed } = homeOf(t, { old: dynamic() });
  const asked = (more: Partial<SubscriptionRequest> = {}): SubscriptionRequest => ({
    name: 'new',
    profile: defaultProfile,
    record: { events: ['push'] },
    force: false,
    ...more,
  });
  const written = (name: string, profile = ''): JsonObject =>
    (JSON.parse(readFileSync(`${home.path}/${profile}webhook_subscriptions.json`, 'utf8')) as JsonObject)[
      name
    ] as JsonObject;

  const made = await subscribe(routed(), asked(), 'http://real:1');
  t.match(made, { name: 'new', url: 'http://real:1/webhooks/new', source: 'dynamic', secret: /^[0-9a-f]{64}$/ });
  t.match(written('new'), { events: ['push'], secret: String(made.secret), created_at: /^\d{4}-.*Z$/ });
  t.match(written('old'), { secret: 'a-secret-of-its-own' }, 'the others stand');
  const theirs = await subscribe(routed(), asked({ profile: work }), undefined);
  t.equal(theirs.url, 'http://127.0.0.1:9000/p/work/webhooks/new');
  t.equal(written('new', 'profiles/work/').secret, theirs.secret);
  t.not(theirs.secret, made.secret);
  await subscribe(routed(), asked({ name: 'fired', record: { cron_job: 'nightly' } }), undefined);
  const again = await subscribe(routed(), asked({ force: true, record: {} }), undefined);
  t.not(again.secret, made.secret, 'replaced, with a secret anew');
  t.same(written('new').events, undefined);
  await subscribe(routed(), asked({ force: true, record: { held: true } }), undefined);
  const kept = await subscribe(routed(), asked({ force: true, record: {} }), undefined);
  t.same([kept.held, written('new').held], ['held', true], 'a hold outlives the definition');
  const freed = await subscribe(routed(), asked({ force: true, record: { held: false } }), undefined);
  t.same([freed.held, written('new').held], [undefined, false], 'unless the new one ends it');

  const atOnce = routed();
  const both = await Promise.allSettled([1, 2].map(() => subscribe(atOnce, asked({ name: 'twice' }), undefined)));
  t.match(
    both.filter(({ status }) => status === 'rejected'),
    [{ reason: { code: 'subscription-exists' } }],
  );
  t.same(
    both.flatMap((end) => (end.status === 'fulfilled' ? [end.value.secret] : [])),
    [written('twice').secret],
    'the secret that was shown is the one in the file',
  );

  const refused: readonly (readonly [Partial<SubscriptionRequest>, string, RegExp])[] = [
    [{}, 'subscription-exists', /remove it first or pass --force/],
    [{ name: 'both' }, 'subscription-static', /takes precedence; choose another name/],
    [{ name: 'both', force: true }, 'subscription-static', /config\.yaml/],
    [{ name: 'x', record: { cron_job: 'gone' } }, 'cron-job-unknown', /"gone" does not exist in profile "default"/],
    [{ name: 'x', profile: work, record: { cron_job: 'nightly' } }, 'cron-job-unknown', /in profile "work"/],
    [{ name: 'x', record: { deliver_only: true } }, 'deliver-only-needs-target', /deliver_only/],
    [{ name: 'x', profile: 'nobody' as ProfileName }, 'profile-missing', /make the folder profiles\/nobody/],
  ];
  const before = readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8');
  for (const [more, code, message] of refused) {
    t.match(
      await refusalOf(() => subscribe(routed(), asked(more), undefined)),
      { code, message },
      JSON.stringify(more),
    );
  }
  t.equal(
    (await refusalOf(() => subscribe(routed(), asked({ name: 'Not A Name' }), undefined))).code === 'none',
    false,
  );
  home.write('config.yaml', config.replace('gateway: { multiplex_profiles: true }', '').replace(/ +theirs.*\n/, ''));
  t.match(await refusalOf(() => subscribe(routed(), asked({ name: 'x', profile: work }), undefined)), {
    code: 'profile-unknown',
    message: /set gateway\.multiplex_profiles: true and make profiles\/work/,
  });
  t.equal(readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8'), before, 'nothing refused is written');
});

t.test('SUB-1 · SRC-1 · of each provider a fresh secret fits, or its own is asked for with the address', async (t) => {
  const { home, routed } = homeOf(t);
  const made = (source: string, record: JsonObject = {}) =>
    subscribe(
      routed(),
      { name: 's', profile: defaultProfile, record: { source, ...record }, force: true },
      'http://h:1',
    );
  for (const name of sourceNames) {
    const { title, page, secret } = sourceOf(name) as Source;
    if (secret.typed === true) {
      t.match(await made(name), { secret: /^[0-9a-f]{64}$/, provider: { title, page, typed: true } }, name);
    } else if (secret.sent !== undefined) {
      const sent = await made(name);
      t.match(
        sent,
        { secret: undefined, url: /\/s\?code=[0-9a-f]{64}$/, provider: { title, page, sent: secret.sent } },
        name,
      );
      t.match(
        await made(name, { secret: 'of-an-earlier-handshake' }),
        { url: /\/s$/ },
        'whose secret is known needs none',
      );
    } else {
      t.match(await refusalOf(() => made(name)), { code: 'secret-needed' }, name);
      t.ok((await refusalOf(() => made(name))).message.includes(`there for http://h:1/webhooks/s (${page})`), name);
    }
  }
  const declared = (signature: JsonObject, record: JsonObject = {}) =>
    subscribe(
      routed(),
      { name: 's', profile: defaultProfile, record: { signature, ...record }, force: true },
      'http://h:1',
    );
  t.match(await declared({ query: 'key', algorithm: 'token' }), { url: /\/s\?key=[0-9a-f]{64}$/ });
  const byPublicKey: JsonObject = { header: 'x-sig', algorithm: 'ed25519' };
  t.equal((await refusalOf(() => declared(byPublicKey))).code, 'secret-needed', 'a fresh one would be no public key');
  t.match(await declared(byPublicKey, { secret: '9f3c0a77b1de4425aa6e2b6cf0d85a13'.repeat(2) }), { url: /\/s$/ });
  const written = () => JSON.parse(readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8')).s;
  const shared = await made('microsoft-graph');
  t.equal(written().verify_token, shared.secret, 'where the provider knows no other secret');
  t.notOk('secret' in written());
  t.equal((await made('microsoft-graph', { secret: 'a-client-state-of-theirs' })).secret, 'a-client-state-of-theirs');
  const meta = await made('meta', { secret: '9f86d081884c7d659a2feaa0c55ad015' });
  t.match(meta, { verify_token: /^[0-9a-f]{64}$/, provider: { typed: false } });
  t.match(written(), { secret: '9f86d081884c7d659a2feaa0c55ad015', verify_token: String(meta.verify_token) });
  const secret = 'whsec_9f86d081884c7d659a2f';
  t.match(await made('stripe', { secret }), { provider: { sample: /^stripe:/ } });
  const listed = await made('stripe', { secret, events: ['invoice.paid'] });
  t.equal(listed.provider?.sample, 'stripe:invoice.paid', 'one that the route accepts');
  t.equal((await made('stripe', { secret, events: ['payout.paid'] })).provider?.sample, undefined);
  t.equal((await made('gitlab', { events: ['merge_request'] })).provider?.sample, 'gitlab:merge_request.open');
  const { provider: chat } = await made('google-chat', { secret: '1234567890' });
  t.match(chat?.setup, /HTTP endpoint URL +http:\/\/h:1\/webhooks\/s\n/, 'what to enter there');
  t.match(await refusalOf(() => made('strip')), { message: /stripe/ }, 'another word is none');
});

t.test('SUB-1 · CFG-3 · a subscription is removed, a broken one too, and a route of the file is not', async (t) => {
  const { home, routed } = homeOf(t, { hook: dynamic(), broken: 7 }, { hook: dynamic(), both: dynamic() });
  await unsubscribe(routed(), 'hook', defaultProfile);
  await unsubscribe(routed(), 'broken', defaultProfile);
  t.same(JSON.parse(readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8')), {});
  t.match(showRoute(routed(), { name: 'hook' }, undefined), { profile: 'work' }, 'the other profile keeps its own');
  for (const [name, profile, cure] of [
    ['both', defaultProfile, 'routes of config.yaml are removed there'],
    ['hook', defaultProfile, 'it is one of profile "work"'],
    ['hook', 'nobody' as ProfileName, 'it is one of profile "work"'],
  ] as const) {
    const message = `"${name}" is no dynamic subscription of profile "${profile}"; ${cure}`;
    t.match(await refusalOf(() => unsubscribe(routed(), name, profile)), { code: 'subscription-unknown', message });
  }
});

t.test('PRF-1 · a profile is named by a flag, the default one by none', async (t) => {
  for (const none of [undefined, null, '']) t.equal(profileOf(none), defaultProfile);
  t.equal(profileOf('work'), 'work');
  for (const odd of ['..', 'a/b', '.x']) t.equal((await refusalOf(() => profileOf(odd))).code, 'profile-name', odd);
});
