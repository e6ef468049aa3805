import t from 'tap';
import { createActor, createMachine, fromPromise } from 'xstate';
import type { Logger } from '../../../actors/ports.ts';
import type { Collection } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { runAsSeen } from '../../../machines/webhook/interruption.ts';
import { journalMachine } from '../../../machines/webhook/journal.machine.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../../../machines/webhook/record.ts';
import type { RequestContext, RequestInput } from '../../../machines/webhook/webhook-request.machine.ts';
import { createDaemonView, type ViewPorts } from '../../../runtime/control/daemon-view.ts';
import { createStateTimes } from '../../../runtime/inspector/state-times.ts';
import { noWork } from '../../../runtime/inspector/timeline-sources.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { createDecisions } from '../../../runtime/webhook/event-log.ts';
import type { Exchanges } from '../../../runtime/webhook/exchanges.ts';
import { openKeeper } from '../../support/keeper.ts';
import { fakePool } from '../../support/pools.ts';
import { until } from '../../support/processes.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';
import { turn } from '../../support/turns.ts';

const log: Logger = { log: () => {}, warnOnce: () => {} };

const event: EventRecord = {
  ...plainEvent,
  deliveryId: 'd1',
  receivedAtMs: 1_000,
  body: '{"a":1}',
  prompt: 'the prompt',
};
const run: RunRecord = {
  ...plainRun,
  eventKey: 'e1',
  status: 'delivered',
  attempt: 1,
  queuedAtMs: 1_000,
  startedAtMs: 2_000,
  endedAtMs: 3_000,
  response: 'said',
};
const delivery: DeliveryRecord = {
  ...plainDelivery,
  eventKey: 'e1',
  runKey: 'e1',
  deliveryId: 'd1',
  target: 'log',
  status: 'delivered',
  text: 'said',
  queuedAtMs: 2_500,
};

const idle = createActor(createMachine({ id: 'supervisor', initial: 'up', states: { up: {} } })).start();

type Kept = readonly [collection: Collection, key: string, value: object, dueAtMs?: number];

async function stage(records: readonly Kept[], more: Partial<ViewPorts> = {}) {
  const { keeper } = await openKeeper(openMemoryJournal());
  for (const [collection, key, value, dueAtMs = null] of records) {
    await keeper.commit([{ kind: 'put', collection, key, value: value as JsonObject, dueAtMs }]);
  }
  const redactor = createRedactor();
  redactor.learn('hunter2hunter2');
  const decisions = createDecisions({
    log,
    keeper,
    keptHeaders: () => ({}),
    redact: redactor.text,
    diagnose: () => [],
    steadyMs: () => 0,
    every: () => () => {},
    isEachLogged: () => true,
  });
  const requests = fakePool<RequestInput>();
  const exchanges: Exchanges = new Map();
  const view = createDaemonView({
    sendOwn: () => Promise.reject(new Error('nothing is sent')),
    root: idle,
    home: '/home/me/.agent',
    path: '/usr/bin',
    isBackground: true,
    version: '1.2.3',
    inspector: {
      stateTimes: createStateTimes(() => 0),
      watcher: {},
      actor: () => undefined,
      stepsOf: () => [],
      listener: () => ({ enabled: false, url: null }),
    } as unknown as ViewPorts['inspector'],
    recovered: () => [],
    workOf: () => noWork,
    runsThatWait: () => new Map(),
    redactText: redactor.text,
    keeper,
    decisions,
    replay: {
      exchanges,
      pools: () => ({ requests: requests.handle() }) as unknown as WorkPools,
      nextId: () => `new${requests.spawned.length || ''}`,
      nowMs: () => 1,
    },
    deliveryService: () =>
      ({ targets: () => [{ state: 'failed' }, { state: 'connected' }, { state: 'failed' }] }) as never,
    pauseOf: () => undefined,
    runCancels: { one: () => Promise.reject(new Error('nothing is cancelled here')) } as never,
    seenRun: (_key, record) => record,
    stats: {} as never,
    chat: {} as never,
    cron: {} as never,
    overview: {} as never,
    recent: {
      requests: { lastHour: () => [0, 3] },
      commits: { read: () => ({ count: 2, failed: 0, median_ms: 3.14, p95_ms: 9 }) },
    } as unknown as ViewPorts['recent'],
    mcp: { states: () => ({ connected: 2 }) } as unknown as ViewPorts['mcp'],
    url: () => 'http://127.0.0.1:1',
    webhookEnabled: () => true,
    webhookServer: () => ({ kind: 'node' }) as never,
    webhookFault: () => undefined,
    configFault: () => undefined,
    configFindings: () => undefined,
    configHistory: noHistory,
    redact: redactor.record,
    reload: () => Promise.resolve(),
    applyRoutes: () => Promise.resolve(),
    upMs: () => 61_999,
    nowMs: () => 0,
    ...more,
  });
  return { view, decisions, exchanges, requests };
}

