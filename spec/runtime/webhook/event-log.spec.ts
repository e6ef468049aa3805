import t from 'tap';
import type { Logger } from '../../../actors/ports.ts';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import { stateWords } from '../../../machines/base/status.ts';
import type { Route } from '../../../machines/config/route.ts';
import { compileKeptHeaders } from '../../../machines/webhook/kept-headers.ts';
import type { Outcome, OutcomeKind } from '../../../machines/webhook/reply.ts';
import type { RequestContext } from '../../../machines/webhook/webhook-request.machine.ts';
import { createDecisions } from '../../../runtime/webhook/event-log.ts';
import { type LiveRequest, liveRequest } from '../../../runtime/webhook/exchanges.ts';
import { openKeeper, turn } from '../../support/keeper.ts';

const keptHeaders = compileKeptHeaders(['x-team', 'authorization']);
const route = { name: 'r' as RouteName, profile: 'work' as ProfileName } as Route;

async function stage(events: 'summary' | 'all' = 'summary') {
  const { keeper, journal } = await openKeeper();
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  const log: Logger = {
    log: (level, message, fields = {}) => void lines.push({ level, message, fields: { ...fields } }),
    warnOnce: () => {},
  };
  const beats = new Set<() => void>();
  const decisions = createDecisions({
    log,
    every: (beat) => {
      beats.add(beat);
      return () => void beats.delete(beat);
    },
    isEachLogged: () => events === 'all',
    keeper,
    keptHeaders: (_, headers) => keptHeaders(headers),
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    diagnose: () => [],
    steadyMs: () => 0,
  });
  return { decisions, journal, lines, beats };
}

function live(headers: Record<string, string> = {}, body = ''): LiveRequest {
  const head = { method: 'POST', path: '/webhooks/r', headers };
  return liveRequest({ head, readBody: () => {}, reply: () => {} }, Buffer.from(body));
}

const known: RequestContext = {
  id: 'k1',
  origin: 'http',
  method: 'POST',
  path: '/webhooks/r',
  receivedAtMs: 5,
  route,
  profile: route.profile,
  event: 'push',
  deliveryId: 'd1',
  scheme: 'github',
};

const named = { route: 'r', event: 'push', deliveryId: 'd1' };
const rows: readonly (readonly [Outcome, string, number, 'journalled' | 'row' | 'refusal'])[] = [
  [{ kind: 'accepted', ...named }, 'info', 202, 'journalled'],
  [{ kind: 'coalesced', ...named }, 'info', 202, 'journalled'],
  [{ kind: 'cron', ...named }, 'info', 202, 'journalled'],
  [{ kind: 'delivered', route: 'r', target: 't', deliveryId: 'd1' }, 'info', 200, 'journalled'],
  [{ kind: 'deliveryFailed' }, 'error', 502, 'journalled'],
  [{ kind: 'ignoredEvent', event: 'push' }, 'info', 200, 'row'],
  [{ kind: 'ignoredFilter', route: 'r' }, 'info', 200, 'row'],
  [{ kind: 'ignoredScript', route: 'r' }, 'info', 200, 'row'],
  [{ kind: 'ignoredScriptFailed', route: 'r' }, 'warn', 200, 'row'],
  [{ kind: 'duplicate', deliveryId: 'd1' }, 'warn', 200, 'row'],
  [{ kind: 'tooLarge' }, 'warn', 413, 'refusal'],
  [{ kind: 'unknownRoute' }, 'warn', 404, 'refusal'],
  [{ kind: 'routeDisabled' }, 'info', 403, 'refusal'],
  [{ kind: 'methodNotAllowed' }, 'info', 405, 'refusal'],
  [{ kind: 'badSignature' }, 'warn', 401, 'refusal'],
  [{ kind: 'badBody' }, 'warn', 400, 'refusal'],
  [{ kind: 'rateLimited', retryAfterSeconds: 7 }, 'warn', 429, 'refusal'],
  [{ kind: 'pending' }, 'info', 503, 'refusal'],
  [{ kind: 'unavailable' }, 'error', 503, 'refusal'],
  [{ kind: 'overloaded' }, 'info', 503, 'refusal'],
  [{ kind: 'draining' }, 'info', 503, 'refusal'],
  [{ kind: 'internal' }, 'info', 500, 'refusal'],
];

