import t from 'tap';
import type { Journal, MarkedCollection, StoredRecord, Write } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { deliveryStatuses, historyStatuses, runStatuses } from '../../../machines/base/status.ts';
import { runAsSeen } from '../../../machines/webhook/interruption.ts';
import {
  claimName,
  type DeliveryRecord,
  type EventRecord,
  eventSummary,
  isOver,
  type RunRecord,
} from '../../../machines/webhook/record.ts';
import type { DeliveryQuery } from '../../../runtime/control/contract/deliveries.ts';
import type { SeenRun } from '../../../runtime/control/contract/runs.ts';
import { eventsOfId } from '../../../runtime/dispatch/find-event.ts';
import { deliveriesLike, eventsLike, eventsOfJobs, runsLike } from '../../../runtime/dispatch/history.ts';
import { type JournalQuery, newestFirst } from '../../../runtime/dispatch/newest-first.ts';
import { timeKey } from '../../../runtime/system/ids.ts';
import { openJournal } from '../../support/open-journal.ts';
import { fc, runs } from '../../support/property.ts';
import { plainEvent } from '../../support/records.ts';

const routes = ['alpha', 'b/eta', 'gamma'] as const;
/** The claim of the last one lies under its digest, though its id alone would fit. */
const ids = ['id-1', 'id/2', 'x'.repeat(300), 'y'.repeat(484)] as const;
/** So short that ids are taken anew. */
const claimLifeMs = 60;
const passing = ['queued', 'running', 'delivering'];

type Step = { readonly afterMs: number; readonly route: number; readonly id: number; readonly nth: number } & (
  | { readonly kind: 'passedOver'; readonly status: 'ignored' | 'duplicate' }
  | { readonly kind: 'accepted' | 'cron' | 'direct' | 'joined' | 'closed' | 'overwritten' | 'deleted' }
  | { readonly kind: 'ran'; readonly status: RunRecord['status'] }
  | { readonly kind: 'sent'; readonly status: DeliveryRecord['status'] }
  | { readonly kind: 'pruned' }
);

const common = { afterMs: fc.constantFrom(0, 1, 5, 40), route: fc.nat(2), id: fc.nat(3), nth: fc.nat(30) };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    ...common,
    kind: fc.constant('passedOver' as const),
    status: fc.constantFrom('ignored' as const, 'duplicate' as const),
  }),
  {
    weight: 4,
    arbitrary: fc.record({
      ...common,
      kind: fc.constantFrom('accepted' as const, 'cron' as const, 'direct' as const, 'joined' as const),
    }),
  },
  fc.record({
    ...common,
    kind: fc.constantFrom('closed' as const, 'closed' as const, 'overwritten' as const, 'deleted' as const),
  }),
  {
    weight: 4,
    arbitrary: fc.record({ ...common, kind: fc.constant('ran' as const), status: fc.constantFrom(...runStatuses) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...common,
      kind: fc.constant('sent' as const),
      status: fc.constantFrom(...deliveryStatuses),
    }),
  },
  fc.record({ ...common, kind: fc.constant('pruned' as const) }),
);

/** The time of the journals. */
let engineMs = 0;