const noHistory: ViewPorts['configHistory'] = {
  applied: () => {},
  refused: () => {},
  restartFor: () => [],
  sinceMs: () => undefined,
  changes: () => [],
};

const refused: RequestContext = {
  id: 'e5',
  origin: 'http',
  method: 'POST',
  path: '/webhooks/r',
  receivedAtMs: 5_000,
  deliveryId: 'd5',
  outcome: { kind: 'badSignature' },
  reason: 'no signature',
};

t.test('CON-4 · the status says who runs, what listens, what lives and what is wrong', async (t) => {
  const { view } = await stage([]);
  const known = {
    pid: process.pid,
    version: '1.2.3',
    uptime_seconds: 61,
    home: '/home/me/.agent',
    path: '/usr/bin',
    background: true,
    state: 'up',
    config: { in_force: true },
    webhook: { enabled: true, url: 'http://127.0.0.1:1', server: 'node:http' },
    inspector: { enabled: false, url: null },
    journal: 'ready',
    servers: { connected: 2 },
    targets: { failed: 2, connected: 1 },
    actors: { supervisor: 1 },
    requests_by_minute: [0, 3],
    commit_ms: { median: 3.1, p95: 9 },
  };
  t.same(view.status(), known);
  const closed = await stage([], {
    url: () => undefined,
    webhookServer: () => undefined,
    webhookFault: () => 'cannot bind',
  });
  t.same(closed.view.status(), { ...known, webhook: { enabled: true, url: null, fault: 'cannot bind' } });
  const refused = await stage([], { configFault: () => 'config.yaml:1:1: no' });
  t.same(refused.view.status(), { ...known, config: { in_force: false, fault: 'config.yaml:1:1: no' } });
  const changed = await stage([], { configHistory: { ...noHistory, restartFor: () => ['gateway.node'] } });
  t.same(changed.view.status(), { ...known, restart_for: ['gateway.node'] });
  const partly = await stage([], { configFindings: () => 'config.yaml:1:1: no' });
  t.same(partly.view.status(), { ...known, config: { in_force: true, fault: 'config.yaml:1:1: no' } });
});

t.test(
  'CON-4 · DUR-1 · the status says that the journal is being opened, also after its connection was cut',
  async (t) => {
    const opens: { readonly resolve: (value: undefined) => void; readonly reject: (why: Error) => void }[] = [];
    const openJournal = fromPromise<undefined, undefined>(
      () => new Promise((resolve, reject) => opens.push({ resolve, reject })),
    );
    const none = (): void => {};
    const actions = { reportFault: none, reportRestored: none, reportReady: none, reportUnavailable: none };
    const journal = journalMachine.provide({ actors: { openJournal }, actions });
    const invoke = { src: journal, id: 'journal', systemId: 'journal' };
    const root = createActor(createMachine({ id: 'supervisor', initial: 'up', states: { up: {} }, invoke })).start();
    t.teardown(() => root.stop());
    const { view } = await stage([], { root });
    const opening = 'the journal is being opened, and nothing is accepted until it is open';
    t.equal(view.status().journal, opening);
    opens[0]?.resolve(undefined);
    await until(() => view.status().journal === 'ready');
    root.system.get('journal')?.send({ type: 'journal.cut' });
    t.equal(view.status().journal, opening);
    opens[1]?.reject(new Error('no answer'));
    await until(() => view.status().journal !== opening);
    t.match(view.status().journal, 'no answer');
  },
);