t.test(
  'OBS-1 · DUR-2 · every outcome has one line with its delivery id, and leaves what its kind leaves',
  async (t) => {
    for (const [outcome, level, status, leaves] of rows) {
      const { decisions, journal, lines } = await stage();
      // A duplicate by its id has come as far as the claim.
      decisions.decided({ ...known, prompt: 'p', outcome, reason: 'why' }, live());
      await turn();

      const fields = {
        delivery_id: 'd1',
        request: 'k1',
        route: 'r',
        profile: 'work',
        event: 'push',
        scheme: 'github',
        reason: 'why',
        path: undefined,
        status,
      };
      t.same(lines, [{ level, message: `webhook ${stateWords(outcome.kind)}`, fields }], outcome.kind);
      t.equal(journal.local?.get('events', 'k1') !== undefined, leaves === 'row', `${outcome.kind}: a row`);
      t.equal([...decisions.refused.newestFirst()].length, leaves === 'refusal' ? 1 : 0, `${outcome.kind}: a refusal`);
    }
  },
);

t.test(
  'OBS-1 · accepted events of a second share a line unless each is asked for; a refusal has its own',
  async (t) => {
    const accepted: RequestContext = { ...known, outcome: { kind: 'accepted', ...named } };
    const other: RequestContext = { ...accepted, route: { ...route, name: 'constructor' as RouteName } };
    const { decisions, lines, beats } = await stage();
    const heard = () => lines.splice(0).map(({ message, fields: { events, routes } }) => [message, events, routes]);
    const beat = () => {
      for (const each of [...beats]) each();
    };
    const summary = 'webhooks accepted within a second';

    for (const context of [accepted, accepted, other, accepted]) decisions.decided(context, live());
    decisions.decided({ ...known, outcome: { kind: 'cron', ...named }, reason: 'the job is paused' }, live());
    decisions.decided({ ...known, outcome: { kind: 'badSignature' } }, live());
    t.same(heard(), [
      ['webhook accepted', undefined, undefined],
      ['webhook cron', undefined, undefined],
      ['webhook bad signature', undefined, undefined],
    ]);
    beat();
    t.same(heard(), [[summary, 3, { 'work/r': 2, 'work/constructor': 1 }]]);
    decisions.decided(accepted, live());
    t.same(heard(), [], 'the second after a busy one begins with no line of its own');
    beat();
    t.same(heard(), [[summary, 1, { 'work/r': 1 }]]);
    beat();
    t.same([heard(), beats.size], [[], 0], 'a quiet second ends the count');
    decisions.decided(accepted, live());
    t.same(heard(), [['webhook accepted', undefined, undefined]]);

    decisions.decided(accepted, live());
    decisions.close();
    t.same([heard(), beats.size], [[[summary, 1, { 'work/r': 1 }]], 0], 'a gateway that stops leaves nothing unsaid');

    const all = await stage('all');
    for (const context of [accepted, accepted, other]) all.decisions.decided(context, live());
    t.same(
      all.lines.map(({ message }) => message),
      ['webhook accepted', 'webhook accepted', 'webhook accepted'],
    );
  },
);

t.test('CON-2 · DUR-2 · what a gateway that stopped left to its delivery is in the journal already', async (t) => {
  const { decisions, lines } = await stage();
  decisions.decided({ ...known, work: 'k1', outcome: { kind: 'draining' } }, live());
  await turn();
  t.same([[...decisions.refused.newestFirst()], lines.map(({ message }) => message)], [[], ['webhook draining']]);
});

