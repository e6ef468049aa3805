import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { sampleNames } from '../../../machines/webhook/samples.ts';
import { signatureVerifier } from '../../../machines/webhook/verifier.ts';
import type { CommandHost } from '../../../runtime/control/command.ts';
import { commands } from '../../../runtime/control/commands.ts';
import type { Refusal } from '../../../runtime/control/contract/refusal.ts';
import { readRoutedHome } from '../../../runtime/control/home-view.ts';
import { isOfHome } from '../../../runtime/control/methods.ts';
import type { DaemonView } from '../../../runtime/control/view.ts';
import { makeHome } from '../../support/home.ts';
import { listenHttp } from '../../support/http-listener.ts';

const secret = 'a-secret-of-its-own';
const nobody = { notify: () => {}, onEnd: () => () => {} };

/** A home without a daemon, or with the part of one that a command asks. */
function hostOf(t: Test, daemon?: Partial<DaemonView>, routes = '{}'): CommandHost {
  const home = makeHome(t, {
    'config.yaml': `gateway: { multiplex_profiles: true }\nplatforms: { webhook: { enabled: true, extra: { port: 9000, routes: ${routes} } } }\n`,
    'webhook_subscriptions.json': JSON.stringify({ hook: { secret } }),
    'profiles/work/webhook_subscriptions.json': JSON.stringify({ theirs: { secret } }),
  });
  const source = { home: home.path, env: {} };
  return daemon === undefined ? { source } : { source, daemon: { url: () => undefined, ...daemon } as DaemonView };
}

async function ask(host: CommandHost, method: string, params: JsonObject = {}): Promise<unknown> {
  const command = commands.get(method);
  if (command === undefined) throw new Error(`no command ${method}`);
  return command(host, params, nobody);
}

async function codeOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'none',
    (thrown: Refusal) => thrown.code,
  );
}

t.test('CFG-2 · SEC-3 · the check of a home gives way to other work', async (t) => {
  const host = hostOf(t);
  for (const method of ['config.check', 'config.hints'] as const) {
    let hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
    });
    await ask(host, method);
    t.ok(hasTurned, method);
  }
});