t.test('CON-4 · DUR-2 · deliveries are rows of the law’s shape, newest first, refused ones among them', async (t) => {
  const { view, decisions } = await stage([
    ['events', 'e1', { ...event, work: 'e1' }],
    ['runs', 'e1', run],
    ['events', 'e2', { ...event, deliveryId: 'd2', status: 'ignored', reason: 'filter', receivedAtMs: 2_000 }],
    ['events', 'e3', { ...event, deliveryId: 'd3', status: 'delivering', work: 'e3', receivedAtMs: 3_000 }],
    ['deliveries', 'e3', { ...delivery, status: 'failed', reason: 'no chat', runKey: undefined }],
    ['events', 'e6', { ...event, deliveryId: 'd6', route: 'other', work: 'e6', receivedAtMs: 6_000 }],
    ['runs', 'e6', { ...run, status: 'queued', attempt: 0 }],
  ]);
  decisions.decided(refused, undefined);
  const common = { route: 'r', profile: 'default', event: 'push' };
  const rows = [
    {
      ...common,
      key: 'e6',
      delivery_id: 'd6',
      route: 'other',
      status: 'accepted',
      received_at: '1970-01-01T00:00:06.000Z',
      attempts: 0,
    },
    {
      key: 'e5',
      delivery_id: 'd5',
      route: '/webhooks/r',
      profile: 'default',
      event: 'unknown',
      status: 'refused',
      reason: 'no signature',
      received_at: '1970-01-01T00:00:05.000Z',
      attempts: 0,
    },
    {
      ...common,
      key: 'e3',
      delivery_id: 'd3',
      status: 'failed',
      reason: 'no chat',
      received_at: '1970-01-01T00:00:03.000Z',
      attempts: 1,
    },
    {
      ...common,
      key: 'e2',
      delivery_id: 'd2',
      status: 'ignored',
      reason: 'filter',
      received_at: '1970-01-01T00:00:02.000Z',
      attempts: 0,
    },
    {
      ...common,
      key: 'e1',
      delivery_id: 'd1',
      status: 'delivered',
      received_at: '1970-01-01T00:00:01.000Z',
      attempts: 1,
    },
  ];
  t.same(await view.deliveries({ limit: 100 }), rows);
  t.same(await view.deliveries({ limit: 2 }), rows.slice(0, 2));
  t.same(await view.deliveries({ limit: 100, route: 'r' }), rows.slice(2));
  t.same(await view.deliveries({ limit: 100, status: 'refused' }), rows.slice(1, 2));
  t.same(await view.deliveries({ limit: 100, status: 'failed', route: 'other' }), []);
});

t.test('DUR-2 · a row is found behind pages of others, up to a bound', async (t) => {
  const others = Array.from({ length: 450 }, (_, n) => ['events', `k${1_000 + n}`, event] as const);
  const { view } = await stage([['events', 'k0000', { ...event, route: 'rare' }], ...others]);
  t.match(await view.deliveries({ limit: 1, route: 'rare' }), [{ route: 'rare' }]);
  t.equal((await view.deliveries({ limit: 300 })).length, 300);
  t.equal((await view.deliveries({ limit: 1_000 })).length, 451);
});

t.test('INS-4 · OBS-1 · the first 64 KB of a payload are shown, with no half of a secret at their end', async (t) => {
  const body = `${'x '.repeat(32_765)}hunter2hunter2 ${'y '.repeat(100)}`;
  const { view } = await stage([['events', 'e1', { ...event, body }]]);
  const first = (await view.openEvent('e1'))?.payload;
  t.match(first, { bytes: body.length, whole: false });
  t.equal(first?.text.length, 65_536);
  t.equal(first?.text.slice(65_530), '[redac');
  const all = (await view.openEvent('e1', {}, { whole: true }))?.payload;
  t.same(all, { text: body.replace('hunter2hunter2', '[redacted]'), bytes: body.length, whole: true });
});

t.test('DUR-2 · one delivery is shown with its record, its run and its delivery, by id or by key', async (t) => {
  const { view, decisions } = await stage([
    ['events', 'e1', { ...event, work: 'e1' }],
    ['runs', 'e1', run],
    ['deliveries', 'e1', delivery],
    ['events', 'e2', { ...event, status: 'duplicate' }],
  ]);
  decisions.decided(refused, undefined);
  const shown = {
    delivery_id: 'd1',
    route: 'r',
    profile: 'default',
    event: 'push',
    status: 'delivered',
    received_at: '1970-01-01T00:00:01.000Z',
    attempts: 1,
    key: 'e1',
    record: { ...event, work: 'e1' },
    run,
    delivery,
  };
  t.same(await view.delivery('d1'), shown, 'the event itself, not its duplicate');
  t.same(await view.delivery('e1'), shown);
  t.match(await view.delivery('e2'), { status: 'duplicate', key: 'e2' });
  t.match(await view.delivery('d5'), { status: 'refused', reason: 'no signature' });
  t.equal(await view.delivery('none'), undefined);
});

