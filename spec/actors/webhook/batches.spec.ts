import assert from 'node:assert/strict';
import t from 'tap';
import type { CommitVerdict, Journal, Write } from '../../../actors/store/journal.ts';
import { type Batches, createBatches, type Joined } from '../../../actors/webhook/batches.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { Batch } from '../../../machines/webhook/coalesce.ts';
import { diskFull, type Gate, gate, openKeeper, turn } from '../../support/keeper.ts';
import { fc, runs } from '../../support/property.ts';

const key = 'default/r/pr-7';

interface Gateway {
  readonly batches: Batches;
  readonly session: string;
  /** An event joins; one whose id was claimed before is refused by the journal. */
  join(eventKey: string, nowMs?: number, id?: string): Promise<Joined>;
  close(): Promise<CommitVerdict>;
  /** Reports whether the last closing found a batch; where it found one and was refused, the group tries again. */
  found(): boolean;
}

async function gateway(journal: Journal, owner = 'gateway', mode?: 'batch'): Promise<Gateway> {
  const { keeper } = await openKeeper(journal, owner);
  const batches = createBatches(keeper);
  let found = false;
  return {
    found: () => found,
    batches,
    session: keeper.session() ?? '',
    join: (eventKey, nowMs = 0, id = eventKey) =>
      new Promise((resolve) =>
        batches.join(
          {
            key,
            profile: 'default',
            route: 'r',
            groupKey: 'pr-7',
            eventKey,
            nowMs,
            windowMs: 100,
            maxWaitMs: 250,
            mode,
          },
          (burst, record): Write[] => [
            { kind: 'claim', name: id, value: {}, forMs: 1_000_000 },
            { kind: 'put', collection: 'events', key: eventKey, expect: 'absent', value: { work: burst.id } },
            record,
          ],
          resolve,
        ),
      ),
    // As the group's wiring does it: the run bears the batch's id.
    close() {
      found = false;
      return batches.close(key, (burst) => {
        found = true;
        return [{ kind: 'put', collection: 'runs', key: burst.id, value: burst as unknown as JsonObject, dueAtMs: 0 }];
      });
    },
  };
}

async function alone() {
  const stage = gate();
  return { stage, ...(await gateway(stage.journal)) };
}

async function two() {
  const stage = gate();
  return { stage, one: await gateway(stage.journal, 'one'), other: await gateway(stage.journal, 'other') };
}

const standing = (journal: Journal): Batch | undefined =>
  (journal.local?.get('groups', key)?.value as { burst: Batch } | undefined)?.burst;

async function landed<Value>(stage: Gate, asked: Promise<Value>): Promise<Value> {
  await stage.settle();
  return asked;
}

t.test('COA-1 · the newest event replaces, the window restarts, the cap counts from the first event', async (t) => {
  const { stage, join, session } = await alone();
  const rows = [
    ['a', 0, { id: 'a', count: 1, firstAtMs: 0, latestEventKey: 'a', dueAtMs: 100 }],
    ['b', 90, { id: 'a', count: 2, firstAtMs: 0, latestEventKey: 'b', dueAtMs: 190 }],
    ['c', 180, { id: 'a', count: 3, firstAtMs: 0, latestEventKey: 'c', dueAtMs: 250 }],
    ['d', 240, { id: 'a', count: 4, firstAtMs: 0, latestEventKey: 'd', dueAtMs: 250 }],
  ] as const;
  for (const [event, nowMs, burst] of rows) {
    t.same(
      await landed(stage, join(event, nowMs)),
      { verdict: { kind: 'committed' }, burst, absorbed: false, isElsewhere: false },
      event,
    );

    const record = stage.journal.local?.get('groups', key);
    t.match(record, { dueAtMs: 250, heldBy: session, version: burst.count }, 'due when it is settled at the latest');
    t.same(record?.value, { profile: 'default', route: 'r', groupKey: 'pr-7', burst });
  }
});

t.test('COA-1 · events that come while the disk works join without waiting for each other', async (t) => {
  const { stage, join } = await alone();
  const asked = ['a', 'b', 'c'].map((event, n) => join(event, n));
  await turn();
  t.equal(stage.waiting(), 3, 'nobody reads first');

  await stage.land();

  t.same(
    (await Promise.all(asked)).map(({ burst }) => [burst.id, burst.count]),
    [
      ['a', 1],
      ['a', 2],
      ['a', 3],
    ],
  );
  t.match(standing(stage.journal), { count: 3, latestEventKey: 'c' });
});