t.test('CLI-5 · a command of the home needs no daemon; one of the daemon says that none runs', async (t) => {
  const host = hostOf(t);
  t.match(await ask(host, 'webhook.list'), [
    { name: 'hook', url: 'http://127.0.0.1:9000/webhooks/hook' },
    { name: 'theirs' },
  ]);
  t.match(await ask(host, 'webhook.show', { name: 'hook' }), { name: 'hook', definition: {} });
  t.same(await ask(host, 'config.check'), []);
  t.type(await ask(host, 'config.schema'), 'object');
  t.match(await ask(host, 'webhook.samples', { name: 'hook' }), { samples: sampleNames }, 'SUB-4');
  const edit = (record: JsonObject): Promise<unknown> => ask(host, 'webhook.edit', { name: 'hook', record });
  t.equal(await codeOf(edit({ cron_job: 'gone' })), 'cron-job-unknown', 'SUB-1');
  t.match(await edit({ cron_job: null }), { name: 'hook' });
  const clientState = { source: 'microsoft-graph', secret: 'another-state-0123456789' };
  t.match(await edit(clientState), { definition: { sender: 'microsoft-graph' } }, 'the key of the new source');
  t.match(await edit({ source: null, verify_token: null, secret }), { name: 'hook' });
  const byKey = { source: null, signature: { header: 'X-Sig', algorithm: 'ed25519' } };
  const digits = createHash('sha256').update(secret).digest('hex');
  t.match(await edit({ secret: digits }), { name: 'hook' });
  t.equal(await codeOf(edit(byKey)), 'secret-needed', 'SRC-2: a secret is no public key');
  t.match(await edit({ ...byKey, secret: digits }), { name: 'hook' });
  t.equal(await codeOf(edit({ signature: null })), 'secret-needed', 'SRC-2: nor a public key a secret');
  t.match(await edit({ source: 'meta', signature: null, secret, verify_token: 'of-meta' }), { name: 'hook' });
  const recorded = () => JSON.parse(readFileSync(join(host.source.home, 'webhook_subscriptions.json'), 'utf8')).hook;
  t.match(await edit({ source: 'github' }), { name: 'hook' });
  t.notHas(recorded(), { verify_token: 'of-meta' }, 'which is of the earlier source');
  const rotate = (older_secret: string, record: JsonObject) =>
    ask(host, 'webhook.edit', { name: 'hook', record, older_secret });
  await edit({ ...byKey, secret: digits });
  t.equal(await codeOf(edit({ source: 'asana' })), 'secret-needed', 'SRC-3: whose secret cannot reach this route');
  const freed = { source: 'github', signature: null };
  t.equal(await codeOf(rotate('keep', { ...freed, secret })), 'secret-needed', 'SRC-2: nor an earlier one');
  t.equal(await codeOf(rotate('drop', freed)), 'secret-needed');
  t.match(await edit({ ...freed, secret }), { name: 'hook' });
  await rotate('keep', { secret: 'the-second-secret-0123' });
  await rotate('keep', { secret: 'the-third-secret-01234' });
  t.same(recorded().secret, ['the-third-secret-01234', 'the-second-secret-0123'], 'SRC-2: one earlier secret is kept');
  t.match(await ask(host, 'webhook.show', { name: 'hook' }), { secret: { set: true, older: 1 } });
  await rotate('drop', {});
  t.equal(recorded().secret, 'the-third-secret-01234');
  await rotate('drop', { secret: 'the-fourth-secret-0123' });
  t.equal(recorded().secret, 'the-fourth-secret-0123', 'the newest is that of the record');
  const unfit = rotate('keep', { source: 'microsoft-graph', secret: 'a-client-state-0123456' });
  t.equal(await codeOf(unfit), 'secret-needed', 'a clientState cannot be two');
  await edit({ secret });
  t.match(await ask(host, 'webhook.subscribe', { name: 'hub', record: { source: 'linear', secret } }), { name: 'hub' });
  t.same(await ask(host, 'webhook.samples', { name: 'hub' }), {
    samples: sampleNames.filter((name) => name.startsWith('linear:')),
  });
  t.equal(await codeOf(ask(host, 'webhook.samples', { name: 'none' })), 'route-unknown');
  t.same(await ask(host, 'webhook.remove', { name: 'hub' }), { removed: 'hub' });
  t.match(await ask(host, 'webhook.subscribe', { name: 'new', record: { events: ['push'] } }), { events: ['push'] });
  t.equal(await codeOf(ask(host, 'webhook.subscribe', { name: 'new' })), 'subscription-exists');
  t.match(await ask(host, 'webhook.subscribe', { name: 'new', force: true }), { events: [] });
  t.same(await ask(host, 'webhook.remove', { name: 'theirs', profile: 'work' }), { removed: 'theirs' });
  for (const method of ['gateway.status', 'gateway.stop', 'gateway.reload', 'webhook.deliveries', 'runs.cancel']) {
    t.equal(isOfHome(method), false, method);
    t.equal(await codeOf(ask(host, method)), 'gateway-not-running', method);
  }
  t.equal(await codeOf(ask(host, 'webhook.test', { name: 'hook' })), 'gateway-not-running');
});