t.test(
  'DUR-2 · CLI-6 · an event to act on is found by its complete id, and the newest is no refused one',
  async (t) => {
    const { view, decisions } = await stage([['events', 'e1', { ...event, deliveryId: 'order-12' }]]);
    decisions.decided(refused, undefined);
    const meant = async (id: string, acts: boolean) => (await view.delivery(id, {}, false, acts))?.delivery_id;
    for (const [id, read, acted] of [
      ['order-12', 'order-12', 'order-12'],
      ['order-1', 'order-12', undefined],
      ['latest', 'd5', 'order-12'],
    ] as const) {
      t.same([await meant(id, false), await meant(id, true)], [read, acted], id);
    }
  },
);

t.test(
  'DUR-2 · IDM-1 · an id that came to several routes is refused with its events, and chosen by route, profile or key',
  async (t) => {
    const events: readonly (readonly [string, Partial<EventRecord>])[] = [
      ['e1', { route: 'r' }],
      ['e2', { route: 'r', receivedAtMs: 2_000 }],
      ['e3', { route: 's', receivedAtMs: 3_000 }],
      ['e4', { route: 's', profile: 'work', receivedAtMs: 4_000 }],
      ['e5', { deliveryId: 'twice', receivedAtMs: 5_000 }],
      ['e6', { deliveryId: 'twice', receivedAtMs: 6_000 }],
    ];
    const { view, requests } = await stage(events.map(([key, more]) => ['events', key, { ...event, ...more }]));
    const told = (ask: () => Promise<unknown>): Promise<unknown> => ask().catch((thrown) => thrown);
    const several = {
      code: 'delivery-ambiguous',
      message: [
        'the id "d1" names 3 events of different routes:',
        '  e4  received 1970-01-01T00:00:04.000Z, route "s", profile "work"',
        '  e3  received 1970-01-01T00:00:03.000Z, route "s", profile "default"',
        '  e2  received 1970-01-01T00:00:02.000Z, route "r", profile "default"',
        'name one by its key or, where the command takes them, choose with --route and --profile',
      ].join('\n'),
    };
    t.match(await told(() => view.delivery('d1')), several);
    t.match(await told(() => view.why('d1')), several);
    await t.rejects(view.replay('d1'), several);
    t.equal(requests.spawned.length, 0, 'none is guessed');
    t.match(await view.delivery('d1', { route: 'r' }), { key: 'e2' }, 'of one route the newest');
    t.match(await told(() => view.delivery('d1', { route: 's' })), {
      code: 'delivery-ambiguous',
      message: /names 2 events/,
    });
    t.match(await view.delivery('d1', { route: 's', profile: 'work' }), { key: 'e4' });
    t.match(await view.delivery('d1', { profile: 'work' }), { key: 'e4' });
    t.match(await view.delivery('e1'), { key: 'e1' }, 'a key means one event');
    t.equal(await view.delivery('e1', { route: 's' }), undefined);
    t.equal(await view.delivery('d1', { route: 'none' }), undefined);
    t.match(await view.delivery('twice'), { key: 'e6' });
    t.match(
      (await view.deliveries({ limit: 2, before: 'e5' })).map(({ key }) => key),
      ['e4', 'e3'],
    );
    t.match(
      (await view.deliveries({ limit: 9, profile: 'work' })).map(({ key }) => key),
      ['e4'],
    );
  },
);

t.test('DUR-2 · IDM-1 · refused requests of one id are distinguished by route too, and paged', async (t) => {
  const { view, decisions } = await stage([]);
  decisions.decided(refused, undefined);
  decisions.decided({ ...refused, id: 'e7', path: '/webhooks/other' }, undefined);
  await t.rejects(view.delivery('d5'), { code: 'delivery-ambiguous' });
  t.match(await view.delivery('d5', { route: '/webhooks/other' }), { key: 'e7' });
  t.match(await view.delivery('e5'), { key: 'e5' });
  t.match(
    (await view.deliveries({ limit: 9, before: 'e7' })).map(({ key }) => key),
    ['e5'],
  );
});

