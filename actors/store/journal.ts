/**
 * The journal's port: what a durable engine must do so that nothing acknowledged is lost. A commit is a list of
 * conditional writes that is applied completely or not at all and resolves only once it would survive `kill -9` and a
 * power cut. Work is found by its due time and held by a session instead of a process: several gateways may use one
 * engine. Sessions and claims use the engine's clock, since the clocks of machines differ. `machines/webhook/record.ts`
 * defines the records.
 *
 * Every implementation passes `spec/conformance/journal.ts`.
 * @see DUR-1, DUR-2 and IDM-2 in docs/specification.md
 */

import type { Fault, Result } from '../../machines/base/fault.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { DeliveryRecord, EventRecord, GroupRecord, RunRecord } from '../../machines/webhook/record.ts';

/** The record type of each collection. */
export interface Records {
  readonly events: EventRecord;
  readonly runs: RunRecord;
  readonly groups: GroupRecord;
  readonly deliveries: DeliveryRecord;
  readonly transcripts: { readonly entries: Json };
}

export type Collection = keyof Records;

/**
 * Activity of other gateways on the same engine: work became free, a session began or ended, an awaited delivery ended or
 * is no longer awaited. `lost`: the connection of this gateway's own session is lost.
 */
export type News = 'work' | 'session' | 'lost' | { readonly ended: string } | { readonly unawaited: string };

/** The session of one running gateway. What it holds becomes free when it ends or is not renewed in time. */
export type SessionId = string;

export interface StoredRecord<In extends Collection = Collection> {
  readonly key: string;
  /** 1 for a new record, plus one with each put and each take. */
  readonly version: number;
  readonly value: Records[In];
  /** When its work is due, in integer Unix milliseconds; absent if no work is left. */
  readonly dueAtMs?: number;
  /** The session that took it last; it holds the record only while it lives. */
  readonly heldBy?: SessionId;
}

export interface LivingSession {
  readonly id: SessionId;
  readonly owner: string;
}

/** A run is taken together with its due deliveries. */
export type Taken<In extends Collection = Collection> = StoredRecord<In> & {
  /** The ended session that held it; absent if it was free. */
  readonly from?: SessionId;
  readonly deliveries?: readonly StoredRecord<'deliveries'>[];
};

/**
 * The condition for a write: a version, or no record. Versions start anew with each new record of a key, so if records of
 * one key are replaced, a text at a dotted path of the value distinguishes them.
 */
export type Expected = number | 'absent' | { readonly version: number; readonly path: string; readonly text: string };

/** Each write sees the earlier ones of the same commit. */
export type Write =
  /** Claims a name for a time; refuses the complete commit while an earlier claim is in force. */
  | {
      readonly kind: 'claim';
      readonly name: string;
      readonly value: JsonObject;
      /** How long it is in force, in milliseconds. */
      readonly forMs: number;
      /**
       * The key of the event that the same commit puts and whose id this is; the value contains it as `eventKey`. The
       * event is found by its claim, so the claim is kept as long as the event, though it refuses nothing after its time.
       */
      readonly event?: string;
      /**
       * The key of another event of the same commit to which no claim of this name leads: the claim is kept as long as
       * that event too. The value contains it as `eventKey`, and the event lists the name (`claimNames`).
       */
      readonly keptWith?: string;
    }
  /** Releases a name, claimed or not; with `holder`, only if the claim's value has that holder. */
  | { readonly kind: 'release'; readonly name: string; readonly holder?: string }
  /**
   * Writes a record. `expect` is the condition, none if left out. `dueAtMs` adds it to the due work (null or left out:
   * removes it); `heldBy` is the session that works on it.
   */
  | Put
  /** Removes a record; a missing one is an error only if one was expected. */
  | {
      readonly kind: 'delete';
      readonly collection: Collection;
      readonly key: string;
      readonly expect?: Exclude<Expected, 'absent'>;
    };