t.test('COA-1 · closing turns the batch into its run and deletes it, in one commit', async (t) => {
  const { stage, join, close } = await alone();
  await landed(stage, join('a'));
  await landed(stage, join('b'));

  t.same(await landed(stage, close()), { kind: 'committed' });

  t.equal(stage.journal.local?.get('groups', key), undefined);
  t.match(stage.journal.local?.get('runs', 'a')?.value, { count: 2, latestEventKey: 'b' });
  t.same(await landed(stage, close()), { kind: 'stale', index: 0 }, 'nothing is left to close');
  t.match(await landed(stage, join('c')), { burst: { id: 'c', count: 1 }, absorbed: false }, 'the next burst');
});

t.test('COA-1 · an event on its way to disk when the batch closes is taken by that run', async (t) => {
  const { stage, join, close } = await alone();
  await landed(stage, join('a'));
  const joining = join('b');
  const closing = close();
  await stage.settle();

  t.match(await joining, { verdict: { kind: 'committed' }, burst: { id: 'a', count: 2 }, absorbed: true });
  t.same(await closing, { kind: 'committed' });
  t.match(stage.journal.local?.get('runs', 'a')?.value, { count: 2, latestEventKey: 'b' });
  t.equal(stage.journal.local?.get('groups', key), undefined);
});

t.test('COA-1 · an event that comes while the batch closes begins the next one', async (t) => {
  const { stage, join, close } = await alone();
  await landed(stage, join('a'));
  const closing = close();
  const joining = join('b');
  await stage.settle();

  t.same(await closing, { kind: 'committed' });
  t.match(await joining, { verdict: { kind: 'committed' }, burst: { id: 'b', count: 1 }, absorbed: false });
  t.match(stage.journal.local?.get('runs', 'a')?.value, { count: 1, latestEventKey: 'a' });
  t.match(standing(stage.journal), { id: 'b', count: 1 });
});

t.test(
  'IDM-2 · a duplicate leaves no mark on the batch, nor do those who joined behind it lose anything',
  async (t) => {
    const { stage, join, close } = await alone();
    await landed(stage, join('a', 0, 'id-a'));
    const duplicate = join('b', 50, 'id-a');
    const behind = join('c', 60, 'id-c');
    const closing = close();
    await stage.settle();

    t.match(await duplicate, { verdict: { kind: 'claimed' } });
    t.match(await behind, { verdict: { kind: 'committed' }, burst: { id: 'a', count: 2, latestEventKey: 'c' } });
    t.same(await closing, { kind: 'committed' });
    t.match(stage.journal.local?.get('runs', 'a')?.value, { count: 2, latestEventKey: 'c' });
    t.equal(stage.journal.local?.get('events', 'b'), undefined);
  },
);

t.test(
  'DUR-1 · what the disk refuses is forgotten: the batch stands as it was, open to joins and closes',
  async (t) => {
    const { stage, join, close } = await alone();
    const first = join('a');
    await stage.refuse();
    t.match(await first, { verdict: { kind: 'unavailable', fault: diskFull } });
    t.match(await landed(stage, join('b')), { burst: { id: 'b', count: 1 } }, 'not counted');

    const second = join('c');
    await stage.refuse();
    t.match(await second, { verdict: { kind: 'unavailable' } });
    const closing = close();
    await stage.refuse();
    t.match(await closing, { kind: 'unavailable' });
    t.match(standing(stage.journal), { id: 'b', count: 1 }, 'still gathered');

    t.match(await landed(stage, join('d')), { burst: { id: 'b', count: 2 }, absorbed: false });
    t.same(await landed(stage, close()), { kind: 'committed' });
    t.match(stage.journal.local?.get('runs', 'b')?.value, { count: 2, latestEventKey: 'd' });
  },
);

t.test('DUR-1 · COA-3 · a batch found at start is carried on with its count and its first time', async (t) => {
  const stage = gate();
  const before = await gateway(stage.journal);
  await landed(stage, before.join('a', 0));
  const found = stage.journal.local?.get('groups', key);

  const adopting = await gateway(stage.journal);
  adopting.batches.adopt(key, found?.value as never, found?.version ?? 0);
  const joining = adopting.join('b', 200);
  await turn();
  t.equal(stage.waiting(), 1);
  t.match(await landed(stage, joining), { burst: { id: 'a', count: 2, dueAtMs: 250 }, absorbed: false });

  const other = await gateway(stage.journal);
  t.same(await landed(stage, other.close()), { kind: 'committed' }, 'also one that nobody adopted');
  t.match(stage.journal.local?.get('runs', 'a')?.value, { count: 2 });
});