t.test('DIS-3 · HOME-4 · a hold and a release change the route alone, or say why they change nothing', async (t) => {
  const routes = `
          ci: &shared {prompt: p, concurrency: 2} # builds
          alias: *shared
          zero:
            prompt: p # none
            concurrency: 0
          off:
            prompt: p
            enabled: false
          direct: {prompt: p, deliver: ntfy, deliver_only: true}`;
  const host = hostOf(t);
  const file = join(host.source.home, 'config.yaml');
  const text = `gateway: { multiplex_profiles: true }
platforms:
  webhook:
    enabled: true
    extra:
      secret: ${secret}
      routes:${routes}
`;
  const read = (): string => readFileSync(file, 'utf8');
  const set = (name: string, method = 'hold') => ask(host, `webhook.${method}`, { name });
  const refused = (asked: Promise<unknown>) => asked.catch(({ code, message }: Refusal) => [code, message]);
  writeFileSync(file, text);
  const zero = { name: 'zero', profile: 'default' };
  t.same(await set('zero'), { ...zero, held: true, waiting: 0 });
  t.equal(read(), text.replace('concurrency: 0\n', 'concurrency: 0\n            held: true\n'));
  t.same(await set('zero'), { ...zero, held: true, unchanged: true, waiting: 0 });
  const by = 'concurrency of the route in config.yaml';
  t.same(await set('zero', 'release'), { ...zero, held: false, held_by: by, waiting: 0 });
  t.equal(read(), text);
  t.same(await refused(set('zero', 'release')), [
    'route-limited',
    `route "zero" is held by ${by}, which is 0; raise it there`,
  ]);
  t.match(await set('off'), { held: true, disabled: true });
  t.match(await set('off', 'release'), { held: false, disabled: true });
  t.match(await refused(set('direct')), ['route-runless', /has deliver_only/]);
  t.match(await refused(set('zeros')), ['route-unknown', /did you mean "zero"/]);
  for (const name of ['ci', 'alias']) t.match(await refused(set(name)), ['config-unwritable', /anchor, alias/], name);
  t.equal(read(), text);
  t.same(await set('hook', 'release'), { name: 'hook', profile: 'default', held: false, unchanged: true, waiting: 0 });
  writeFileSync(file, `agent: {concurrency: 0}\n${text}`);
  t.match(await refused(set('hook', 'release')), ['route-limited', /by agent\.concurrency in config\.yaml,/]);
  const routed = readRoutedHome(host.source);
  writeFileSync(file, `]${text}`);
  const broken = { ...host, inForce: () => routed, daemon: { waiting: async () => 0 } as never };
  t.match(await refused(ask(broken, 'webhook.hold', { name: 'zero' })), ['config-unwritable', /is no YAML/]);
});

t.test('INS-4 · PRF-2 · a route is shown with the place of the secret that opens it', async (t) => {
  const routes = 'own: {secret: a-secret-of-the-route}, ours: {}, bound: {profile: work}';
  const rows: readonly (readonly [home: string, work: string, from: Record<string, string>])[] = [
    [
      `extra: {secret: "\${KEY}", routes: {${routes}}}`,
      'routes: {theirs: {}}',
      { own: 'config.yaml', ours: '.env, KEY', bound: '.env, KEY', theirs: '.env, KEY' },
    ],
    [
      `routes: {${routes}}`,
      'extra: {secret: a-secret-of-the-profile}, routes: {theirs: {}}',
      { ours: 'environment, WEBHOOK_SECRET', theirs: 'profiles/work/config.yaml' },
    ],
    [
      `secret: "\${KEY}", extra: {routes: {${routes}}}`,
      'routes: {theirs: {}}',
      { ours: '.env, KEY', theirs: '.env, KEY', subscribed: 'profiles/work/webhook_subscriptions.json' },
    ],
  ];
  for (const [home, work, places] of rows) {
    const { path } = makeHome(t, {
      'config.yaml': `gateway: {multiplex_profiles: true}\nplatforms: {webhook: {enabled: true, host: 127.0.0.1, ${home}}}\n`,
      '.env': 'KEY=a-secret-of-the-home\n',
      'profiles/work/config.yaml': `platforms: {webhook: {${work}}}\n`,
      'profiles/work/webhook_subscriptions.json': JSON.stringify({ subscribed: { secret } }),
    });
    const host = { source: { home: path, env: { WEBHOOK_SECRET: 'a-secret-of-the-process' } } };
    for (const [name, from] of Object.entries(places)) {
      const profile = name === 'own' || name === 'ours' ? 'default' : 'work';
      t.match(await ask(host, 'webhook.show', { name, profile }), { secret: { set: true, from } }, `${name}: ${home}`);
    }
  }
});

