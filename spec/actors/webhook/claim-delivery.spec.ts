import t from 'tap';
import type { Collection, Journal, Write } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { createBatches } from '../../../actors/webhook/batches.ts';
import {
  type ClaimPorts,
  type ClaimRequest,
  type ClaimVerdict,
  createClaimDelivery,
  type JobFinding,
} from '../../../actors/webhook/claim-delivery.ts';
import { readSignatureHolder, signatureHolder } from '../../../actors/webhook/event-claims.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { idMark } from '../../../machines/webhook/marks.ts';
import {
  claimLifeMs,
  claimName,
  type DeliveryRecord,
  type EventRecord,
  type RunRecord,
  signatureClaim,
} from '../../../machines/webhook/record.ts';
import { diskFull, gate, openKeeper } from '../../support/keeper.ts';
import { fc } from '../../support/property.ts';
import { plainEvent } from '../../support/records.ts';

const job: JobFinding = {
  kind: 'ready',
  work: {
    prompt: 'the job says',
    skills: ['its skill'],
    model: 'its model',
    deliver: 'its target',
    deliverExtra: { channel: 'its own' },
    onFailure: undefined,
    cronJob: 'nightly',
  },
};

const event: EventRecord = {
  ...plainEvent,
  deliveryId: 'd1',
  receivedAtMs: 1_000,
  headers: { 'x-kept': 'yes' },
  body: '{"a":1}',
  prompt: 'the route says',
  deliver: 'telegram',
  deliverExtra: { chat: 7 },
  skills: ['the skill of the route'],
};

const group = { kind: 'group', groupKey: 'pr-7', windowMs: 100, maxWaitMs: 1_000 } as const;
const plans: readonly ClaimRequest['plan'][] = [
  { kind: 'run' },
  { kind: 'direct' },
  { kind: 'cron', job: 'nightly' },
  group,
];

function ask(key: string, plan: ClaimRequest['plan'], more: Partial<EventRecord> = {}, nowMs = 1_000): ClaimRequest {
  return { key, nowMs, plan, event: { ...event, ...more, ...(plan.kind === 'cron' ? { status: 'cron' } : {}) } };
}

async function claimer(journal: Journal = openMemoryJournal(), ports: Partial<ClaimPorts> = {}, owner = 'gateway') {
  const { keeper, refused } = await openKeeper(journal, owner);
  const claimDelivery = createClaimDelivery({
    keeper,
    batches: createBatches(keeper),
    findJob: () => job,
    placeOf: ({ extra }) => (extra.chat_id === undefined ? undefined : String(extra.chat_id)),
    hasRoom: () => true,
    reports: { nextOrder: () => 1, open: () => {} },
    ...ports,
  });
  const claim = (request: ClaimRequest): Promise<ClaimVerdict> =>
    new Promise((resolve) => claimDelivery(request, resolve));
  return { claim, keeper, journal, refused, session: keeper.session() };
}

const collections: readonly Collection[] = ['events', 'runs', 'groups', 'deliveries'];
/** How many records each collection holds. */
const sizes = (journal: Journal): Record<string, number> =>
  Object.fromEntries(
    collections.map((name) => [name, journal.local?.list(name, { limit: 1_000, order: 'oldest' }).length ?? 0]),
  );

