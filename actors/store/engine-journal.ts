/**
 * The journal over any engine: turns each call of the port into jobs. An engine only determines how jobs become durable.
 * @see DUR-1, DUR-2 and IDM-2 in docs/specification.md
 */

import { done, type Fault, fault, type Result } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type {
  Collection,
  CommitVerdict,
  Journal,
  JournalReader,
  ListQuery,
  LocalReader,
  Rewrite,
  SessionId,
  Settled,
  StoredClaim,
  StoredRecord,
  Taken,
  Write,
} from './journal.ts';
import { claimKey } from './keys.ts';
import { apply, deliveryKeysOf, isKey, judge, storedRecord, unstorable } from './ledger.ts';
import { expiryKey, markedKeys } from './marks.ts';
import { ageing, type Piece, pruneClaims, type Spent, shrinking, sweeping } from './prune.ts';
import { beginSession, isLiving, livingSessions, prolongSession, removeSession, sessionEnded } from './sessions.ts';
import { type Engine, type Job, joined, promised, type Tables } from './tables.ts';
import { addWork, dueKeys, freeWork, holderOfQueue, removeWork, type Work, workKey } from './work-index.ts';

/** Records taken in one job. */
const takeSize = 100;
/** How long a piece of pruning may block the event loop; its commit takes additional time. */
const pieceMs = 5;
/** Index entries without a record only waste their bytes, so sweeping is not urgent. */
const sweepEveryMs = 600_000;
/** A store above its limit by more than this part of its size shrinks in steps, each swept, so that it loses no records for them. */
const shrinkStep = 0.1;

interface EngineClocks {
  /** Unix milliseconds, for sessions and claims. */
  readonly nowMs: () => number;
  /** Milliseconds of a clock that only rises, to split long work into pieces. */
  readonly steadyMs: () => number;
}

export function createJournal(engine: Engine, { nowMs, steadyMs }: EngineClocks): Journal {
  /** Whether no record was removed since the last sweep. */
  let hasSwept = false;
  let isClosing = false;
  let sweepAtMs = Number.NEGATIVE_INFINITY;
  /** The commits of a `together` call, while it runs. */
  let gathered: Job[] | undefined;
  const host: CommitHost = { engine, nowMs };
  const enqueue = <Value>(work: () => Value): Promise<Result<Value>> => promised(engine.submit, work);

  function submit(writes: readonly Write[], settled: Settled, rewrite?: Rewrite): void {
    const obstacle = unstorable(writes);
    if (obstacle !== undefined) {
      settled({ kind: 'unavailable', fault: fault('internal-error', `journal: ${obstacle}`), alone: true }, writes);
      return;
    }
    const commit = new Commit(host, writes, settled, rewrite);
    if (gathered === undefined) engine.submit(commit);
    else gathered.push(commit);
  }

  function together(submitAll: () => void): void {
    const jobs: Job[] = [];
    gathered = jobs;
    try {
      submitAll();
    } finally {
      gathered = undefined;
    }
    if (jobs.length > 0) engine.submit(joined(jobs));
  }

  async function take<In extends Collection>(collection: In, query: TakeQuery): Promise<Result<Taken<In>[]>> {
    const taken: Taken<In>[] = [];
    // Most calls find nothing; this read shows it without a job, so it does not delay the writers.
    if (!hasFree(engine.tables, collection, query, nowMs())) return done(taken);
    while (taken.length < query.limit) {
      const limit = Math.min(takeSize, query.limit - taken.length);
      const piece = await enqueue(() => takeSome(engine.tables, collection, { ...query, limit }, nowMs()));
      // Records from earlier jobs are already held, so they are returned instead of being lost with the fault.
      if (!piece.ok) return taken.length > 0 ? done(taken) : piece;
      if (piece.value === undefined) return taken.length > 0 ? done(taken) : sessionEnded(query.session);
      taken.push(...piece.value.records);
      if (!piece.value.more) break;
    }
    return done(taken);
  }

  async function prune(...[query]: Parameters<Journal['prune']>): Promise<Result<number>> {
    const { keepAfterKey, maxBytes } = query;
    const atMs = nowMs();
    const claims = await inPieces((spent) => pruneClaims(engine.tables, atMs, spent));
    if (!claims.ok) return claims;
    const aged = await inPieces(ageing(engine, keepAfterKey, atMs));
    if (!aged.ok) return aged;
    let removed = aged.value;
    hasSwept &&= removed === 0;
    // Lower at each step, and in one walk: while records are added that it may remove, it would not end otherwise.
    let target = Number.POSITIVE_INFINITY;
    const shrink = shrinking(engine, () => target, atMs);
    for (;;) {
      const isFar = engine.usedBytes() * (1 - shrinkStep) > maxBytes;
      if (!hasSwept && (isFar || atMs >= sweepAtMs)) {
        const swept = await inPieces(sweeping(engine));
        if (!swept.ok) return swept;
        hasSwept = true;
        sweepAtMs = atMs + sweepEveryMs;
      }
      target = Math.max(maxBytes, Math.min(target, engine.usedBytes()) * (1 - shrinkStep));
      const shrunk = await inPieces(shrink);
      if (!shrunk.ok) return shrunk;
      removed += shrunk.value;
      hasSwept &&= shrunk.value === 0;
      if (target === maxBytes || shrunk.value === 0) return done(removed);
    }
  }

  /** Ends early when the journal is closed: the rest is removed after the next start. */
  async function inPieces(job: (spent: Spent) => Piece): Promise<Result<number>> {
    let removed = 0;
    while (!isClosing) {
      const piece = await enqueue(() => {
        const endsAt = steadyMs() + pieceMs;
        return job(() => steadyMs() > endsAt);
      });
      if (!piece.ok) return piece;
      removed += piece.value.removed;
      if (!piece.value.more) break;
    }
    return done(removed);
  }

  return {
    openSession: (owner, ttlMs) => enqueue(() => beginSession(engine.tables, owner, ttlMs, nowMs())),
    async renewSession(session, ttlMs) {
      const renewed = await enqueue(() => prolongSession(engine.tables, session, ttlMs, nowMs()));
      if (!renewed.ok) return renewed;
      return renewed.value ? done({ nowMs: nowMs() }) : sessionEnded(session);
    },
    endSession: (session) =>
      enqueue(() => {
        removeSession(engine.tables, session);
        return true as const;
      }),
    submit,
    together,
    commit: (writes) => new Promise((resolve) => submit(writes, resolve)),
    ...createReader(() => engine.tables, nowMs),
    take,
    living: async () => done(livingSessions(engine.tables, nowMs())),
    lostMs: () => 0,
    reap: async () => done(0),
    notify: async () => done(true),
    watch: () => () => {},
    prune,
    probe: () => engine.probe(),
    close() {
      isClosing = true;
      return engine.close();
    },
  };
}

