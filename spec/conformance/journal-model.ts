/** A journal as plain maps, and random histories to compare it with the real ones step by step. */

import { isDeepStrictEqual } from 'node:util';
import type {
  Collection,
  CommitVerdict,
  Expected,
  Journal,
  Put,
  SessionId,
  StoredRecord,
  Write,
} from '../../actors/store/journal.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { queueOf } from '../../machines/webhook/work-queue.ts';
import { got } from '../support/open-journal.ts';
import { fc } from '../support/property.ts';
import type { SetClock } from './journal.ts';

/** A record of any collection as the plain JSON that the model keeps. */
type PlainRecord = Omit<StoredRecord, 'value'> & { readonly value: JsonObject };

type Step =
  /** Commits made without waiting for one another. */
  | { readonly kind: 'commits'; readonly commits: readonly (readonly WriteForm[])[] }
  | { readonly kind: 'open'; readonly owner: string; readonly ttlMs: number }
  | { readonly kind: 'renew'; readonly session: number; readonly ttlMs: number }
  | { readonly kind: 'end'; readonly session: number }
  | {
      readonly kind: 'take';
      readonly collection: Collection;
      readonly session: number;
      readonly dueBeforeMs: number;
      readonly limit: number;
      readonly without: readonly string[];
    }
  | {
      readonly kind: 'list';
      readonly collection: Collection;
      readonly from: string | undefined;
      readonly limit: number;
    }
  | { readonly kind: 'prune'; readonly keepAfterKey: string }
  | { readonly kind: 'wait'; readonly ms: number };

/** A write that names its holder by the number of its session, since ids are only known when it runs. */
type WriteForm =
  | Exclude<Write, { kind: 'put' }>
  | (Omit<Extract<Write, { kind: 'put' }>, 'heldBy'> & { readonly holder: number });

const collections = ['events', 'runs', 'groups', 'deliveries'] as const;
// Mostly few places, so that writes meet.
const collection = fc.constantFrom<Collection>('runs', 'runs', 'runs', 'events', 'events', 'groups', 'deliveries');
const key = fc.constantFrom('k0', 'k1', 'k2');
const name = fc.constantFrom('n0', 'n1', 'n2');
const value = fc.record(
  {
    ...{ n: fc.nat(9), work: key, runKey: key },
    ...{ profile: fc.constant('p'), route: fc.constantFrom('a', 'b'), target: fc.constantFrom('telegram', 'log') },
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<JsonObject>;
const session = fc.integer({ min: 0, max: 3 });
const shortMs = fc.integer({ min: 0, max: 20 });
const lifeMs = fc.integer({ min: 0, max: 80 });
const version = fc.integer({ min: 1, max: 3 });
const standing = fc.oneof(version, fc.record({ version, path: fc.constant('work'), text: key }));

const write: fc.Arbitrary<WriteForm> = fc.oneof(
  fc.record(
    { kind: fc.constant('claim' as const), name, value, forMs: fc.integer({ min: 0, max: 60 }), keptWith: key },
    { requiredKeys: ['kind', 'name', 'value', 'forMs'] },
  ),
  fc.record({ kind: fc.constant('release' as const), name }),
  fc.record(
    {
      kind: fc.constant('put' as const),
      collection,
      key,
      value,
      holder: session,
      expect: fc.oneof(fc.constant('absent' as const), standing),
      dueAtMs: fc.option(shortMs),
    },
    { requiredKeys: ['kind', 'collection', 'key', 'value', 'holder'] },
  ),
  fc.record(
    { kind: fc.constant('delete' as const), collection, key, expect: standing },
    { requiredKeys: ['kind', 'collection', 'key'] },
  ),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('commits' as const),
      commits: fc.array(fc.array(write, { maxLength: 5 }), { minLength: 1, maxLength: 4 }),
    }),
  },
  fc.record({ kind: fc.constant('open' as const), owner: fc.constantFrom('a', 'b', 'c'), ttlMs: lifeMs }),
  fc.record({ kind: fc.constant('renew' as const), session, ttlMs: lifeMs }),
  fc.record({ kind: fc.constant('end' as const), session }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      collection,
      session,
      dueBeforeMs: fc.constantFrom(5, 20, 20),
      limit: fc.integer({ min: 0, max: 3 }),
      without: fc.subarray(['rp/a', 'dp/telegram']),
    }),
  },
  fc.record({
    kind: fc.constant('list' as const),
    collection,
    from: fc.option(key, { nil: undefined }),
    limit: fc.integer({ min: 0, max: 4 }),
  }),
  fc.record({ kind: fc.constant('prune' as const), keepAfterKey: fc.oneof(key, fc.constant('')) }),
  fc.record({ kind: fc.constant('wait' as const), ms: shortMs }),
);

export const histories = fc.array(step, { maxLength: 40 });

interface Model {
  readonly records: Map<string, PlainRecord>;
  readonly claims: Map<string, { readonly value: JsonObject; readonly expiresAtMs: number }>;
  readonly sessions: Map<SessionId, { readonly owner: string; readonly expiresAtMs: number }>;
}