/** Plays what gateways do to a journal, whatever the order. */
async function play(journal: Journal, steps: readonly Step[]): Promise<void> {
  let nowMs = 1_700_000_000_000;
  let order = 0;
  for (const { afterMs, route: at, id, nth, ...step } of steps) {
    nowMs += afterMs;
    engineMs = nowMs;
    order += 1;
    const key = `${timeKey(nowMs)}${String(order).padStart(4, '0')}`;
    const route = routes[at] ?? 'alpha';
    const event: EventRecord = { ...plainEvent, deliveryId: ids[id] ?? '', route, receivedAtMs: nowMs };
    switch (step.kind) {
      case 'passedOver':
        await write(journal, [put('events', key, { ...event, status: step.status })]);
        break;
      case 'accepted':
      case 'cron': {
        const status = step.kind;
        const record = { ...event, status, work: key, ...(status === 'cron' ? { cronJob: `job-${nth % 3}` } : {}) };
        await accept(journal, key, record, [put('runs', key, runOf(key, route, 'queued'), nowMs)]);
        break;
      }
      case 'direct': {
        const record = { ...event, status: 'delivering' as const, work: key };
        const delivery = { ...deliveryOf(key, route, 'sending'), deliveryId: event.deliveryId };
        await accept(journal, key, record, [put('deliveries', key, delivery, nowMs)]);
        break;
      }
      case 'joined': {
        const group = journal.local?.get('groups', route)?.value;
        const burst = (group?.burst as { id: string } | undefined) ?? { id: key };
        const record = { ...event, status: 'coalesced' as const, work: burst.id };
        await accept(journal, key, record, [put('groups', route, { burst }, nowMs)]);
        break;
      }
      case 'closed': {
        const burst = journal.local?.get('groups', route)?.value.burst as { id: string } | undefined;
        if (burst === undefined) break;
        await write(journal, [
          { kind: 'delete', collection: 'groups', key: route },
          put('runs', burst.id, { ...runOf(burst.id, route, 'queued'), group: route }, nowMs),
        ]);
        break;
      }
      case 'ran': {
        const run = pickOf(journal, 'runs', nth);
        if (run === undefined) break;
        const record = { ...run.value, status: step.status } as unknown as RunRecord;
        // A run may also be put back under way without being due.
        const due = passing.includes(step.status) && nth % 5 > 0 ? nowMs : undefined;
        const writes = [put('runs', run.key, record, due)];
        if (step.status === 'delivering') {
          const delivery = { ...deliveryOf(run.key, record.route, 'queued'), runKey: run.key };
          writes.push(put('deliveries', run.key, delivery, nowMs));
        }
        await write(journal, writes);
        break;
      }
      case 'sent': {
        const sent = pickOf(journal, 'deliveries', nth);
        if (sent === undefined) break;
        const record = { ...sent.value, status: step.status } as unknown as DeliveryRecord;
        const { profile, deliveryId } = record;
        await write(journal, [
          put('deliveries', sent.key, record, isOver(record) ? undefined : nowMs),
          ...(step.status === 'failed'
            ? [{ kind: 'release' as const, name: claimName(profile, record.route, deliveryId) }]
            : []),
        ]);
        break;
      }
      case 'overwritten': {
        const standing = pickOf(journal, 'events', nth);
        if (standing?.value.work === undefined && standing !== undefined)
          await write(journal, [put('events', standing.key, { ...event, status: 'ignored' })]);
        break;
      }
      case 'deleted': {
        const collection = (['events', 'runs', 'deliveries'] as const)[nth % 3] ?? 'events';
        const standing = pickOf(journal, collection, nth);
        // Work that is due is given up by nobody.
        if (standing === undefined || standing.dueAtMs !== undefined) break;
        await write(journal, [{ kind: 'delete', collection, key: standing.key }]);
        break;
      }
      case 'pruned':
        engineMs = nowMs + order * 3_600_000;
        await journal.prune({ keepAfterKey: timeKey(nowMs - nth * 4), maxBytes: Number.MAX_SAFE_INTEGER });
    }
  }
}

/** Writes an event with the claim of its id and its work; where the id is taken, that it is a duplicate. */
async function accept(journal: Journal, key: string, event: EventRecord, work: readonly Write[]): Promise<void> {
  const name = claimName(event.profile, event.route, event.deliveryId);
  const verdict = await journal.commit([
    { kind: 'claim', name, value: { eventKey: key }, forMs: claimLifeMs, event: key },
    { ...put('events', key, event), expect: 'absent' } as Write,
    ...work,
  ]);
  if (verdict.kind === 'claimed') {
    const { work: _, ...rest } = event;
    await write(journal, [put('events', key, { ...rest, status: 'duplicate' })]);
  } else if (verdict.kind !== 'committed') throw new Error(`a commit was answered: ${verdict.kind}`);
}

function pickOf<In extends MarkedCollection>(
  journal: Journal,
  collection: In,
  nth: number,
): StoredRecord<In> | undefined {
  const all = journal.local?.list(collection, { order: 'oldest', limit: 1_000 }) ?? [];
  return all[nth % Math.max(1, all.length)];
}