t.test('DUR-1 · two gateways on one journal overtake each other, and no event of the batch is lost', async (t) => {
  const { stage, one, other } = await two();
  const asked = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? one : other).join(`e${n}`, n));

  await stage.settle();

  for (const { verdict } of await Promise.all(asked)) t.same(verdict, { kind: 'committed' });
  t.match(standing(stage.journal), { count: 8 });
  const events = stage.journal.local?.list('events', { limit: 10, order: 'oldest' }) ?? [];
  t.same(new Set(events.map(({ value }) => value.work)), new Set([standing(stage.journal)?.id]));

  const closed = await landed(stage, Promise.all([one.close(), other.close()]));
  t.same(closed.map(({ kind }) => kind).sort(), ['committed', 'stale'], 'one of them opens the run');
  t.equal(stage.journal.local?.list('runs', { limit: 10, order: 'oldest' }).length, 1);
  t.match(stage.journal.local?.list('runs', { limit: 10, order: 'oldest' })[0]?.value, { count: 8 });
});

interface Step {
  readonly kind: 'join' | 'duplicate' | 'close' | 'land' | 'land one' | 'refuse one';
  /** Which of two gateways takes it. */
  readonly at: 'one' | 'other';
}

/** A gateway that closes what it knows to gather, as its group does. */
async function player(journal: Journal, owner: string, mode?: 'batch') {
  const { join, close, found } = await gateway(journal, owner, mode);
  /** It knows of a batch, and has not closed it since. */
  let gathers = false;
  let closing = false;
  const under: Promise<unknown>[] = [];
  return {
    joins: (eventKey: string, id: string): void => {
      under.push(
        join(eventKey, 0, id).then(({ verdict, absorbed }) => {
          if (verdict.kind === 'committed' && !absorbed) gathers = true;
        }),
      );
    },
    closes: (): void => {
      if (!gathers || closing) return;
      gathers = false;
      closing = true;
      under.push(
        close().then(({ kind }) => {
          closing = false;
          if (kind !== 'committed' && found()) gathers = true;
        }),
      );
    },
    isBusy: () => gathers || closing,
    ended: () => Promise.all(under),
  };
}

/** Plays steps, settles, closes what is known to gather, and checks every event. */
async function play(
  steps: readonly Step[],
  mode?: 'batch',
): Promise<{ readonly lost: string[]; readonly left: Batch | undefined }> {
  const stage = gate();
  const gateways = {
    one: await player(stage.journal, 'one', mode),
    other: await player(stage.journal, 'other', mode),
  };
  const both = Object.values(gateways);
  gateways.one.joins('e000', 'e000');
  for (const [n, { kind, at }] of steps.entries()) {
    const eventKey = `e${String(n + 1).padStart(3, '0')}`;
    if (kind === 'join') gateways[at].joins(eventKey, eventKey);
    if (kind === 'duplicate') gateways[at].joins(eventKey, 'e000');
    if (kind === 'close') gateways[at].closes();
    if (kind === 'land') await stage.land();
    if (kind === 'land one') await stage.land(1);
    if (kind === 'refuse one') await stage.refuse(1);
  }
  do {
    await stage.settle();
    for (const { closes } of both) closes();
  } while (stage.waiting() > 0 || both.some(({ isBusy }) => isBusy()));
  await stage.settle();
  await Promise.all(both.map(({ ended }) => ended()));

  const counted = new Map<string, number>();
  const keys = new Map<string, string[]>();
  for (const { key: eventKey, value } of stage.journal.local?.list('events', { limit: 1_000, order: 'oldest' }) ?? []) {
    const work = String(value.work);
    counted.set(work, (counted.get(work) ?? 0) + 1);
    keys.set(work, [...(keys.get(work) ?? []), eventKey]);
  }
  const lost = [...counted].flatMap(([work, count]) => {
    const run = stage.journal.local?.get('runs', work);
    if (run === undefined) return [`${count} events name ${work}, which never ran`];
    if (run.version !== 1) return [`${work} was opened ${run.version} times`];
    const { count: counted, earlierKeys = [], latestEventKey } = Object(run.value);
    const taken = [...earlierKeys, latestEventKey].join();
    if (mode !== undefined && taken !== keys.get(work)?.join()) return [`${work} has ${taken} of ${keys.get(work)}`];
    return counted === count ? [] : [`${work} counts ${counted} of ${count} events`];
  });
  return { lost, left: standing(stage.journal) };
}