export type Put<In extends Collection = Collection> = {
  readonly [Each in In]: {
    readonly kind: 'put';
    readonly collection: Each;
    readonly key: string;
    /** A record, or plain JSON that the caller guarantees to be one. */
    readonly value: Records[Each] | JsonObject;
    readonly expect?: Expected;
    readonly dueAtMs?: number | null | undefined;
    readonly heldBy?: SessionId | undefined;
  };
}[In];

export type CommitVerdict =
  | { readonly kind: 'committed' }
  /** The write at `index` met a claim in force (`holder` is its value). Nothing was written. */
  | { readonly kind: 'claimed'; readonly index: number; readonly holder: JsonObject }
  /** The write at `index` expected something other than `standing`; absent if there is no record. Nothing was written. */
  | { readonly kind: 'stale'; readonly index: number; readonly standing?: StoredRecord }
  /**
   * The engine cannot write now: full disk, read-only folder, closed. Nothing may be acknowledged until a `probe` has
   * succeeded. `alone`: the engine can write, and only this commit is refused: it has a key that cannot be stored (empty, or
   * longer than 620 characters), or more events wait than fit in memory.
   */
  | { readonly kind: 'unavailable'; readonly fault: Fault; readonly alone?: true };

export type Stale = Extract<CommitVerdict, { readonly kind: 'stale' }>;

/** Receives the verdict, and the writes that were judged, as `Rewrite` may replace them. */
export type Settled = (verdict: CommitVerdict, judged: readonly Write[]) => void;

/**
 * Replaces the writes of a commit, for the same keys, at the moment when the engine judges it. Called at most twice:
 * before the writes are judged, and with `stale` if they expected something else; undefined keeps the writes. So a commit
 * that another gateway preceded need not be repeated. An engine that judges a commit again, because its transaction
 * failed, calls it again.
 */
export type Rewrite = (stale?: Stale) => readonly Write[] | undefined;

export interface ListQuery {
  readonly limit: number;
  readonly order: 'newest' | 'oldest';
  /** The next page: only keys strictly before (newest) or after (oldest) this one. */
  readonly from?: string;
}

/** The collections whose records have index entries. */
export type MarkedCollection = 'events' | 'runs' | 'deliveries';

export interface MarkQuery {
  /** One or more; if several, only marks that many records share. */
  readonly marks: readonly string[];
  readonly limit: number;
  readonly from?: string;
}

/** A claim that is in force, or is kept as long as an event. */
export interface StoredClaim {
  /** The claimed name, or a digest if the engine cannot store it. */
  readonly name: string;
  readonly value: JsonObject;
  /** Remaining time, in milliseconds of the engine's clock; 0 or less if it is over. */
  readonly forMs: number;
  /** The key of the event with which it is kept. */
  readonly keptWith?: string;
}

/** The reads of a journal; a store that is opened for reading has only these. */
export type JournalReader = Pick<Journal, 'get' | 'list' | 'marked' | 'dueKeys' | 'claimed' | 'claims'>;

/** The same reads without a promise. */
export interface LocalReader {
  get<In extends Collection>(collection: In, key: string): StoredRecord<In> | undefined;
  list<In extends Collection>(collection: In, query: ListQuery): StoredRecord<In>[];
  marked<In extends MarkedCollection>(collection: In, query: MarkQuery): StoredRecord<In>[];
  dueKeys(collection: Collection): string[];
  claimed(name: string): JsonObject | undefined;
}

export interface Journal {
  /** Begins a session for an owner and ends any earlier session of the same owner at once (that gateway has ended). */
  openSession(owner: string, ttlMs: number): Promise<Result<SessionId>>;
  /**
   * Renews a session, even one that has expired but not ended, as after a machine wakes up. Resolves with the engine's
   * time.
   */
  renewSession(session: SessionId, ttlMs: number): Promise<Result<{ readonly nowMs: number }>>;
  endSession(session: SessionId): Promise<Result<true>>;