function put(collection: MarkedCollection | 'groups', key: string, value: object, dueAtMs?: number): Write {
  return { kind: 'put', collection, key, value: JSON.parse(JSON.stringify(value)) as JsonObject, dueAtMs };
}

async function write(journal: Journal, writes: readonly Write[]): Promise<void> {
  const verdict = await journal.commit(writes);
  if (verdict.kind !== 'committed') throw new Error(`a commit was answered: ${verdict.kind}`);
}

function runOf(eventKey: string, route: string, status: RunRecord['status']): RunRecord {
  return { eventKey, profile: 'default', route, kind: 'agent', status, attempt: 0, queuedAtMs: 0 };
}

function deliveryOf(eventKey: string, route: string, status: DeliveryRecord['status']): DeliveryRecord {
  const target = eventKey.endsWith('1') ? 'log' : 'slack';
  const one = { eventKey, deliveryId: '', profile: 'default', route, event: 'push' };
  return { ...one, target, status, text: '', extra: {}, queuedAtMs: 0 };
}

/** What a listing finds against what a look at every record finds. */
async function compare(journal: Journal): Promise<void> {
  const work = (event: EventRecord) =>
    (journal.local?.get('runs', event.work ?? '-') ?? journal.local?.get('deliveries', event.work ?? '-'))
      ?.value as unknown as RunRecord | undefined;
  /** As if a crash had cut off every second run that is due. */
  const seenRun: SeenRun = (key, record) =>
    /[02468]$/.test(key) && journal.local?.get('runs', key)?.dueAtMs !== undefined
      ? runAsSeen(record, undefined)
      : record;
  const shows = {
    events: (stored: StoredRecord) => {
      const event = stored.value as EventRecord;
      const [run, at] = [work(event), event.work ?? '-'];
      return {
        ...eventSummary(event, run && journal.local?.get('runs', at) ? seenRun(at, run, undefined) : run),
        target: undefined,
      };
    },
    runs: ({ key, value }: StoredRecord) => ({ ...seenRun(key, value as RunRecord, undefined), target: undefined }),
    deliveries: ({ value }: StoredRecord) => value as DeliveryRecord,
  };
  const kinds = [
    ['events', historyStatuses, eventsLike, [undefined]],
    ['runs', runStatuses, runsLike, [undefined]],
    ['deliveries', deliveryStatuses, deliveriesLike, [undefined, 'log', 'slack']],
  ] as const;
  for (const [collection, statuses, like, targets] of kinds) {
    const all = await newestFirst(journal, { collection, limit: 1_000 }, (stored: StoredRecord) => ({
      key: stored.key,
      row: shows[collection](stored),
    }));
    for (const route of [undefined, ...routes, 'none']) {
      for (const status of [undefined, ...statuses]) {
        for (const target of targets) {
          const fits = (row: (typeof all)[number]['row']): boolean =>
            (route ?? row.route) === row.route &&
            (status ?? row.status) === row.status &&
            (target ?? row.target) === row.target;
          const walked = all.filter(({ row }) => fits(row)).map(({ key }) => key);
          const pick = (stored: StoredRecord): string | undefined =>
            fits(shows[collection](stored)) ? stored.key : undefined;
          for (const limit of [1, 3, 1_000]) {
            const query: DeliveryQuery = {
              limit,
              ...(route === undefined ? {} : { route }),
              ...(status === undefined ? {} : { status }),
              ...(target === undefined ? {} : { target }),
            };
            const asked = await like(journal, query, seenRun);
            await same(journal, asked, { pick, walked }, JSON.stringify([collection, query]));
          }
        }
      }
    }
  }
  for (const id of [...ids, 'none']) {
    const seen = new Set();
    const walked = await newestFirst(journal, { collection: 'events', limit: 1_000 }, ({ key, value }) => {
      if (value.deliveryId !== id || value.status === 'duplicate' || seen.has(value.route)) return undefined;
      seen.add(value.route);
      return { key, route: String(value.route) };
    });
    const keys = async (choice = {}): Promise<string> =>
      JSON.stringify((await eventsOfId(journal, id, choice)).map(({ key }) => key));
    const all = await keys();
    if (all !== JSON.stringify(walked.map(({ key }) => key))) throw new Error(`of ${id}: ${all}`);
    for (const { key, route } of walked) {
      const ofRoute = await keys({ route });
      if (ofRoute !== JSON.stringify([key])) throw new Error(`of ${id} on ${route}: ${ofRoute}`);
    }
  }
  const ofJobs = ({ key, value }: StoredRecord<'events'>) =>
    value.cronJob === 'job-1' || value.cronJob === 'job-2' ? key : undefined;
  const walked = await newestFirst(journal, { collection: 'events', limit: 1_000 }, ofJobs);
  await same(journal, eventsOfJobs(['job-1', 'job-2'], 5), { pick: ofJobs, walked }, 'jobs');
}