const steps = (
  kinds: readonly Step['kind'][],
  gateways: readonly Step['at'][] = ['one'],
): fc.Arbitrary<readonly Step[]> =>
  fc.array(fc.record({ kind: fc.constantFrom(...kinds), at: fc.constantFrom(...gateways) }), { maxLength: 30 });

const settled = { lost: [], left: undefined };

type Interleaving = readonly [
  title: string,
  kinds: readonly Step['kind'][],
  runs: number,
  more: { readonly gateways?: readonly Step['at'][]; readonly mode?: 'batch' },
];

t.test('COA-1 · IDM-2 · an event between two duplicates reaches its batch', async (t) => {
  const { stage, join, close } = await alone();
  await landed(stage, join('a', 0, 'id-a'));
  await landed(stage, close());
  const [, between] = [join('b', 0, 'id-a'), join('c', 0, 'id-c'), join('d', 0, 'id-a')];
  await stage.settle();

  t.match(await between, { verdict: { kind: 'committed' }, burst: { id: 'c', count: 1 }, absorbed: false });
});

t.test('COA-1 · IDM-2 · an event that joined behind a duplicate drops no other', async (t) => {
  const { stage, join, close } = await alone();
  await landed(stage, join('a', 0, 'id-a'));
  await landed(stage, close());
  void join('duplicate', 0, 'id-a');
  void join('b');
  await stage.land(1);
  void join('c');
  await stage.land(1);
  void join('d');
  await stage.settle();

  const works = ['b', 'c', 'd'].map((event) => stage.journal.local?.get('events', event)?.value.work);
  t.match(standing(stage.journal), { count: 3 });
  t.same(new Set(works), new Set([standing(stage.journal)?.id]));
});

t.test('DUR-1 · a batch that another gateway closed is not brought back', async (t) => {
  const { stage, one, other } = await two();
  await landed(stage, one.join('a'));
  t.same(await landed(stage, other.close()), { kind: 'committed' });
  await landed(stage, other.join('b'));

  await landed(stage, one.join('c'));

  t.match(standing(stage.journal), { id: 'b', count: 2, latestEventKey: 'c' });
});

for (const [title, kinds, numRuns, { gateways, mode }] of [
  ['COA-1 · DUR-1 · in any interleaving of joins and closes every event is in exactly one run', [], 500, {}],
  ['COA-1 · DUR-1 · a batch has each of its events once and in their order', ['duplicate'], 300, { mode: 'batch' }],
  ['COA-1 · IDM-2 · so it is where some of those who join are duplicates', ['duplicate'], 1_000, {}],
  ['COA-1 · DUR-1 · and where the disk refuses some', ['refuse one'], 1_000, {}],
  [
    'COA-1 · IDM-2 · DUR-1 · and on two gateways, with duplicates and a full disk',
    ['duplicate', 'refuse one'],
    1_000,
    { gateways: ['one', 'other'] },
  ],
] as readonly Interleaving[]) {
  t.test(title, async () => {
    const drawn = steps(['join', 'close', 'land', 'land one', ...kinds], gateways);
    const played = fc.asyncProperty(drawn, async (steps) => {
      assert.deepEqual(await play(steps, mode), settled);
    });
    await fc.assert(played, { numRuns: runs(numRuns) });
  });
}

t.test(
  'SCA-1 · COA-1 · where another gateway was faster, an event joins what that left in the same commit',
  async (t) => {
    const { stage, one, other } = await two();
    await landed(stage, one.join('a'));
    await landed(stage, other.join('b'));
    // Each expects what it knows: two are put over one that is overtaken itself.
    const joining = [one.join('c'), one.join('d'), other.join('e'), one.join('f')];
    await turn();
    t.equal(stage.waiting(), 4);
    await stage.land();
    t.equal(stage.waiting(), 0, 'no second commit');
    const joined = await Promise.all(joining);
    t.same(
      joined.map(({ verdict, burst }) => [verdict.kind, burst.id, burst.count]),
      [3, 4, 5, 6].map((count) => ['committed', 'a', count]),
    );
    t.same(
      joined.map(({ isElsewhere }) => isElsewhere),
      [false, false, true, false],
    );

    await landed(stage, one.close());
    const after = other.join('g');
    await stage.land();
    t.match(await after, { verdict: { kind: 'committed' }, burst: { id: 'g', count: 1 }, isElsewhere: false });
    const duplicate = other.join('h', 0, 'a');
    const behind = other.join('i');
    const foreign = one.join('j');
    stage.rotate();
    await stage.land();
    t.equal(stage.waiting(), 0);
    t.match(await duplicate, { verdict: { kind: 'claimed' } });
    t.match(await foreign, { burst: { count: 2 } });
    t.match(await behind, { verdict: { kind: 'committed' }, burst: { id: 'g', count: 3 } });
    t.match(standing(stage.journal), { id: 'g', count: 3, latestEventKey: 'i' });
  },
);