t.test('DUR-1 · CRN-2 · each plan puts the event, its claim and its work on disk in one commit', async (t) => {
  const rows = [
    {
      plan: { kind: 'run' },
      verdict: { kind: 'granted', opened: { kind: 'run', key: 'k1', record: { status: 'queued' } }, work: 'k1' },
      sizes: { events: 1, runs: 1, groups: 0, deliveries: 0 },
      work: { collection: 'runs', key: 'k1', value: { kind: 'agent', status: 'queued', attempt: 0, eventKey: 'k1' } },
    },
    {
      plan: { kind: 'direct' },
      verdict: { kind: 'granted', opened: { kind: 'direct', key: 'k1', record: { status: 'sending' } }, work: 'k1' },
      sizes: { events: 1, runs: 0, groups: 0, deliveries: 1 },
      work: {
        collection: 'deliveries',
        key: 'k1',
        value: { status: 'sending', target: 'telegram', text: 'the route says', extra: { chat: 7 } },
      },
    },
    {
      plan: { kind: 'cron', job: 'nightly' },
      verdict: { kind: 'granted', opened: { kind: 'run', key: 'k1', record: { kind: 'cron' } }, work: 'k1' },
      sizes: { events: 1, runs: 1, groups: 0, deliveries: 0 },
      work: { collection: 'runs', key: 'k1', value: { kind: 'cron', status: 'queued' } },
    },
    {
      plan: group,
      verdict: {
        kind: 'granted',
        opened: { kind: 'group', key: 'default/r/pr-7', profile: 'default', route: 'r', burst: { id: 'k1', count: 1 } },
        work: 'k1',
      },
      sizes: { events: 1, runs: 0, groups: 1, deliveries: 0 },
      work: {
        collection: 'groups',
        key: 'default/r/pr-7',
        value: { groupKey: 'pr-7', burst: { id: 'k1', dueAtMs: 1_100 } },
      },
    },
  ] as const;
  for (const { plan, verdict, sizes: expected, work } of rows) {
    const { claim, journal, session } = await claimer();

    const given = await claim(ask('k1', plan));

    t.match(given, verdict, plan.kind);
    t.same(sizes(journal), expected, plan.kind);
    t.match(journal.local?.get('events', 'k1'), { value: { deliveryId: 'd1', work: 'k1', body: '{"a":1}' } });
    t.match(
      journal.local?.get(work.collection, work.key),
      { value: work.value, heldBy: session },
      `${plan.kind}: held`,
    );
    t.type(journal.local?.get(work.collection, work.key)?.dueAtMs, 'number', `${plan.kind}: due`);
    t.equal(journal.local?.get('events', 'k1')?.dueAtMs, undefined, 'an event is no work by itself');
    t.same(journal.local?.claimed(claimName('default', 'r', 'd1')), { eventKey: 'k1' });
  }
});

t.test('DUR-2 · the claim of an id leads to its event, whatever the plan', async (t) => {
  for (const plan of plans) {
    const journal = openMemoryJournal();
    const written: Write[] = [];
    const { claim } = await claimer({
      ...journal,
      submit(writes, settled) {
        written.push(...writes);
        journal.submit(writes, settled);
      },
    });
    await claim(ask('k1', plan));
    const name = claimName('default', 'r', 'd1');
    const claims = written.filter((write) => write.kind === 'claim' && write.name === name);
    t.match(claims, [{ event: 'k1', value: { eventKey: 'k1' } }], plan.kind);
  }
});

t.test('DUR-1 · DLV-2 · a direct text is on disk with the chat that it goes to', async (t) => {
  const { claim, journal } = await claimer(openMemoryJournal(), { placeOf: ({ target }) => `home of ${target}` });
  await claim(ask('k1', { kind: 'direct' }, { deliver: 'slack' }));
  t.match(journal.local?.get('deliveries', 'k1')?.value, { status: 'sending', chat: 'home of slack' });
});

t.test('IDM-1 · an id claimed within the hour is taken, and a repeat leaves nothing, whatever its plan', async (t) => {
  for (const first of plans) {
    for (const second of plans) {
      const { claim, journal } = await claimer();
      t.match(await claim(ask('k1', first)), { kind: 'granted' });
      const before = sizes(journal);

      const kind = first.kind === 'direct' ? 'pending' : 'duplicate';
      t.same(await claim(ask('k2', second, {}, 1_000 + claimLifeMs - 1)), { kind });

      t.same(sizes(journal), before, `${second.kind} after ${first.kind}`);
      t.equal(journal.local?.get('groups', 'default/r/pr-7')?.version, first.kind === 'group' ? 1 : undefined);
    }
  }
});