/** Plays a history on journals of one store, in turn, and on the model; compares every answer and all that is left. */
export async function checkHistory(
  journals: readonly Journal[],
  clock: SetClock,
  history: readonly Step[],
): Promise<void> {
  let model: Model = { records: new Map(), claims: new Map(), sessions: new Map() };
  const ids: SessionId[] = [];
  let nowMs = 0;
  const idOf = (session: number) => ids[session] ?? 'nobody';
  await clock.set(nowMs);

  for (const [index, step] of history.entries()) {
    const at = index % journals.length;
    const journal = journals[at] as Journal;
    switch (step.kind) {
      case 'commits': {
        const commits = step.commits.map((writes) => writes.map((form) => writeOf(form, idOf)));
        const verdicts = await Promise.all(commits.map((writes) => journal.commit(writes)));
        for (const [index, writes] of commits.entries()) {
          const [verdict, next] = commitTo(model, writes, nowMs);
          same(verdicts[index], verdict, step);
          model = next;
        }
        break;
      }
      case 'open': {
        // Each gateway has a name of its own.
        const mine = `${step.owner}${at}`;
        const opened = got(await journal.openSession(mine, step.ttlMs));
        for (const [id, { owner }] of model.sessions) if (owner === mine) model.sessions.delete(id);
        model.sessions.set(opened, { owner: mine, expiresAtMs: nowMs + step.ttlMs });
        ids.push(opened);
        break;
      }
      case 'renew': {
        const id = idOf(step.session);
        const session = model.sessions.get(id);
        same((await journal.renewSession(id, step.ttlMs)).ok, session !== undefined, step);
        if (session !== undefined) model.sessions.set(id, { ...session, expiresAtMs: nowMs + step.ttlMs });
        break;
      }
      case 'end':
        await journal.endSession(idOf(step.session));
        model.sessions.delete(idOf(step.session));
        break;
      case 'take': {
        const query = { ...step, session: idOf(step.session) };
        const taken = await journal.take(step.collection, query);
        same(taken.ok ? taken.value : undefined, takeFrom(model, { ...query, nowMs }), step);
        break;
      }
      case 'list':
        for (const order of ['newest', 'oldest'] as const) {
          const query = { order, limit: step.limit, ...(step.from === undefined ? {} : { from: step.from }) };
          const { from } = query;
          const expected = recordsOf(model, step.collection).filter(
            ({ key }) => from === undefined || (order === 'newest' ? key < from : key > from),
          );
          if (order === 'newest') expected.reverse();
          same(await journal.list(step.collection, query), expected.slice(0, step.limit), step);
        }
        break;
      case 'prune': {
        const query = { keepAfterKey: step.keepAfterKey, maxBytes: Number.MAX_SAFE_INTEGER };
        const pruned = await journal.prune(query);
        same(pruned.ok && pruned.value, pruneFrom(model, step.keepAfterKey, nowMs), step);
        break;
      }
      case 'wait':
        nowMs += step.ms;
        await clock.set(nowMs);
        break;
    }
    const living = await journal.living();
    const alive = [...model.sessions].flatMap(([id, { owner, expiresAtMs }]) =>
      expiresAtMs > nowMs ? [`${id} of ${owner}`] : [],
    );
    same(living.ok && living.value.map(({ id, owner }) => `${id} of ${owner}`).sort(), alive.sort(), step);
    await compareAll(journal, model, nowMs, step);
  }
}

async function compareAll(journal: Journal, model: Model, nowMs: number, step: Step): Promise<void> {
  for (const collection of collections) {
    const expected = recordsOf(model, collection);
    same(await journal.list(collection, { order: 'oldest', limit: 99 }), expected, step);
    for (const record of expected) same(await journal.get(collection, record.key), record, step);
  }
  for (const name of ['n0', 'n1', 'n2']) {
    const claim = model.claims.get(name);
    const standing = claim !== undefined && claim.expiresAtMs > nowMs ? claim.value : undefined;
    same(await journal.claimed(name), standing, step);
  }
}

function commitTo(model: Model, writes: readonly Write[], nowMs: number): readonly [CommitVerdict, Model] {
  const next: Model = { ...model, records: new Map(model.records), claims: new Map(model.claims) };
  for (const [index, write] of writes.entries()) {
    switch (write.kind) {
      case 'claim': {
        const standing = next.claims.get(write.name);
        if (standing !== undefined && standing.expiresAtMs > nowMs) {
          return [{ kind: 'claimed', index, holder: standing.value }, model];
        }
        next.claims.set(write.name, { value: write.value, expiresAtMs: nowMs + write.forMs });
        break;
      }
      case 'release':
        next.claims.delete(write.name);
        break;
      case 'put':
      case 'delete': {
        const place = `${write.collection}/${write.key}`;
        const standing = next.records.get(place);
        if (!isAsExpected(standing, write.expect)) return [stale(model, index, place), model];
        if (write.kind === 'delete') next.records.delete(place);
        else next.records.set(place, recordOf(write, (standing?.version ?? 0) + 1));
        break;
      }
    }
  }
  return [{ kind: 'committed' }, next];
}