t.test('SCA-1 · a batch is its holder’s: others join it there, and their news keeps it open', async (t) => {
  const { stage, one, other } = await two();
  await landed(stage, one.join('a'));

  t.match(await landed(stage, other.join('b', 50)), { burst: { id: 'a', count: 2 }, isElsewhere: true });
  t.equal(stage.journal.local?.get('groups', key)?.heldBy, one.session);

  const declined: string[] = [];
  const closing = one.batches.close(key, ({ latestEventKey }, isNews) => {
    declined.push(`${latestEventKey} ${isNews}`);
    return isNews ? undefined : [];
  });
  t.match(await landed(stage, closing), { kind: 'stale' });
  t.same(declined, ['a false', 'b true'], 'what it finds is news to it');
  t.match(standing(stage.journal), { count: 2 }, 'and stays');
  t.same(await landed(stage, one.close()), { kind: 'committed' });
  t.match(stage.journal.local?.get('runs', 'a')?.value, { latestEventKey: 'b' });
});

t.test('SCA-1 · COA-1 · a batch that is left gathers on at the gateway that gets its next event', async (t) => {
  const { stage, one, other } = await two();
  t.match(await landed(stage, one.join('e1')), { isElsewhere: false });
  t.match(await landed(stage, other.join('e2')), { isElsewhere: true });
  t.match(await landed(stage, one.join('e3')), { isElsewhere: false });
  await landed(stage, one.batches.leave(key));
  t.equal(stage.journal.local?.get('groups', key)?.heldBy, undefined);
  t.match(await landed(stage, other.join('e4')), { isElsewhere: false, burst: { id: 'e1', count: 4 } });
  t.equal(stage.journal.local?.get('groups', key)?.heldBy, other.session);
  t.match(await landed(stage, one.join('e5')), { isElsewhere: true });
  t.match(await landed(stage, other.close()), { kind: 'committed' });
  t.match(stage.journal.local?.get('runs', 'e1')?.value, { count: 5, latestEventKey: 'e5' });
  await one.batches.leave('unknown');
});

t.test(
  'SCA-1 · a batch is left with the event that another gateway has added, and once another has it, it stays there',
  async (t) => {
    const { stage, one, other } = await two();
    await landed(stage, one.join('e1'));
    t.match(await landed(stage, other.join('e2')), { isElsewhere: true });
    await landed(stage, one.batches.leave(key));
    t.match(stage.journal.local?.get('groups', key), { heldBy: undefined, value: { burst: { count: 2 } } });

    await landed(stage, other.join('e3'));
    await landed(stage, one.join('e4'));
    await landed(stage, one.batches.leave(key));
    t.match(stage.journal.local?.get('groups', key), { heldBy: other.session, value: { burst: { count: 4 } } });
  },
);

t.test(
  'SCA-1 · COA-1 · of the batches of other gateways only so many are remembered; another is found on disk',
  async (t) => {
    const { keeper } = await openKeeper();
    let holder: string | undefined = 'another';
    let overtaken = 0;
    const batches = createBatches({
      ...keeper,
      session: () => holder,
      submit(writes, settled, rewrite) {
        keeper.submit(writes, settled, (stale) => {
          if (stale !== undefined) overtaken += 1;
          return rewrite?.(stale);
        });
      },
    });
    const join = (groupKey: string, nowMs: number) =>
      new Promise<Joined>((resolve) => {
        const joining = { eventKey: `${groupKey}-${nowMs}`, nowMs, windowMs: 1, maxWaitMs: 9 };
        const place = { key: groupKey, profile: 'default', route: 'r', groupKey };
        batches.join({ ...place, ...joining }, (_, record) => [record], resolve);
      });
    await join('first', 1);
    holder = keeper.session();
    t.match(await join('first', 2), { isElsewhere: true, burst: { count: 2 } });
    overtaken = 0;
    await join('first', 3);
    t.equal(overtaken, 0, 'one that is known is joined at once');
    holder = 'another';
    for (let n = 0; n < 10_000; n += 1) await join(`k${n}`, 1);
    holder = keeper.session();
    for (let n = 0; n < 10_000; n += 1) await join(`k${n}`, 2);
    t.match(await join('first', 4), { isElsewhere: true, burst: { count: 4 }, verdict: { kind: 'committed' } });
    t.equal(overtaken, 1, 'it was forgotten');
  },
);