t.test('IDM-2 · DUR-1 · an id of a direct delivery is a duplicate only once that was delivered', async (t) => {
  const rows: readonly (readonly [Partial<DeliveryRecord>, 'pending' | 'duplicate'])[] = [
    [{ status: 'sending' }, 'pending'],
    [{ status: 'queued' }, 'pending'],
    [{ status: 'waitingToRetry', dueAtMs: 2_000 }, 'pending'],
    [{ status: 'delivered' }, 'duplicate'],
  ];
  for (const [more, kind] of rows) {
    const { claim, journal, keeper } = await claimer();
    await claim(ask('k1', { kind: 'direct' }));
    const value = { ...journal.local?.get('deliveries', 'k1')?.value, ...more } as JsonObject;
    await keeper.commit([{ kind: 'put', collection: 'deliveries', key: 'k1', value }]);

    for (const plan of plans) t.same(await claim(ask('k2', plan)), { kind }, `${plan.kind} after ${more.status}`);
    t.equal(journal.local?.get('events', 'k2'), undefined, 'and leaves nothing');
  }
});

t.test('IDM-2 · a response that is still being delivered is durable work: its id is a duplicate', async (t) => {
  const { claim, keeper } = await claimer();
  await claim(ask('k1', { kind: 'run' }));
  const response = { eventKey: 'k1', runKey: 'k1', status: 'sending' };
  await keeper.commit([{ kind: 'put', collection: 'deliveries', key: 'k1', value: response }]);

  t.same(await claim(ask('k2', { kind: 'run' })), { kind: 'duplicate' });
});

t.test('DUR-2 · of two replays of an event among several, the second is a duplicate, whatever its plan', async (t) => {
  for (const plan of plans) {
    const { claim } = await claimer();
    const replay = (key: string) => ({
      ...ask(key, plan, { deliveryId: key, replayOf: 'e1' }),
      first: [{ kind: 'claim', name: 'replay/e1', value: { eventKey: key }, forMs: claimLifeMs } as const],
    });
    t.match(await claim(replay('k1')), { kind: 'granted' });
    t.same(await claim(replay('k2')), { kind: 'duplicate' }, plan.kind);
  }
});

t.test('IDM-1 · an hour later, on another route or in another profile the same id is new', async (t) => {
  for (const [more, nowMs] of [
    [{}, 1_000 + claimLifeMs],
    [{ route: 'other' }, 1_000],
    [{ profile: 'work' }, 1_000],
    [{ deliveryId: 'D1' }, 1_000],
  ] as const) {
    let time = 1_000;
    const { claim } = await claimer(openMemoryJournal(() => time));
    await claim(ask('k1', { kind: 'run' }));

    time = nowMs;
    t.match(await claim(ask('k2', { kind: 'run' }, more, nowMs)), { kind: 'granted' }, JSON.stringify({ more, nowMs }));
  }
});

t.test(
  'SEC-6 · a signature that came before under another id is a duplicate that says so, whatever its plan',
  async (t) => {
    const signed = { signatureDigest: 's1' };
    const again = { ...signed, deliveryId: 'd2' };
    const reason = 'same signature as delivery d1';
    for (const first of plans) {
      for (const second of plans) {
        let time = 1_000;
        const { claim, journal } = await claimer(openMemoryJournal(() => time));
        await claim(ask('k1', first, signed));
        const before = sizes(journal);
        time += claimLifeMs - 1;

        const taken = first.kind === 'direct' ? { kind: 'pending' } : { kind: 'duplicate', reason };
        t.same(await claim(ask('k2', second, again, 1_000 + claimLifeMs - 1)), taken);

        t.same(sizes(journal), before, `${second.kind} after ${first.kind}`);
        t.equal(journal.local?.claimed(claimName('default', 'r', 'd2')), undefined, 'and its id stays free');
      }
    }
    let now = 1_000;
    const { claim } = await claimer(openMemoryJournal(() => now));
    await claim({ ...ask('k1', { kind: 'run' }, signed), signatureForMs: 3 * claimLifeMs });
    for (const [ms, kind] of [
      [3 * claimLifeMs - 1, 'duplicate'],
      [3 * claimLifeMs, 'granted'],
    ] as const) {
      now = 1_000 + ms;
      t.match(await claim(ask(`k${ms}`, { kind: 'run' }, again, now)), { kind }, 'as long as it is genuine');
    }
    for (const [more, nowMs, verdict] of [
      [signed, 1_000, { kind: 'duplicate' }],
      [{ ...again, route: 'other' }, 1_000, { kind: 'duplicate', reason: `${reason} of route "r"` }],
      [{ ...signed, route: 'other' }, 1_000, { kind: 'duplicate', reason: `${reason} of route "r"` }],
      [{ ...again, profile: 'work' }, 1_000, { kind: 'duplicate', reason: /^same signature as a delivery of profile/ }],
      [{ ...again, signatureDigest: 's2' }, 1_000, { kind: 'granted' }],
      [{ deliveryId: 'd2' }, 1_000, { kind: 'granted' }],
      [again, 1_000 + claimLifeMs, { kind: 'granted' }],
    ] as const) {
      let time = 1_000;
      const { claim } = await claimer(openMemoryJournal(() => time));
      await claim(ask('k1', { kind: 'run' }, signed));
      time = nowMs;
      t.match(await claim(ask('k2', { kind: 'run' }, more, nowMs)), verdict, JSON.stringify({ more, nowMs }));
    }
  },
);

