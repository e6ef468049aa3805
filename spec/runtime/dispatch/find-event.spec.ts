import t from 'tap';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { EventRecord } from '../../../machines/webhook/record.ts';
import type { EventChoice } from '../../../runtime/control/contract/choices.ts';
import { Refusal } from '../../../runtime/control/contract/refusal.ts';
import { createFindEvent, eventsOfId, type FoundEvent } from '../../../runtime/dispatch/find-event.ts';
import { plainEvent } from '../../support/records.ts';

type Rows = Readonly<Record<string, Partial<EventRecord>>>;

async function finderOf({ events, runs = {}, refused = {} }: { events: Rows; runs?: Rows; refused?: Rows }) {
  const journal = openMemoryJournal();
  const put = (collection: 'events' | 'runs', key: string, value: object) =>
    ({ kind: 'put', collection, key, value: value as JsonObject }) as const;
  await journal.commit([
    ...Object.entries(events).map(([key, event]) => put('events', key, { ...plainEvent, ...event })),
    ...Object.entries(runs).map(([key, run]) => put('runs', key, run)),
  ]);
  const refusals: FoundEvent[] = Object.entries(refused).map(([key, event]) => ({
    key,
    event: { ...plainEvent, ...event },
  }));
  const find = createFindEvent({
    journal: () => journal,
    refused: {
      withId: (id) => refusals.filter(({ key, event }) => key === id || event.deliveryId === id),
      newestFirst: () => [...refusals].reverse(),
    },
  });
  return {
    journal,
    keyOf: (id: string, choice?: EventChoice, acts?: boolean) => find(id, choice, acts).then((found) => found?.key),
  };
}

/** What is refused, as a person reads it. */
async function refusalOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    return `found ${String(await ask())}`;
  } catch (error) {
    if (error instanceof Refusal) return `${error.code}: ${error.message}`;
    throw error;
  }
}

t.test('DUR-2 · an event is found by its key, its id or the key of its run', async (t) => {
  const { keyOf } = await finderOf({
    events: { k1: { deliveryId: 'd1' }, k2: { deliveryId: 'd2' }, k3: { deliveryId: 'k2' } },
    runs: { burst: { eventKey: 'k1' } as object, lost: { eventKey: 'k9' } as object },
  });
  const rows: readonly (readonly [id: string, key: string | undefined])[] = [
    ['k1', 'k1'],
    ['d2', 'k2'],
    ['k2', 'k2'],
    ['burst', 'k1'],
    ['lost', undefined],
    ['nothing', undefined],
  ];
  for (const [id, key] of rows) t.equal(await keyOf(id), key, id);
  const none = createFindEvent({ journal: () => undefined, refused: { withId: () => [], newestFirst: () => [] } });
  t.equal(await none('d1'), undefined, 'no journal is open');
});

t.test('IDM-1 · of the events that came to one route under an id the newest is meant, a duplicate never', async (t) => {
  const { keyOf, journal } = await finderOf({ events: { k1: {}, k2: {}, k3: { status: 'duplicate' } } });
  t.equal(await keyOf('d'), 'k2');
  t.same(
    (await eventsOfId(journal, 'd')).map(({ key }) => key),
    ['k2'],
  );
  t.same(await eventsOfId(undefined, 'd'), []);
});

t.test(
  'DUR-2 · IDM-1 · an id that came to several routes is refused with their names until one is chosen',
  async (t) => {
    const { keyOf } = await finderOf({
      events: { k1: { route: 'a' }, k2: { route: 'b', receivedAtMs: 1_000 }, k3: { route: 'b', profile: 'work' } },
    });
    const refusal = await refusalOf(() => keyOf('d'));
    t.match(refusal, /^delivery-ambiguous: the id "d" names 3 events of different routes:/);
    t.match(refusal, /\n {2}k2 {2}received 1970-01-01T00:00:01\.000Z, route "b", profile "default"/);
    t.match(refusal, /--route and --profile$/);
    t.match(await refusalOf(() => keyOf('d', { route: 'b' })), /names 2 events/);
    t.equal(await keyOf('d', { route: 'a' }), 'k1');
    t.equal(await keyOf('d', { profile: 'work' }), 'k3');
    t.equal(await keyOf('d', { route: 'b', profile: 'default' }), 'k2');
    t.equal(await keyOf('d', { route: 'c' }), undefined);
    t.equal(await keyOf('k1', { route: 'b' }), undefined, 'a key of another route is none of it');
  },
);

t.test('DUR-2 · of very many candidates the first are named and the others counted', async (t) => {
  const events = Object.fromEntries(
    Array.from({ length: 25 }, (_, n) => [`k${10 + n}`, { route: `r${n}\n` }] as const),
  );
  const refusal = await refusalOf((await finderOf({ events })).keyOf.bind(undefined, 'd'));
  t.match(refusal, /\n {2}k34 [^\n]*route "r24\\n"/, 'the newest first, a route’s name on its line');
  t.match(refusal, /\n {2}and 5 more\n/);
  t.equal(refusal.split('\n').length, 1 + 20 + 1 + 1);
});

t.test('DUR-2 · a refused request, which no disk holds, is found after what the journal has', async (t) => {
  const { keyOf } = await finderOf({
    events: { k1: {} },
    refused: { x3: { deliveryId: 'e' }, x2: { deliveryId: 'e' }, x1: {}, x0: { deliveryId: 'e', route: 'other' } },
  });
  t.equal(await keyOf('d'), 'k1');
  t.equal(await keyOf('x1'), 'x1', 'by its key');
  t.equal(await keyOf('e', { route: 'r' }), 'x3', 'the newest of its route');
  t.equal(await keyOf('x0', { route: 'r' }), undefined);
  t.match(await refusalOf(() => keyOf('e')), /^delivery-ambiguous: the id "e" names 2 events/);
});

t.test('CLI-6 · an event is found by the beginning of its key or id, and by `latest`', async (t) => {
  const { keyOf } = await finderOf({
    events: {
      key1aa: { deliveryId: 'order-12' },
      key1bb: { deliveryId: 'guid-a', route: 'other' },
      key2: { deliveryId: 'guid-a', status: 'duplicate' },
      key3: { deliveryId: 'latest' },
    },
    refused: { key2q: { deliveryId: 'order-13' }, key3r: { deliveryId: 'turned-away', route: 'other' } },
  });
  t.equal(await keyOf('key1a'), 'key1aa');
  t.equal(await keyOf('order-1'), 'key1aa', 'a refused request never competes');
  t.equal(await keyOf('order-1', {}, true), undefined, 'what acts takes a complete id of the sender');
  t.equal(await keyOf('key1a', {}, true), 'key1aa', 'or the beginning of a key');
  t.equal(await keyOf('guid'), 'key1bb', 'a duplicate is no candidate');
  t.equal(await keyOf('turned'), 'key3r');
  t.equal(await keyOf('key'), undefined, 'too short');
  t.equal(await keyOf('latest'), 'key3r', 'a refused request is listed too');
  t.equal(await keyOf('latest', {}, true), 'key3', 'and never acted on');
  t.equal(await keyOf('latest', { route: 'r' }), 'key3', 'the choice narrows');
  t.equal(await keyOf('key1', { route: 'other' }), 'key1bb', 'the choice narrows');
  t.match(
    await refusalOf(() => keyOf('key1')),
    /^id-ambiguous: several ids begin with "key1":\n {2}key1aa {2}"order-12", route "r"\n {2}key1bb .*\ngive more/,
  );
});