t.test('SIG-1 · DUR-2 · the curl command of an event of GitLab sends the token, which any secret can be', async (t) => {
  const record = { body: '{}', headers: {}, route: 'lab', profile: 'default' };
  const host = hostOf(
    t,
    { delivery: async () => ({ record }) as never },
    '{ lab: { source: gitlab, secret: q8Zr4Lk2Wm7Tn1Bd9X } }',
  );
  t.match(await ask(host, 'events.curl', { id: 'x' }), { curl: /-H "x-gitlab-token: \$SECRET"/ });
});

t.test('CLI-3 · a parameter that is missing or of another form is said to be so', async (t) => {
  const host = hostOf(t, {});
  for (const method of [
    'webhook.show',
    'webhook.subscribe',
    'webhook.remove',
    'webhook.test',
    'runs.show',
    'runs.cancel',
  ]) {
    for (const params of [{}, { name: '', id: '' }, { name: 7, id: 7 }]) {
      t.equal(await codeOf(ask(host, method, params)), 'params-missing', `${method} ${JSON.stringify(params)}`);
    }
  }
  for (const [params, message] of [
    [{ route: {} }, 'the parameter "route" must be a text, not an object'],
    [{ profile: [1] }, 'the parameter "profile" must be a text, not a list'],
    [{ since: {} }, 'the parameter "since" must be a text, not an object'],
    [{ since: 'soon' }, 'the parameter "since" must be an ISO 8601 time, not "soon"'],
    [{ status: 7 }, 'the parameter "status" must be a text, not 7'],
  ] as const) {
    await t.rejects(ask(host, 'webhook.deliveries', params), { code: 'params-missing', message });
  }
  const invalidProfile = { code: 'profile-name', message: '{} is no profile name' };
  await t.rejects(ask(host, 'webhook.subscribe', { name: 'a', profile: {} }), invalidProfile);
});

t.test('SCA-3 · CLI-3 · a gateway without others is listed by its configured name, else by its host', async (t) => {
  for (const [config, node] of [
    ['gateway: {node: front}\n', 'front'],
    ['', hostname()],
  ] as const) {
    const source = { home: makeHome(t, { 'config.yaml': config }).path, env: {} };
    const daemon = { status: () => ({ pid: 1 }) } as unknown as DaemonView;
    t.match(await ask({ source, daemon }, 'gateway.nodes'), [{ node, self: true, status: { pid: 1 } }]);
  }
});

t.test('DUR-2 · histories are asked for within bounds, by route and status', async (t) => {
  const seen: unknown[] = [];
  const note = async (query: unknown) => {
    seen.push(query);
    return [];
  };
  const host = hostOf(t, { deliveries: note, runs: note });
  await ask(host, 'webhook.deliveries');
  await ask(host, 'runs.list', { limit: 0, route: 'r', status: 'failed' });
  await ask(host, 'runs.list', { limit: 5_000, route: null, status: null } as JsonObject);
  await ask(host, 'webhook.deliveries', { limit: 'many' });
  t.same(seen, [{ limit: 50 }, { limit: 1, route: 'r', status: 'failed' }, { limit: 1_000 }, { limit: 50 }]);
});

t.test('DUR-2 · of a status all events are replayed, the oldest first; only ended ones have one', async (t) => {
  const asked: unknown[] = [];
  const host = hostOf(t, {
    deliveryKeys: async (query) => {
      asked.push(query);
      return ['k2', 'k1'];
    },
    replayEach: async (keys) => ({ replayed: keys }) as never,
  });
  t.strictSame(await ask(host, 'events.replayAll', { status: 'failed', route: 'r' }), { replayed: ['k1', 'k2'] });
  t.strictSame(asked, [{ status: 'failed', route: 'r' }]);
  for (const status of [undefined, 'delivered', 'accepted', 7])
    t.equal(await codeOf(ask(host, 'events.replayAll', status === undefined ? {} : { status })), 'params-missing');
});