t.test('SEC-6 · IDM-2 · a run that failed releases its signature with its id, to one event', async (t) => {
  const signed = { signatureDigest: 's1' };
  for (const more of [signed, { ...signed, deliveryId: 'd2' }]) {
    const { claim, journal, keeper } = await claimer();
    await claim(ask('k1', { kind: 'run' }, signed));
    const value = { ...journal.local?.get('runs', 'k1')?.value, status: 'failed' };
    await keeper.commit([{ kind: 'put', collection: 'runs', key: 'k1', value }]);

    t.match(await claim(ask('k2', { kind: 'run' }, more)), { kind: 'granted', work: 'k2' });
    t.match(await claim(ask('k3', { kind: 'run' }, { ...signed, deliveryId: 'd3' })), { kind: 'duplicate' });
    t.match(await claim(ask('k4', { kind: 'run' }, signed)), { kind: 'duplicate' }, 'the id alone is of no use');
    t.match(journal.local?.get('events', 'k2')?.value, { told: { repeats: 'k1' } });
    t.match(journal.local?.get('runs', 'k1')?.value, { repeatedBy: 'k2' });
  }
});

t.test('SEC-6 · the holder of a signature is the same whether it is read at once or over a network', async (t) => {
  const { claim, journal, keeper } = await claimer();
  const name = signatureClaim('s1');
  const both = async () => {
    const known = signatureHolder(keeper, name);
    t.same(await readSignatureHolder(keeper, name), known);
    return known;
  };
  t.equal(await both(), undefined);
  await claim(ask('k1', { kind: 'run' }, { signatureDigest: 's1' }));
  t.match(await both(), { deliveryId: 'd1', route: 'r' });
  const value = { ...journal.local?.get('runs', 'k1')?.value, status: 'failed' };
  await keeper.commit([{ kind: 'put', collection: 'runs', key: 'k1', value }]);
  t.equal(await both(), undefined, 'a failed run has released it');
});

t.test('SEC-6 · DUR-1 · an event that the disk refuses leaves no signature behind', async (t) => {
  for (const plan of plans) {
    const stage = gate();
    const { claim, journal } = await claimer(stage.journal);
    const asked = claim(ask('k1', plan, { signatureDigest: 's1' }));
    await stage.refuse();
    t.match(await asked, { kind: 'unavailable' });
    t.equal(journal.local?.claimed(signatureClaim('s1')), undefined);
    const again = claim(ask('k2', plan, { signatureDigest: 's1' }));
    await stage.settle();
    t.match(await again, { kind: 'granted', work: 'k2' }, `${plan.kind}: the sender tries again`);
  }
});

t.test(
  'SEC-6 · of equal signatures at the same instant exactly one is granted, on one gateway and on two',
  async (t) => {
    for (const plan of plans) {
      const stage = gate();
      const [one, other] = [await claimer(stage.journal, {}, 'one'), await claimer(stage.journal, {}, 'other')];
      const asked = Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? one : other).claim(ask(`k${n}`, plan, { deliveryId: `d${n}`, signatureDigest: 's1' })),
      );
      await stage.settle();
      const granted = (await Promise.all(asked)).filter(({ kind }) => kind === 'granted');
      t.equal(granted.length, 1, plan.kind);
    }
  },
);