/** The reads of a journal over tables, which are fetched for each read. */
export function createReader(
  tables: () => Tables,
  nowMs: () => number,
): JournalReader & { readonly local: LocalReader } {
  const local = createLocalReader(tables, nowMs);
  return {
    local,
    get: async (collection, key) => local.get(collection, key),
    list: async (collection, query) => local.list(collection, query),
    marked: async (collection, query) => local.marked(collection, query),
    dueKeys: async (collection) => local.dueKeys(collection),
    claimed: async (name) => local.claimed(name),
    claims: async (query) => keptClaims(tables(), query, nowMs()),
  };
}

function keptClaims({ claims, expiry }: Tables, { limit, from }: Part, nowMs: number): StoredClaim[] {
  const kept: StoredClaim[] = [];
  for (let after = from; kept.length < limit; ) {
    const keys = claims.keys({ limit: limit - kept.length, ...(after === undefined ? {} : { from: after }) });
    for (const name of keys) {
      const row = claims.read(name);
      if (row?.value === undefined) continue;
      const forMs = (row.dueAtMs ?? 0) - nowMs;
      // A claim with an entry in `expiry` ends with its time and is not kept with an event.
      const event = expiry.head(expiryKey(name, row)) === undefined ? row.value.eventKey : undefined;
      if (typeof event === 'string') kept.push({ name, value: row.value, forMs, keptWith: event });
      else if (forMs > 0) kept.push({ name, value: row.value, forMs });
    }
    after = keys.at(-1);
    if (after === undefined) break;
  }
  return kept;
}

function createLocalReader(tables: () => Tables, nowMs: () => number): LocalReader {
  return {
    get: (collection, key) => (isKey(key) ? storedRecord(tables(), collection, key) : undefined),
    list(collection, query) {
      const { order } = query;
      return page(tables(), collection, query, (part) => tables()[collection].keys({ order, ...part }));
    },
    marked(collection, query) {
      const { marks } = query;
      return page(tables(), collection, query, (part) => markedKeys(tables(), collection, { marks, ...part }));
    },
    dueKeys: (collection) => dueKeys(tables().due, collection).sort().reverse(),
    claimed(name) {
      const claim = tables().claims.read(claimKey(name));
      return (claim?.dueAtMs ?? 0) > nowMs() ? (claim?.value ?? {}) : undefined;
    },
  };
}

type Part = Pick<ListQuery, 'limit' | 'from'>;
type TakeQuery = Parameters<Journal['take']>[1];

/** A record that cannot be read is not counted, because a caller takes a short page for the last one. */
function page<In extends Collection>(
  tables: Tables,
  collection: In,
  { limit, from }: Part,
  keysOf: (part: Part) => readonly string[],
): StoredRecord<In>[] {
  const records: StoredRecord<In>[] = [];
  if (from !== undefined && !isKey(from)) return records;
  for (let after = from; records.length < limit; ) {
    const missing = limit - records.length;
    const keys = keysOf({ limit: missing, ...(after === undefined ? {} : { from: after }) });
    for (const key of keys) {
      const record = storedRecord(tables, collection, key);
      if (record !== undefined) records.push(record);
    }
    after = keys.at(-1);
    if (keys.length < missing) break;
  }
  return records;
}