t.test('DLV-4 · CLI-2 · deliveries of a status are swept without --all; no other status is', async (t) => {
  const asked: unknown[] = [];
  const swept = (name: string) => async (query: unknown) => {
    asked.push([name, query]);
    return { done: 2, left: 0, refusals: [] };
  };
  const deliveryService = { dropAll: swept('drop'), retryAll: swept('retry') } as never;
  const host = hostOf(t, { deliveryService });
  t.match(await ask(host, 'deliveries.drop', { status: 'queued', target: 'slack' }), { dropped: 2 });
  t.match(await ask(host, 'deliveries.retry', { all: true, status: 'waitingToRetry' }), { retried: 2 });
  t.match(await ask(host, 'deliveries.drop', { all: true }), { dropped: 2 });
  t.strictSame(asked, [
    ['drop', { status: 'queued', target: 'slack' }],
    ['retry', { status: 'waitingToRetry' }],
    ['drop', {}],
  ]);
  for (const status of ['delivered', 'sending', 7])
    t.equal(await codeOf(ask(host, 'deliveries.drop', { status })), 'params-missing');
});

t.test('CLI-5 · what the history lacks has its code, and what it has is complete', async (t) => {
  const stopped: string[] = [];
  const host = hostOf(t, {
    status: () => ({ pid: 1 }) as never,
    stop: () => void stopped.push('stopped'),
    reload: async () => void stopped.push('reloaded'),
    delivery: async (id, _choice, _isHandshakeShown, acts) =>
      id === 'd1' || (acts !== true && 'd1'.startsWith(id))
        ? ({ delivery_id: 'd1', route: 'r', record: { headers: {}, body: '{}' } } as never)
        : undefined,
    replay: async (id) => (id === 'd1' ? { status: 202, body: '', key: 'k2' } : undefined),
    run: async (id, more) => (id === 'r1' ? ({ id, transcript: more?.transcript === true } as never) : undefined),
  });
  t.same(await ask(host, 'gateway.status'), { pid: 1 });
  t.same(await ask(host, 'gateway.reload'), { reloaded: true });
  t.same(await ask(host, 'gateway.stop'), { stopping: true });
  t.same(stopped, ['reloaded', 'stopped']);
  t.match(await ask(host, 'webhook.delivery', { id: 'd1' }), { delivery_id: 'd1' });
  t.same(await ask(host, 'webhook.replay', { id: 'd1' }), { status: 202, body: '', key: 'k2' });
  t.same(await ask(host, 'runs.show', { id: 'r1' }), { id: 'r1', transcript: false });
  t.same(await ask(host, 'runs.show', { id: 'r1', transcript: true }), { id: 'r1', transcript: true });
  const unknown = { code: 'delivery-unknown', message: 'no event "x" is in the history; `agent events` lists them' };
  await t.rejects(ask(host, 'webhook.delivery', { id: 'x' }), unknown);
  t.equal(await codeOf(ask(host, 'webhook.replay', { id: 'x' })), 'delivery-unknown');
  t.match(await ask(host, 'webhook.delivery', { id: 'd' }), { delivery_id: 'd1' });
  t.match(await ask(host, 'webhook.delivery', { id: 'd1', acts: true }), { delivery_id: 'd1' });
  for (const [method, params] of [
    ['webhook.replay', { id: 'd' }],
    ['webhook.delivery', { id: 'd', acts: true }],
  ] as const) {
    await t.rejects(ask(host, method, params), { message: /^"d" is only the beginning of the id d1; give it/ }, method);
  }
  t.equal(await codeOf(ask(host, 'runs.show', { id: 'x' })), 'run-unknown');
});