t.test('SEC-6 · DUR-2 · the claim of a signature is kept as long as its event, and does not lead to it', async (t) => {
  let time = 1_000;
  const journal = openMemoryJournal(() => time);
  const { claim, keeper } = await claimer(journal);
  const long = 'd'.repeat(600);
  await claim(ask('0k1', { kind: 'run' }, { signatureDigest: 's1', deliveryId: long }));
  await keeper.commit([{ kind: 'put', collection: 'runs', key: '0k1', value: { status: 'delivered' } }]);
  const name = signatureClaim('s1');
  const found = () => journal.local?.marked('events', { marks: [idMark(long)], limit: 2 }).map(({ key }) => key);
  t.same(found(), ['0k1'], 'an id whose claim lies under a digest has its mark');

  await journal.prune({ keepAfterKey: '1', maxBytes: 1e9 });
  t.same(found(), []);
  t.ok(journal.local?.claimed(name), 'its window still runs');
  time += claimLifeMs;
  await journal.prune({ keepAfterKey: '1', maxBytes: 1e9 });
  t.equal(journal.local?.claimed(name), undefined, 'gone with its window, as the event is gone');
});

t.test('IDM-2 · of equal ids at the same instant exactly one is granted, on one gateway and on two', async (t) => {
  for (const plan of plans) {
    const stage = gate();
    const [one, other] = [await claimer(stage.journal, {}, 'one'), await claimer(stage.journal, {}, 'other')];

    const asked = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : other).claim(ask(`k${n}`, plan)));
    await stage.settle();
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind);

    const taken = plan.kind === 'direct' ? 'pending' : 'duplicate';
    t.same(kinds.sort(), [...Array(19).fill(taken), 'granted'].sort(), plan.kind);
    const { events, runs, groups, deliveries } = sizes(stage.journal) as Record<Collection, number>;
    t.same([events, runs + groups + deliveries], [1, 1], plan.kind);
  }
});

t.test(
  'DUR-1 · a commit that the disk refuses is unavailable and leaves nothing, so that a repeat is new',
  async (t) => {
    for (const plan of plans) {
      const stage = gate();
      const { claim, journal, refused } = await claimer(stage.journal);
      const asked = claim(ask('k1', plan));
      await stage.refuse();

      t.same(await asked, { kind: 'unavailable', reason: diskFull.message }, plan.kind);
      t.same(sizes(journal), { events: 0, runs: 0, groups: 0, deliveries: 0 }, plan.kind);
      t.equal(journal.local?.claimed(claimName('default', 'r', 'd1')), undefined);
      t.same(refused, [diskFull]);

      const again = claim(ask('k2', plan));
      await stage.settle();
      t.match(await again, { kind: 'granted', work: 'k2' }, `${plan.kind}: the sender tries again`);
    }
  },
);

t.test('DUR-1 · without an open journal nothing is granted', async (t) => {
  for (const plan of plans) {
    const { claim, keeper } = await claimer();
    await keeper.close();

    t.match(await claim(ask('k1', plan)), { kind: 'unavailable', reason: /not open/ }, plan.kind);
  }
});

t.test('DIS-3 · a run that finds no room stays on disk, due and held by no session', async (t) => {
  for (const plan of [{ kind: 'run' }, { kind: 'cron', job: 'nightly' }] as const) {
    const { claim, journal, session } = await claimer(openMemoryJournal(), { hasRoom: () => false });

    t.same(await claim(ask('k1', plan)), { kind: 'granted', opened: { kind: 'nothing' }, work: 'k1' });

    t.match(journal.local?.get('runs', 'k1'), { dueAtMs: 1_000, heldBy: undefined, value: { status: 'queued' } });
    const query = { session: session ?? '', dueBeforeMs: 1_000, nowMs: 1_000, limit: 10 };
    t.match(await journal.take('runs', query), { ok: true, value: [{ key: 'k1' }] }, 'offered as work');
  }
});