  /**
   * Never rejects. Commits are applied in the order of the calls; many in flight share one fsync. The values belong to
   * the journal from here on: neither the caller nor a reader may change them.
   */
  commit(writes: readonly Write[]): Promise<CommitVerdict>;
  /** `commit` for the hot path: calls back exactly once, possibly before it returns, instead of creating a promise. */
  submit(writes: readonly Write[], settled: Settled, rewrite?: Rewrite): void;
  /**
   * The commits that `submitAll` submits before it returns are durable together: after a power cut either all of them are
   * on disk or none is. Each still has its own verdict, and a refused one does not block the others.
   */
  together(submitAll: () => void): void;

  /** Reads see every commit that resolved before the call. They reject only if the engine is unreachable. */
  get<In extends Collection>(collection: In, key: string): Promise<StoredRecord<In> | undefined>;
  /** In key order. Keys are ASCII, and except for groups they begin with their time, so this is time order. */
  list<In extends Collection>(collection: In, query: ListQuery): Promise<StoredRecord<In>[]>;
  /**
   * The records before `from` that may have all of some marks, newest first: all that do, and neighbours.
   * `machines/webhook/marks.ts` defines which record has which marks.
   */
  marked<In extends MarkedCollection>(collection: In, query: MarkQuery): Promise<StoredRecord<In>[]>;
  /** The keys of all records with a due time, newest first. */
  dueKeys(collection: Collection): Promise<string[]>;
  /** The value of a claim in force. */
  claimed(name: string): Promise<JsonObject | undefined>;
  /** All kept claims, in the order of their names; only those after `from`. */
  claims(query: { readonly limit: number; readonly from?: string }): Promise<StoredClaim[]>;
  /** Synchronous reads, which a request makes before its commit; absent if the records are behind a network. */
  readonly local?: LocalReader;

  /**
   * Takes work for a live session: records due by `dueBeforeMs` that no live session holds, oldest first. The session
   * holds each of them when the promise resolves, as long as it is renewed. The deliveries of a due run are taken with
   * it, never without it. `without` names queues whose free work stays (`machines/webhook/work-queue.ts`).
   */
  take<In extends Collection>(
    collection: In,
    query: {
      readonly session: SessionId;
      readonly dueBeforeMs: number;
      readonly limit: number;
      readonly without?: readonly string[];
    },
  ): Promise<Result<Taken<In>[]>>;

  /** The sessions that have not expired. */
  living(): Promise<Result<readonly LivingSession[]>>;
  /**
   * For how many milliseconds other gateways may have considered this one dead, because its session's connection is lost;
   * else 0.
   */
  lostMs(): number;
  /** Ends the sessions of gateways that died. Returns their number; 0 if a single gateway uses the engine. */
  reap(): Promise<Result<number>>;
  /** Notifies the gateways of the engine, this one too; a notification may be missed. */
  notify(news: Exclude<News, 'lost'>): Promise<Result<true>>;
  /** Calls back with the activity of other gateways until the returned function is called. Some of it may be missed. */
  watch(heard: (news: News) => void): () => void;

  /**
   * Removes history: finished records (without a due time) whose key is older than `keepAfterKey`, then the oldest
   * finished ones until the store is at most `maxBytes`; and expired claims, except those kept with an event. Never
   * removed: due work and what belongs to it (its event, its run, the other deliveries and the transcript of the run), the
   * events of a batch that still collects, and groups. Works in pieces between commits.
   * @param goesOn whether this gateway is still the one that prunes, asked before each piece of several gateways' engine
   * @returns how many records were removed
   */
  prune(
    query: { readonly keepAfterKey: string; readonly maxBytes: number },
    goesOn?: () => boolean,
  ): Promise<Result<number>>;

  /**
   * Undefined while the engine can write; otherwise the fault that stops it. Tries a write, so the engine can recover.
   */
  probe(): Promise<Fault | undefined>;
  /** Waits for commits in flight, then closes every file. */
  close(): Promise<void>;
}