t.test(
  'DUR-2 · CLI-6 · an event without a payload, as a refused one, can be neither replayed nor edited',
  async (t) => {
    const refused = {
      key: 'k1',
      delivery_id: 'd1',
      profile: 'default',
      record: { route: 'r', outcome: 'refused', headers: {}, body: '' },
    };
    const host = hostOf(t, { delivery: async () => refused as never, replay: async () => undefined });
    t.match(await ask(host, 'webhook.delivery', { id: 'd1' }), { delivery_id: 'd1' });
    for (const [method, params] of [
      ['webhook.replay', { id: 'd1' }],
      ['webhook.delivery', { id: 'd1', acts: true }],
    ] as const) {
      const message =
        /^d1 has no payload: its request was refused .* the sender can send it again, or `agent events replay k1 --payload <file>` /;
      await t.rejects(ask(host, method, params), { code: 'delivery-unknown', message }, method);
    }
  },
);

t.test(
  'INS-2 · CLI-2 · an actor that does not live is answered with the pool that the tree shows by that name',
  async (t) => {
    const host = hostOf(t, { actor: (id) => (id === 'gateway/runs' ? ({ id } as never) : undefined) });
    t.match(await ask(host, 'inspect.show', { actor: 'gateway/runs' }), { id: 'gateway/runs' });
    for (const [actor, cure] of [
      ['runs', 'did you mean "gateway/runs"?'],
      ['nope', '`agent inspect tree` lists them'],
    ] as const) {
      const message = `no actor has the address "${actor}"; ${cure}`;
      await t.rejects(ask(host, 'inspect.show', { actor }), { code: 'actor-unknown', message });
    }
  },
);

t.test('INS-2 · CLI-2 · nothing is followed of a machine that neither a chart nor an actor has', async (t) => {
  const tree = { id: '', machine: 'supervisor', children: [{ id: 'gateway/runs', machine: 'runsPool', children: [] }] };
  const host = hostOf(t, {
    tree: () => tree as never,
    chart: async (machine) => (machine === 'delivery' ? ({} as never) : undefined),
    follow: () => () => {},
  });
  for (const machine of ['runsPool', 'delivery']) t.match(await ask(host, 'inspect.follow', { machine }), {});
  await t.rejects(ask(host, 'inspect.follow', { machine: 'agentrun' }), {
    code: 'chart-unknown',
    message: /"agentrun"/,
  });
});

t.test('INS-4 · DUR-2 · an event that is gone is answered with how long events are kept', async (t) => {
  for (const [hours, words] of [
    [168, 'kept 7 days'],
    [36, 'kept 36 hours'],
    [0.5, 'kept 0.5 hours'],
  ] as const) {
    const home = makeHome(t, { 'config.yaml': `gateway: { history: { max_age_hours: ${hours} } }\n` });
    const status = () => ({ journal: 'ready' }) as never;
    const host = { ...hostOf(t, { openEvent: async () => undefined, status }), source: { home: home.path, env: {} } };
    await t.rejects(ask(host, 'events.open', { id: 'gone' }), {
      code: 'delivery-unknown',
      message: new RegExp(`\\(${words}\\)`),
    });
  }
});

t.test('DIS-3 · every verdict of a cancel has its answer', async (t) => {
  const hands: string[] = [];
  const cancel = (kind: object, by?: string): Promise<unknown> =>
    ask(
      hostOf(t, {
        run: async (id) => (id === 'latest' ? ({ id: 'r1' } as never) : undefined),
        runCancels: {
          one: async (_: string, hand: string) => {
            hands.push(hand);
            return kind as never;
          },
        } as never,
      }),
      'runs.cancel',
      { id: 'latest', ...(by === undefined ? {} : { by }) },
    );
  t.same(await cancel({ kind: 'cancelled' }), { cancelled: 'r1' }, 'the answer has the full id');
  t.same(await cancel({ kind: 'notified' }, 'page'), { cancelling: 'r1' });
  t.same(hands, ['the command line', 'the page'], 'the reason names where it was cancelled');
  t.equal(await codeOf(cancel({ kind: 'over', status: 'delivered' })), 'run-over');
  await t.rejects(cancel({ kind: 'over', status: 'delivering' }), {
    message: /`agent runs show r1` lists its deliveries, and `agent deliveries drop <id>` drops one$/,
  });
  t.equal(await codeOf(cancel({ kind: 'refused', reason: 'disk full' })), 'journal-unavailable');
  t.equal(await codeOf(cancel({ kind: 'unknown' })), 'run-unknown');
});