t.test('CRN-2 · a firing takes the settings of its job, with what the route rendered as context', async (t) => {
  const { claim, journal } = await claimer();
  await claim(ask('k1', { kind: 'cron', job: 'nightly' }));

  t.match(journal.local?.get('events', 'k1')?.value, {
    prompt: 'the job says\n\nthe route says',
    skills: ['its skill'],
    model: 'its model',
    deliver: 'its target',
    deliverExtra: { channel: 'its own' },
    body: '{"a":1}',
  });
  t.same(journal.local?.claimed('cron/default/nightly/k1'), { eventKey: 'k1' }, 'the claim of the scheduler');

  const { prompt: _, ...unprompted } = event;
  const bare = await claimer();
  await bare.claim({ key: 'k1', nowMs: 1_000, plan: { kind: 'cron', job: 'nightly' }, event: unprompted });
  t.equal(bare.journal.local?.get('events', 'k1')?.value.prompt, 'the job says');
});

t.test('CRN-2 · a firing that the scheduler has claimed already is a duplicate', async (t) => {
  const { claim, journal, keeper } = await claimer();
  await keeper.commit([{ kind: 'claim', name: 'cron/default/nightly/k1', value: { by: 'scheduler' }, forMs: 60_000 }]);

  t.same(await claim(ask('k1', { kind: 'cron', job: 'nightly' })), { kind: 'duplicate' });

  t.same(sizes(journal), { events: 0, runs: 0, groups: 0, deliveries: 0 });
  t.equal(journal.local?.claimed(claimName('default', 'r', 'd1')), undefined, 'the delivery id is free again');
});

t.test('CRN-2 · PRF-2 · a job that is not ready drops the event with its reason, and the id is claimed', async (t) => {
  const asked: unknown[] = [];
  const findJob: ClaimPorts['findJob'] = (profile, name) => {
    asked.push([profile, name]);
    return { kind: 'dropped', reason: 'the job is paused' };
  };
  const { claim, journal } = await claimer(openMemoryJournal(), { findJob });

  t.same(await claim(ask('k1', { kind: 'cron', job: 'nightly' }, { profile: 'work' })), {
    kind: 'granted',
    opened: { kind: 'nothing' },
    reason: 'the job is paused',
  });

  t.same(asked, [['work', 'nightly']], "the event's own profile");
  t.same(sizes(journal), { events: 1, runs: 0, groups: 0, deliveries: 0 });
  t.match(journal.local?.get('events', 'k1')?.value, { reason: 'the job is paused', work: undefined });
  t.same(await claim(ask('k2', { kind: 'cron', job: 'nightly' }, { profile: 'work' })), { kind: 'duplicate' });
});

t.test('COA-1 · events of one key share a batch, those of other keys, routes and profiles do not', async (t) => {
  const { claim, journal } = await claimer();
  const rows = [
    ['k1', {}, group, 'k1', 1],
    ['k2', {}, group, 'k1', 2],
    ['k3', {}, { ...group, groupKey: 'pr-8' }, 'k3', 1],
    ['k4', { route: 'other' }, group, 'k4', 1],
    ['k5', { profile: 'work' }, group, 'k5', 1],
    ['k6', { route: 'r/pr' }, { ...group, groupKey: '7' }, 'k6', 1],
    ['k7', { route: 'r' }, { ...group, groupKey: 'pr/7' }, 'k7', 1],
    ['k8', {}, { ...group, groupKey: 'x'.repeat(5_000) }, 'k8', 1],
    ['k9', {}, { ...group, groupKey: 'x'.repeat(5_001) }, 'k9', 1],
  ] as const;
  for (const [key, more, plan, work, count] of rows) {
    const given = await claim(ask(key, plan, { ...more, deliveryId: key }));

    t.match(given, { kind: 'granted', opened: { kind: 'group', burst: { id: work, count } }, work }, key);
    t.equal(journal.local?.get('events', key)?.value.work, work);
  }
});