/** What stands is what stood before the commit. */
function stale(model: Model, index: number, place: string): CommitVerdict {
  const standing = model.records.get(place) as StoredRecord | undefined;
  return { kind: 'stale', index, ...(standing === undefined ? {} : { standing }) };
}

function isAsExpected(standing: PlainRecord | undefined, expect: Expected | undefined): boolean {
  if (expect === undefined) return true;
  if (expect === 'absent') return standing === undefined;
  if (typeof expect === 'number') return standing?.version === expect;
  return standing?.version === expect.version && standing.value[expect.path] === expect.text;
}

function recordOf(write: Extract<Write, { kind: 'put' }>, version: number): PlainRecord {
  const { key, dueAtMs, heldBy } = write;
  return {
    key,
    version,
    value: write.value as JsonObject,
    ...(dueAtMs === undefined || dueAtMs === null ? {} : { dueAtMs }),
    ...(heldBy === undefined ? {} : { heldBy }),
  };
}

function takeFrom(
  model: Model,
  query: {
    readonly collection: Collection;
    readonly session: SessionId;
    readonly dueBeforeMs: number;
    readonly nowMs: number;
    readonly limit: number;
    readonly without: readonly string[];
  },
): (PlainRecord & { readonly from?: SessionId; readonly deliveries?: readonly PlainRecord[] })[] | undefined {
  const { collection, session, dueBeforeMs, nowMs, limit, without } = query;
  const isLiving = (id: string) => (model.sessions.get(id)?.expiresAtMs ?? 0) > nowMs;
  if (limit === 0) return [];
  if (!isLiving(session)) return undefined;
  const waitsForRun = ({ value }: PlainRecord): boolean =>
    collection === 'deliveries' && model.records.get(`runs/${value.runKey}`)?.dueAtMs !== undefined;
  const isFree = ({ dueAtMs, heldBy }: PlainRecord): boolean =>
    dueAtMs !== undefined && dueAtMs <= dueBeforeMs && !isLiving(heldBy ?? '');
  const free = recordsOf(model, collection)
    .filter((record) => isFree(record) && !waitsForRun(record))
    .filter(({ heldBy, value }) => heldBy !== undefined || !without.includes(queueOf(collection, value) ?? ''))
    .sort((one, other) => (one.dueAtMs ?? 0) - (other.dueAtMs ?? 0) || (one.key < other.key ? -1 : 1))
    .slice(0, limit);
  const taken = free.map((record) => {
    const held = { ...record, version: record.version + 1, heldBy: session };
    model.records.set(`${collection}/${record.key}`, held);
    return record.heldBy === undefined ? held : { ...held, from: record.heldBy };
  });
  if (collection !== 'runs') return taken;
  return taken.map((run) => {
    const delivery = model.records.get(`deliveries/${run.key}`);
    if (delivery?.dueAtMs === undefined || delivery.value.runKey !== run.key) return run;
    const held = { ...delivery, version: delivery.version + 1, heldBy: session };
    model.records.set(`deliveries/${run.key}`, held);
    return { ...run, deliveries: [held] };
  });
}

function pruneFrom(model: Model, keepAfterKey: string, nowMs: number): number {
  for (const [name, { expiresAtMs }] of model.claims) if (expiresAtMs <= nowMs) model.claims.delete(name);
  const isDue = (place: string) => model.records.get(place)?.dueAtMs !== undefined;
  const gone = [...model.records].filter(([place, { key, dueAtMs, value }]) => {
    if (place.startsWith('groups/') || dueAtMs !== undefined || key >= keepAfterKey) return false;
    const work = (place.startsWith('events/') ? value.work : place.startsWith('deliveries/') && value.runKey) || key;
    return !isDue(`runs/${work}`) && !isDue(`deliveries/${work}`);
  });
  for (const [place] of gone) model.records.delete(place);
  return gone.length;
}

function recordsOf(model: Model, collection: Collection): PlainRecord[] {
  return [...model.records]
    .filter(([place]) => place.startsWith(`${collection}/`))
    .map(([, record]) => record)
    .sort((one, other) => (one.key < other.key ? -1 : 1));
}

function writeOf(form: WriteForm, idOf: (session: number) => SessionId): Write {
  if (form.kind !== 'put') return form;
  const { holder, ...rest } = form;
  const put = rest as Put;
  return holder === 0 ? put : { ...put, heldBy: idOf(holder - 1) };
}

/** Throws where the two differ, so that fast-check finds the shortest history. */
function same(found: unknown, expected: unknown, step: Step): void {
  if (isDeepStrictEqual(found, expected)) return;
  throw new Error(
    `after ${JSON.stringify(step)}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`,
  );
}