t.test(
  'SUB-4 · a test is signed with the subscription’s secret, sent to its path, and its answer shown as it is',
  async (t) => {
    const got: { readonly path: string | undefined; readonly genuine: boolean; readonly body: string }[] = [];
    const verify = signatureVerifier({}, { kind: 'shared', secret });
    const { url } = await listenHttp(t, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const headers = request.headers as Record<string, string>;
        const verdict = verify({ headers, body, nowMs: Date.now() });
        got.push({
          path: request.url,
          genuine: verdict.kind === 'genuine' && verdict.scheme === 'generic-v2',
          body: body.toString(),
        });
        response.writeHead(418).end('short and stout');
      });
    });
    const forgotten: string[] = [];
    const forgetSignature = async (digest: string): Promise<number> =>
      forgotten.push(`${digest.length}, ${got.length} sent`);
    const host = hostOf(
      t,
      { url: () => url, forgetSignature },
      `{ 'a/b ü': { secret: ${secret} }, by: { secret: ${secret}, signature: { header: x-by, algorithm: token } } }`,
    );

    t.same(await ask(host, 'webhook.test', { name: 'hook' }), { status: 418, body: 'short and stout' });
    await ask(host, 'webhook.test', { name: 'theirs', profile: 'work', event: 'push', payload: { a: 1 } });
    await ask(host, 'webhook.test', { name: 'hook', event: 'push', payload: [1] });
    await ask(host, 'webhook.test', { name: 'a/b ü', payload: [2] });
    const written = '{ "id": 12345678901234567890 }';
    await ask(host, 'webhook.test', { name: 'hook', payload: written });
    await ask(host, 'webhook.test', { name: 'hook', event: 'push', payload: written });
    await ask(host, 'webhook.test', { name: 'hook', event: 'push', payload: ' { } ' });
    await ask(host, 'webhook.test', { name: 'hook', payload: 'null' });
    await ask(host, 'webhook.test', { name: 'by', event: 'push', payload: { a: 1 } });
    t.same(got, [
      { path: '/webhooks/hook', genuine: true, body: '{"test":true,"message":"Hello from agent webhook test"}' },
      { path: '/p/work/webhooks/theirs', genuine: true, body: '{"event_type":"push","a":1}' },
      { path: '/webhooks/hook', genuine: true, body: '[1]' },
      { path: '/webhooks/a%2Fb%20%C3%BC', genuine: true, body: '[2]' },
      { path: '/webhooks/hook', genuine: true, body: written },
      { path: '/webhooks/hook', genuine: true, body: '{"event_type":"push","id": 12345678901234567890 }' },
      { path: '/webhooks/hook', genuine: true, body: '{"event_type":"push"} ' },
      { path: '/webhooks/hook', genuine: true, body: 'null' },
      { path: '/webhooks/by', genuine: false, body: '{"event_type":"push","a":1}' },
    ]);
    t.equal(await codeOf(ask(host, 'webhook.test', { name: 'hook', payload: '{' })), 'params-missing');
    t.same(
      forgotten,
      [0, 1, 2, 3, 4, 5, 6, 7].map((sent) => `22, ${sent} sent`),
      'each before it is sent',
    );
    t.equal(await codeOf(ask(hostOf(t, {}), 'webhook.test', { name: 'hook' })), 'gateway-not-listening');
    t.equal(await codeOf(ask(host, 'webhook.test', { name: 'none' })), 'route-unknown');
  },
);