t.test('IDM-2 · DUR-1 · whatever is sent in whatever order, each id has one event and one work for it', async (t) => {
  const sending = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    plan: fc.constantFrom(...plans),
    gateway: fc.nat(1),
    /** What the disk does after it: waits, lands some, refuses some. */
    disk: fc.constantFrom('wait', 'land one', 'land', 'refuse one'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(sending, { minLength: 1, maxLength: 16 }), async (deliveryService) => {
      const stage = gate();
      const gateways = [await claimer(stage.journal, {}, 'one'), await claimer(stage.journal, {}, 'other')];
      const asked: ReturnType<(typeof gateways)[0]['claim']>[] = [];
      for (const [n, { id, plan, gateway, disk }] of deliveryService.entries()) {
        const claim = gateways[gateway]?.claim;
        if (claim !== undefined) asked.push(claim(ask(`k${100 + n}`, plan, { deliveryId: id })));
        if (disk === 'land one') await stage.land(1);
        if (disk === 'land') await stage.land();
        if (disk === 'refuse one') await stage.refuse(1);
      }
      await stage.settle();
      const verdicts = await Promise.all(asked);

      const granted = verdicts.flatMap(({ kind }, n) => (kind === 'granted' ? [`k${100 + n}`] : []));
      const events = stage.journal.local?.list('events', { limit: 100, order: 'oldest' }) ?? [];
      t.same(
        events.map(({ key }) => key),
        granted,
        'an event stands where it was granted, and nowhere else',
      );
      const ids = events.map(({ value }) => value.deliveryId);
      t.equal(new Set(ids).size, ids.length, 'each id once');
      const burst = stage.journal.local?.get('groups', 'default/r/pr-7')?.value.burst as { id: string } | undefined;
      for (const { value } of events) {
        const work = String(value.work);
        const works = [
          stage.journal.local?.get('runs', work),
          stage.journal.local?.get('deliveries', work),
          burst?.id === work,
        ];
        t.equal(works.filter(Boolean).length, 1, 'its work is there, once');
      }
    }),
    { numRuns: 60 },
  );
});

t.test('IDM-2 · an id is released by what failed for good, and by nothing else', async (t) => {
  const rows: readonly (readonly [Partial<RunRecord>, Partial<DeliveryRecord> | undefined, string])[] = [
    [{ status: 'failed' }, undefined, 'granted'],
    [{ status: 'interrupted' }, undefined, 'granted'],
    [{ status: 'failed' }, { status: 'dropped' }, 'granted'],
    [{ status: 'failed' }, { status: 'deadLettered' }, 'duplicate'],
    [{ status: 'cancelled' }, undefined, 'duplicate'],
    [{ status: 'unknown' }, { status: 'unknown' }, 'duplicate'],
    [{ status: 'delivered' }, { status: 'delivered' }, 'duplicate'],
  ];
  for (const plan of [{ kind: 'run' }, group] as const) {
    for (const [ended, sent, expected] of rows) {
      const { claim, keeper, journal } = await claimer();
      await claim(ask('k1', { kind: 'run' }));
      const run = { ...journal.local?.get('runs', 'k1')?.value, ...ended } as JsonObject;
      await keeper.commit([
        { kind: 'put', collection: 'runs', key: 'k1', value: run },
        ...(sent === undefined ? [] : [{ kind: 'put', collection: 'deliveries', key: 'k1', value: sent } as Write]),
      ]);
      const title = `${plan.kind}, ${ended.status}, ${sent?.status}`;

      const both = await Promise.all([claim(ask('k2', plan)), claim(ask('k3', plan))]);

      t.same(
        both.map(({ kind }) => kind).sort(),
        [expected === 'granted' ? 'duplicate' : expected, expected].sort(),
        title,
      );
      t.equal(journal.local?.get('runs', 'k1')?.value.repeatedBy !== undefined, expected === 'granted', title);
    }
  }
});

t.test('IDM-2 · a run that is under way, or waits on disk as failed, keeps its id', async (t) => {
  const { claim, keeper, journal } = await claimer();
  await claim(ask('k1', { kind: 'run' }));
  const run = { ...journal.local?.get('runs', 'k1')?.value, status: 'failed' } as JsonObject;
  await keeper.commit([{ kind: 'put', collection: 'runs', key: 'k1', value: run, dueAtMs: 1 }]);
  t.equal((await claim(ask('k2', { kind: 'run' }))).kind, 'duplicate');
});