/** Whether a job would find work to take, or that the session is over. */
function hasFree(tables: Tables, collection: Collection, query: TakeQuery, nowMs: number): boolean {
  if (!isLiving(tables, query.session, nowMs)) return true;
  return freeOf(tables, collection, { ...query, limit: 1 }, nowMs).length > 0;
}

/** Free work of the queues that are not left out, without deliveries whose run is due. */
function freeOf(
  tables: Tables,
  collection: Collection,
  { dueBeforeMs, limit, without = [] }: TakeQuery,
  nowMs: number,
): Work[] {
  const left = new Set(without.map(holderOfQueue));
  return freeWork(tables.due, collection, {
    dueBeforeMs,
    limit,
    isLeft: (holder) => left.has(holder) || isLiving(tables, holder, nowMs),
    isPassedOver: (key) => collection === 'deliveries' && waitsForRun(tables, key),
  });
}

function waitsForRun(tables: Tables, key: string): boolean {
  const run = tables.deliveries.read(key)?.value?.runKey;
  return typeof run === 'string' && isKey(run) && tables.runs.head(run)?.dueAtMs !== undefined;
}

/** Takes due records for a session; undefined if the session is over. */
function takeSome<In extends Collection>(
  tables: Tables,
  collection: In,
  query: TakeQuery,
  nowMs: number,
): { readonly records: Taken<In>[]; readonly more: boolean } | undefined {
  const { session, limit } = query;
  if (!isLiving(tables, session, nowMs)) return undefined;
  const works = freeOf(tables, collection, query, nowMs);
  const records: Taken<In>[] = [];
  for (const { key, indexKey } of works) {
    // A record that a damaged disk made unreadable stays, but is no longer offered as work.
    removeWork(tables.due, indexKey);
    const record = storedRecord(tables, collection, key);
    if (record === undefined) continue;
    const taken = hold(tables, collection, record, session);
    const deliveries = collection === 'runs' ? takeDeliveriesOf(tables, key, session) : [];
    records.push({ ...taken, ...heldBefore(record, session), ...(deliveries.length === 0 ? {} : { deliveries }) });
  }
  return { records, more: works.length === limit };
}

function heldBefore({ heldBy }: StoredRecord, session: SessionId): Pick<Taken, 'from'> {
  return heldBy === undefined || heldBy === session ? {} : { from: heldBy };
}

/** A take is a write, so the version of the previous holder becomes stale. */
function hold<In extends Collection>(
  tables: Tables,
  collection: In,
  record: StoredRecord<In>,
  session: SessionId,
): StoredRecord<In> {
  const { key, dueAtMs } = record;
  const version = record.version + 1;
  tables[collection].write(key, { version, dueAtMs, heldBy: session, value: record.value as JsonObject });
  addWork(tables.due, workKey(collection, key, { dueAtMs, heldBy: session }));
  return { ...record, version, heldBy: session };
}

function takeDeliveriesOf(tables: Tables, run: string, session: SessionId): StoredRecord<'deliveries'>[] {
  return deliveryKeysOf(tables, run).flatMap((key) => {
    const record = storedRecord(tables, 'deliveries', key);
    if (record?.dueAtMs === undefined || record.value.runKey !== run) return [];
    const head = tables.deliveries.head(key);
    removeWork(tables.due, head && workKey('deliveries', key, head));
    return [hold(tables, 'deliveries', record, session)];
  });
}

interface CommitHost {
  readonly engine: Engine;
  readonly nowMs: () => number;
}

/** A class for speed: one is created per request. */
class Commit implements Job {
  readonly #host: CommitHost;
  readonly #settled: Settled;
  readonly #rewrite: Rewrite | undefined;
  #writes: readonly Write[];
  #verdict: CommitVerdict | undefined;

  constructor(host: CommitHost, writes: readonly Write[], settled: Settled, rewrite: Rewrite | undefined) {
    this.#host = host;
    this.#writes = writes;
    this.#settled = settled;
    this.#rewrite = rewrite;
  }

  run(): void {
    const { engine, nowMs } = this.#host;
    if (this.#rewrite === undefined) {
      this.#verdict = apply(engine.tables, this.#writes, nowMs());
      return;
    }
    const { judged, verdict } = judge(engine.tables, { writes: this.#writes, rewrite: this.#rewrite }, nowMs());
    this.#writes = judged;
    this.#verdict = verdict;
  }

  landed(): void {
    if (this.#verdict !== undefined) this.#settled(this.#verdict, this.#writes);
  }

  refused(reason: Fault): void {
    this.#settled({ kind: 'unavailable', fault: reason }, this.#writes);
  }
}