async function same<In extends MarkedCollection>(
  journal: Journal,
  question: JournalQuery<In>,
  { pick, walked }: { pick: (stored: StoredRecord<In>) => string | undefined; readonly walked: readonly string[] },
  what: string,
): Promise<void> {
  const { limit } = question;
  const found = await newestFirst(journal, question, pick);
  const first = walked.slice(0, limit).join(' ');
  if (found.join(' ') !== first) throw new Error(`${what}: found "${found.join(' ')}", the walk "${first}"`);
  const before = found.at(-1);
  if (before === undefined || limit !== 3) return;
  const next = (await newestFirst(journal, { ...question, before }, pick)).join(' ');
  const rest = walked.filter((key) => key < before).slice(0, limit);
  if (next !== rest.join(' '))
    throw new Error(`${what} before ${before}: found "${next}", the walk "${rest.join(' ')}"`);
}

/** The run of a batch is pruned before its delivery ends. */
const prunedRun: Step[] = (
  [
    { route: 2, id: 0, afterMs: 0, kind: 'joined' },
    { route: 0, id: 0, afterMs: 40, kind: 'accepted' },
    { route: 2, id: 1, afterMs: 0, kind: 'joined' },
    { route: 2, id: 0, afterMs: 0, kind: 'closed' },
    { route: 0, id: 0, afterMs: 0, kind: 'ran', status: 'delivering' },
    { route: 0, id: 0, afterMs: 0, kind: 'pruned' },
    { route: 0, id: 0, afterMs: 0, kind: 'sent', status: 'deadLettered' },
  ] as const
).map((step) => ({ ...step, nth: 0 }));

let stores = 0;
const home = t.testdir();
const engines = [
  ['memory', () => Promise.resolve(openMemoryJournal(() => engineMs)), runs(300, 25)],
  [
    'lmdb',
    () => {
      stores += 1;
      return openJournal(`${home}/${stores}`, () => engineMs);
    },
    runs(40, 10),
  ],
] as const;

for (const [name, open, numRuns] of engines) {
  t.test(`DUR-2 · lists by route, status, target, job and id what a look at every record finds (${name})`, async () => {
    const histories = fc.array(step, { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(histories, async (steps) => {
        const journal = await open();
        try {
          await play(journal, steps);
          await compare(journal);
        } finally {
          await journal.close();
        }
      }),
      { numRuns, examples: [[prunedRun]] },
    );
  });
}

t.test('CLI-6 · however much waits, a list of a passing status lets the event loop turn', async (t) => {
  const journal = openMemoryJournal(() => engineMs);
  await play(
    journal,
    Array.from({ length: 300 }, () => ({ kind: 'accepted', afterMs: claimLifeMs, route: 0, id: 0, nth: 0 }) as const),
  );
  let turns = 0;
  let isOver = false;
  const tick = (): void => {
    turns += 1;
    if (!isOver) setImmediate(tick);
  };
  tick();
  const question = await eventsLike(journal, { status: 'queued', limit: 1 }, (_, run) => run);
  t.equal(question.also?.length, 300);
  t.ok(turns >= 300 / 50, `${turns} turns while it looks for them`);
  const before = turns;
  await newestFirst(journal, question, () => undefined);
  t.ok(turns > before, 'and while it reads them');
  isOver = true;
});