t.test('DUR-2 · OBS-1 · a row of what was passed over holds what a replay needs and no credential', async (t) => {
  const { decisions, journal, lines } = await stage();
  const headers = { 'x-github-event': 'push', 'x-team': 'a', authorization: 'Basic hunter2', 'x-other': 'b' };
  const outcome: Outcome = { kind: 'ignoredFilter', route: 'r' };
  decisions.decided({ ...known, outcome, reason: 'filter: it saw hunter2' }, live(headers, '{"a":1}'));
  await turn();

  t.same(journal.local?.get('events', 'k1')?.value, {
    deliveryId: 'd1',
    route: 'r',
    profile: 'work',
    event: 'push',
    status: 'ignored',
    outcome: 'ignoredFilter',
    reason: 'filter: it saw [redacted]',
    receivedAtMs: 5,
    headers: { 'x-github-event': 'push', 'x-team': 'a' },
    body: '{"a":1}',
    scheme: 'github',
  });
  const [row] = await journal.list('events', { limit: 1, order: 'newest' });
  t.equal(row?.dueAtMs, undefined, 'it owes nobody anything');

  decisions.decided({ ...known, prompt: 'p', id: 'k2', outcome: { kind: 'duplicate', deliveryId: 'd1' } }, undefined);
  await turn();
  t.match(journal.local?.get('events', 'k2')?.value, {
    status: 'duplicate',
    reason: 'duplicate',
    body: '',
    headers: {},
  });
  t.match(lines.at(-1), { level: 'info' }, 'only one that repeats a signature has a reason');

  const repeated: RequestContext = {
    ...known,
    prompt: 'p',
    id: 'k3',
    outcome: { kind: 'duplicate', deliveryId: 'd3' },
  };
  decisions.decided({ ...repeated, replay: { of: 'k1' } }, undefined);
  await turn();
  t.equal(journal.local?.get('events', 'k3'), undefined, 'a replay of what was replayed meanwhile is no event');

  for (const id of ['k4', 'k5'])
    decisions.decided({ ...known, id, outcome, replay: { of: 'k1', isOnce: true } }, live());
  await turn();
  const rows = ['k4', 'k5'].map((id) => journal.local?.get('events', id)?.value.replayOf);
  t.same(rows, ['k1', undefined], 'nor is the second of two replays of several, if a filter ignores both');
});

t.test(
  'SEC-6 · SEC-8 · a repeated signature leaves one counted row in memory for each event, and nothing on disk',
  async (t) => {
    const { decisions, journal } = await stage();
    const outcome: Outcome = { kind: 'duplicate', deliveryId: 'd' };
    for (const [id, reason] of [
      ['k2', 'same signature as delivery a'],
      ['k3', 'same signature as delivery a'],
      ['k4', 'same signature as delivery b'],
    ] as const)
      decisions.decided({ ...known, id, outcome, reason }, live({}, '{"a":1}'));
    await turn();

    t.match(
      [...decisions.refused.newestFirst()],
      [
        { key: 'k4', event: { status: 'duplicate', reason: /delivery b/, body: '' } },
        { key: 'k3', event: { reason: /delivery a/ }, alike: { count: 2, firstKey: 'k2' } },
      ],
    );
    t.same(journal.local?.list('events', { limit: 1, order: 'newest' }), []);
  },
);

t.test('SEC-8 · behind a proxy of this machine the sender is the last that it names', async (t) => {
  const { decisions } = await stage();
  for (const [id, address, forwarded] of [
    ['k1', '127.0.0.1', '203.0.113.9, 192.0.2.1'],
    ['k2', '127.0.0.1', '203.0.113.8, 192.0.2.1'],
    ['k3', '::1', '192.0.2.2'],
    ['k4', '192.0.2.3', '192.0.2.1'],
  ] as const) {
    const from = { ...live({ 'x-forwarded-for': forwarded }), address };
    decisions.decided({ ...known, id, outcome: { kind: 'badSignature' }, reason: 'why' }, from);
  }

  t.same(
    [...decisions.refused.newestFirst()].map(({ key }) => key),
    ['k4', 'k3', 'k2'],
  );
});