t.test('CLI-5 · DIS-3 · runs are rows, and one of them its prompt, response and delivery', async (t) => {
  const { view } = await stage([
    ['events', 'e1', { ...event, work: 'e1' }],
    ['runs', 'e1', run],
    ['deliveries', 'e1', delivery],
    ['runs', 'e2', { ...run, eventKey: 'gone', status: 'failed', reason: 'why', superseded: 2, attempt: 2 }],
  ]);
  const first = {
    id: 'e1',
    delivery_id: 'd1',
    route: 'r',
    profile: 'default',
    event: 'push',
    kind: 'agent',
    status: 'delivered',
    attempt: 1,
    superseded: 0,
    queued_at: '1970-01-01T00:00:01.000Z',
    started_at: '1970-01-01T00:00:02.000Z',
    ended_at: '1970-01-01T00:00:03.000Z',
  };
  const second = {
    ...first,
    id: 'e2',
    delivery_id: 'gone',
    event: 'unknown',
    status: 'failed',
    attempt: 2,
    superseded: 2,
    reason: 'why',
  };
  t.same(await view.runs({ limit: 10 }), [second, first]);
  t.same(await view.runs({ limit: 10, status: 'failed' }), [second]);
  t.same(await view.run('e1'), { ...first, prompt: 'the prompt', response: 'said', delivery });
  t.same(await view.run('e2'), { ...second, prompt: '', response: 'said' });
  t.equal(await view.run('none'), undefined);
});

t.test('TRU-3 · DUR-2 · a run that waits for a person says for which question, everywhere it is shown', async (t) => {
  const waiting = new Map([['e1', 'a7']]);
  const { view } = await stage(
    [
      ['events', 'e1', { ...event, work: 'e1' }],
      ['runs', 'e1', { ...run, status: 'running' }],
      ['events', 'e2', { ...event, work: 'e2' }],
      ['runs', 'e2', { ...run, eventKey: 'e2', status: 'running' }],
    ],
    { runsThatWait: () => waiting },
  );
  const questions = (rows: readonly { readonly question?: string }[]) => rows.map(({ question }) => question);
  t.same(questions(await view.runs({ limit: 10 })), [undefined, 'a7']);
  t.same(questions(await view.deliveries({ limit: 10 })), [undefined, 'a7']);
  t.match(await view.run('e1'), { status: 'running', question: 'a7' });
  t.match(await view.delivery('e1'), { status: 'running', question: 'a7' });
  waiting.clear();
  t.same(
    questions([...(await view.runs({ limit: 10 })), ...(await view.deliveries({ limit: 10 }))]),
    Array(4).fill(undefined),
  );
});

t.test('DUR-1 · CLI-5 · a run that a crash cut off is shown as waiting in every row', async (t) => {
  const { view } = await stage(
    [
      ['events', 'e1', { ...event, work: 'e1' }],
      ['runs', 'e1', { ...run, status: 'running' }, 1],
      ['events', 'e2', { ...event, deliveryId: 'd2', work: 'e2' }],
      ['runs', 'e2', { ...run, eventKey: 'e2', status: 'running' }, 1],
    ],
    { seenRun: (key, record) => runAsSeen(record, key === 'e2' ? record : undefined) },
  );
  const reason = 'cut off in attempt 1; waits to be taken up again';
  t.match(await view.runs({ limit: 9 }), [
    { id: 'e2', status: 'running' },
    { id: 'e1', status: 'queued', attempt: 1, reason },
  ]);
  t.match(await view.runs({ limit: 9, status: 'queued' }), [{ id: 'e1' }]);
  t.same(
    (await view.runs({ limit: 9, status: 'running' })).map(({ id }) => id),
    ['e2'],
  );
  t.match(await view.run('e1'), { status: 'queued', reason });
  t.match(await view.deliveries({ limit: 9, status: 'accepted' }), [{ key: 'e1', status: 'accepted', reason }]);
  t.same(
    (await view.deliveries({ limit: 9, status: 'running' })).map(({ key }) => key),
    ['e2'],
  );
  t.match(await view.delivery('e1'), { status: 'accepted', run: { status: 'queued' } });
});