t.test('SEC-8 · OBS-1 · a path and an address of any length cost a refusal no more than a line', async (t) => {
  const { decisions, lines } = await stage();
  const long = 'x'.repeat(10_000);
  const stray = { ...known, route: undefined, profile: undefined, path: `/${long}` };
  decisions.decided({ ...stray, outcome: { kind: 'unknownRoute' }, reason: 'why' }, live());
  for (const id of ['k1', 'k2']) {
    const from = { ...live({ 'x-forwarded-for': `${long}${id}` }), address: '127.0.0.1' };
    decisions.decided({ ...known, id, outcome: { kind: 'badSignature' }, reason: 'why' }, from);
  }

  t.ok(
    lines.every((line) => JSON.stringify(line).length < 500),
    'the log',
  );
  t.same(
    [...decisions.refused.newestFirst()].map(({ key, alike }) => [key, alike?.count]),
    [
      ['k2', 2],
      ['k1', undefined],
    ],
    'one sender, by the beginning of the address',
  );
});

t.test('EVT-1 · a ping that is not listed is logged at debug, and kept like any other', async (t) => {
  const { decisions, journal, lines } = await stage();
  decisions.decided({ ...known, outcome: { kind: 'ignoredEvent', event: 'ping' }, reason: 'ping' }, live());
  await turn();
  t.match(lines, [{ level: 'debug', message: 'webhook ignored event' }]);
  t.match(journal.local?.get('events', 'k1')?.value, { status: 'ignored', reason: 'ping' });
});

t.test('OBS-1 · a request that is refused unread has the id by which its sender asks for it', async (t) => {
  const { decisions, lines } = await stage();
  const { route: _, profile: __, event: ___, deliveryId: ____, scheme: _____, ...unread } = known;
  decisions.decided({ ...unread, outcome: { kind: 'unknownRoute' } }, live({ 'x-github-delivery': 'theirs' }));
  decisions.decided({ ...unread, id: 'k2', outcome: { kind: 'tooLarge' } }, live({ 'webhook-id': 'x'.repeat(900) }));
  decisions.decided({ ...unread, id: 'k3', outcome: { kind: 'badSignature' } }, live());
  decisions.decided(
    { ...unread, id: 'k4', outcome: { kind: 'badSignature' } },
    {
      ...live({ 'webhook-id': 'a hunter2' }),
      address: '192.0.2.1',
    },
  );

  t.match(lines, [
    { fields: { delivery_id: 'theirs', path: '/webhooks/r' } },
    { fields: { delivery_id: 'x'.repeat(200) } },
    { fields: { delivery_id: undefined, request: 'k3' } },
    { fields: { delivery_id: 'a [redacted]' } },
  ]);
  t.match(
    [...decisions.refused.newestFirst()].map(({ event }) => event),
    [
      { deliveryId: 'a [redacted]' },
      { deliveryId: 'k3', route: '/webhooks/r', profile: 'default', event: 'unknown', reason: 'badSignature' },
      { deliveryId: 'x'.repeat(200) },
      { deliveryId: 'theirs', status: 'refused', headers: {}, body: '' },
    ],
  );
});

t.test('LIM-1 · a client that left before its body was whole leaves one line and nothing else', async (t) => {
  const { decisions, journal, lines } = await stage();
  decisions.decided(known, live());
  await turn();
  t.match(lines, [{ level: 'info', message: /abandoned: the client left/, fields: { status: undefined } }]);
  t.equal(lines.length, 1);
  t.same([journal.local?.get('events', 'k1'), [...decisions.refused.newestFirst()]], [undefined, []]);
});

t.test('SEC-8 · DUR-2 · refusals are counted in memory by their address; unsigned requests fill no disk', async (t) => {
  const { decisions, journal } = await stage();
  const kind: OutcomeKind = 'badSignature';
  const from = (address: string): LiveRequest => ({ ...live(), address });
  for (let n = 0; n < 1_500; n += 1) {
    decisions.decided({ ...known, id: `k${10_000 + n}`, outcome: { kind } }, from(`192.0.2.${n % 2}`));
  }
  await turn();

  t.same(
    [...decisions.refused.newestFirst()].map(({ key, alike }) => [key, alike?.count]),
    [
      ['k11499', 750],
      ['k11498', 750],
    ],
  );
  t.same(journal.local?.list('events', { limit: 1, order: 'newest' }), []);
});