t.test('OBS-1 · no answer of the view holds a secret', async (t) => {
  const secret = 'hunter2hunter2';
  const { view } = await stage([
    ['events', 'e1', { ...event, work: 'e1', body: `{"a":"${secret}"}`, prompt: secret, reason: secret }],
    ['runs', 'e1', { ...run, response: secret, reason: secret }],
    ['deliveries', 'e1', { ...delivery, text: secret }],
  ]);
  const all = [
    await view.deliveries({ limit: 9 }),
    await view.delivery('d1'),
    await view.runs({ limit: 9 }),
    await view.run('e1'),
  ];
  t.notMatch(JSON.stringify(all), secret);
  t.match(JSON.stringify(all), '[redacted]');
});

t.test('DUR-2 · a replay goes through the chart; what left no body cannot be replayed', async (t) => {
  const { view, decisions, exchanges, requests } = await stage([['events', 'e1', event]]);
  const replayed = view.replay('d1');
  await turn();
  t.match(requests.spawned, [{ key: 'new', input: { origin: 'replay', path: '/webhooks/r', replay: { of: 'e1' } } }]);
  exchanges.get('new')?.exchange.reply({ status: 202, body: '{}', headers: { 'x-a': 'b' } });
  t.same(await replayed, { status: 202, body: '{}', key: 'new' });
  decisions.decided(refused, undefined);
  t.equal(await view.replay('d5'), undefined);
  t.equal(await view.replay('none'), undefined);
});

t.test('DUR-2 · of several, those are replayed that have ended, without a response and without a replay', async (t) => {
  const work = (key: string): object => ({ ...event, deliveryId: key, work: key });
  const of = (key: string, more: object = {}): object => ({
    ...event,
    deliveryId: `of-${key}`,
    replayOf: key,
    ...more,
  });
  const run = { status: 'failed', profile: 'default', route: 'r' };
  const { view, exchanges, requests } = await stage([
    ['events', 'e1', work('e1')],
    ['events', 'e2', work('e2')],
    ['events', 'e3', work('e3')],
    ['runs', 'e3', run, 1],
    ['events', 'e4', work('e4')],
    ['deliveries', 'e4', { status: 'deadLettered' }],
    ['events', 'dropped', work('dropped')],
    ['deliveries', 'dropped', { status: 'dropped' }],
    ['events', 'direct', work('direct')],
    ['deliveries', 'direct', { status: 'failed' }],
    ['events', 'e5', work('e5')],
    ['events', 'e6', of('e5')],
    ['events', 'e7', of('e1', { isDry: true })],
    ['events', 'e8', { ...event, headers: {}, body: '' }],
    ['events', 'e9', { ...event, outcome: 'handshake' }],
  ]);
  t.strictSame(
    await view.deliveryKeys({ status: 'failed' }),
    ['e4', 'dropped', 'direct'],
    'of all, those with this status',
  );
  const swept = view.replayEach(['e1', 'e2', 'e3', 'e4', 'dropped', 'e5', 'e6', 'e7', 'e8', 'e9', 'none', 'direct']);
  await turn();
  t.strictSame(
    requests.spawned.map(({ input }) => (input as { replay?: object }).replay),
    ['e1', 'e2', 'e6', 'direct'].map((of) => ({ of, isOnce: true })),
    'in their order',
  );
  for (const [at, status] of [202, 503, 200, 200].entries()) {
    const body = at === 3 ? '{"status":"duplicate"}' : '{}';
    exchanges.get(`new${at || ''}`)?.exchange.reply({ status, body, headers: {} });
  }
  const refusals = [{ id: 'e2', code: 'replay-refused', error: 'answered 503: {}' }];
  t.strictSame(await swept, { replayed: 2, replayed_before: 2, with_response: 1, left: 1, refusals });
});

t.test('DUR-2 · CLI-5 · before the journal is open there is nothing to show, and nothing breaks', async (t) => {
  const { keeper } = await openKeeper();
  await keeper.close();
  const { view } = await stage([], { keeper });
  t.same([await view.deliveries({ limit: 9 }), await view.runs({ limit: 9 })], [[], []]);
  t.same([await view.delivery('d1'), await view.run('e1'), await view.replay('d1')], [undefined, undefined, undefined]);
});
