/**
 * The journal's port: what a durable engine must do so that nothing acknowledged is lost. A commit is a list of
 * conditional writes that lands whole or not at all and resolves only once it would survive `kill -9` and a power cut.
 * Work is found by its due time and held by a session, never by "this process": several gateways may stand on one
 * engine. Sessions and claims are timed by the engine's clock, since the clocks of several machines differ. Knows nothing of webhooks; the records' meaning is `machines/webhook/record.ts`'s.
 *
 * Every implementation passes `spec/conformance/journal.ts`.
 * @see DUR-1, DUR-2 and IDM-2 in docs/specification.md
 */

import type { Fault, Result } from '../../machines/base/fault.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { DeliveryRecord, EventRecord, GroupRecord, RunRecord } from '../../machines/webhook/record.ts';

/** What a record of each collection is. */
export interface Records {
  readonly events: EventRecord;
  readonly runs: RunRecord;
  readonly groups: GroupRecord;
  readonly deliveries: DeliveryRecord;
  readonly transcripts: { readonly entries: Json };
}

export type Collection = keyof Records;

/**
 * What gateways on the same engine do: leave work free, begin or end a session, end a delivery that a sender waits for.
 * `lost`: the connection of this gateway's own session is lost.
 */
export type News = 'work' | 'session' | 'lost' | { readonly ended: string };

/** A session stands for one living gateway. What it holds becomes free when it ends or is not renewed in time. */
export type SessionId = string;

export interface StoredRecord<In extends Collection = Collection> {
  readonly key: string;
  /** 1 for a new record, one more with each put and each take. */
  readonly version: number;
  readonly value: Records[In];
  /** When work on it is due, in whole Unix milliseconds; absent: nothing left to do. */
  readonly dueAtMs?: number;
  /** Who took it last; holds it only while that session lives. */
  readonly heldBy?: SessionId;
}

/** A living session, and who opened it. */
export interface LivingSession {
  readonly id: SessionId;
  readonly owner: string;
}

/** A run is taken together with those of its deliveries that are due. */
export type Taken<In extends Collection = Collection> = StoredRecord<In> & {
  /** The session that held it and has ended; absent where it was free. */
  readonly from?: SessionId;
  readonly deliveries?: readonly StoredRecord<'deliveries'>[];
};

/**
 * What must stand for a write to land: a version, or no record. A version counts anew with each new record of a key, so
 * where records of one key come and go, a text that lies at a dotted path of the value tells them apart.
 */
export type Expected = number | 'absent' | { readonly version: number; readonly path: string; readonly text: string };

/** Each write sees those before it, in the same commit too. */
export type Write =
  /** Takes a name for a time, or refuses the whole commit while an earlier claim's time runs, whoever made that. */
  | {
      readonly kind: 'claim';
      readonly name: string;
      readonly value: JsonObject;
      /** How long it stands, in milliseconds. */
      readonly forMs: number;
      /**
       * The key of the event that the same commit puts and whose id this is; the value names it as `eventKey`. The event
       * is found by its claim, which is therefore kept as long as the event, though it refuses nobody after its time.
       */
      readonly event?: string;
      /**
       * The key of another event that the same commit puts and that no claim of this name leads to: it is kept as long as
       * that event too. The value names the event as `eventKey`, and the event lists the name (`claimNames`).
       */
      readonly keptWith?: string;
    }
  /** Gives a name back, whether or not it was taken; with `holder` only where the claim's value names that. */
  | { readonly kind: 'release'; readonly name: string; readonly holder?: string }
  /**
   * Writes a record. `expect` is what must stand, left out: anything. `dueAtMs` puts it among the work (null or left
   * out: takes it out); `heldBy` says who works on it.
   */
  | Put
  /** Removes a record; one that is not there is no fault unless one was expected. */
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
    /** A record, or plain JSON that the caller knows to be one. */
    readonly value: Records[Each] | JsonObject;
    readonly expect?: Expected;
    readonly dueAtMs?: number | null | undefined;
    readonly heldBy?: SessionId | undefined;
  };
}[In];

export type CommitVerdict =
  | { readonly kind: 'committed' }
  /** The write at `index` met a standing claim (`holder` is its value). Nothing was written. */
  | { readonly kind: 'claimed'; readonly index: number; readonly holder: JsonObject }
  /** The write at `index` expected something else than `standing`; absent: there is no record. Nothing was written. */
  | { readonly kind: 'stale'; readonly index: number; readonly standing?: StoredRecord }
  /**
   * The engine cannot write now: full disk, read-only folder, closed. Nothing may be acknowledged. Stays so until a
   * `probe` has succeeded. Also the answer to a key that cannot be stored: empty, or above 620 characters.
   */
  | { readonly kind: 'unavailable'; readonly fault: Fault };

export type Stale = Extract<CommitVerdict, { readonly kind: 'stale' }>;

/** Hears the verdict, and the writes that it is about where they were given anew. */
export type Settled = (verdict: CommitVerdict, judged: readonly Write[]) => void;

/**
 * Gives a commit other writes, to the same keys, at the moment in which the engine judges it. It is called twice at most:
 * before the writes are judged, and with `stale` where they expected something else than what stands; undefined keeps the
 * writes. So a commit that another gateway was faster than need not be made a second time. An engine that judges a commit
 * again, because its transaction failed, calls it again.
 */
export type Anew = (stale?: Stale) => readonly Write[] | undefined;

export interface ListQuery {
  readonly limit: number;
  readonly order: 'newest' | 'oldest';
  /** Only keys strictly before (newest) or after (oldest) this one: the next page. */
  readonly from?: string;
}

/** The collections whose records bear marks. */
export type MarkedCollection = 'events' | 'runs' | 'deliveries';

export interface MarkQuery {
  /** One or more; of several only marks that many records share. */
  readonly marks: readonly string[];
  readonly limit: number;
  readonly from?: string;
}

/** A claim whose time runs, or that is kept as long as an event. */
export interface StoredClaim {
  /** The name that was claimed, or a digest where the engine cannot keep it. */
  readonly name: string;
  readonly value: JsonObject;
  /** How long it still stands, in milliseconds of the engine's clock; at most 0 where its time is over. */
  readonly forMs: number;
  /** The key of the event that it is kept as long as. */
  readonly keptWith?: string;
}

/** What a listing needs of a journal; a store that is only read has no more. */
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
  /** Begins a session for an owner, ending any earlier session of the same owner at once (the owner is known dead). */
  openSession(owner: string, ttlMs: number): Promise<Result<SessionId>>;
  /**
   * Also for a session that has run out but not ended, as after a suspended machine wakes. Resolves with the engine's time.
   */
  renewSession(session: SessionId, ttlMs: number): Promise<Result<{ readonly nowMs: number }>>;
  endSession(session: SessionId): Promise<Result<true>>;

  /**
   * Never rejects. Commits are applied in the order of the calls; many in flight share one fsync. The values belong to the
   * journal from here on: they must not be changed any more, neither by the caller nor by whoever reads them.
   */
  commit(writes: readonly Write[]): Promise<CommitVerdict>;
  /** The same for the hot path: calls back exactly once, possibly before it returns, instead of making a promise. */
  submit(writes: readonly Write[], settled: Settled, anew?: Anew): void;
  /**
   * The commits that `submitAll` submits before it returns land together: after a power cut either all of them are on disk
   * or none is. Each still has its own verdict, and a refused one does not hold up the others.
   */
  together(submitAll: () => void): void;

  /** Reads see every commit that resolved before the call. They reject only where the engine cannot be reached. */
  get<In extends Collection>(collection: In, key: string): Promise<StoredRecord<In> | undefined>;
  /** In key order; keys are ASCII, those of all but groups begin with their time, so this is time order. */
  list<In extends Collection>(collection: In, query: ListQuery): Promise<StoredRecord<In>[]>;
  /**
   * The records that may bear all of some marks, newest first, those before `from`: all that do, and neighbours. What
   * bears which mark says `machines/webhook/marks.ts`.
   */
  marked<In extends MarkedCollection>(collection: In, query: MarkQuery): Promise<StoredRecord<In>[]>;
  /** The keys of all records with a due time, newest first. */
  dueKeys(collection: Collection): Promise<string[]>;
  /** The value of a claim that stands. */
  claimed(name: string): Promise<JsonObject | undefined>;
  /** All claims that are kept, in the order of their names; only those after `from`. */
  claims(query: { readonly limit: number; readonly from?: string }): Promise<StoredClaim[]>;
  /** Reads that a request makes before its commit, without a promise; absent where the records are behind a network. */
  readonly local?: LocalReader;

  /**
   * Takes work for a living session: records due by `dueBeforeMs` that nobody living holds, oldest due first; each is
   * held by the session when the promise resolves. The holder renews by keeping its session alive. The deliveries of a
   * run that is due are taken with it, and never without it.
   */
  take<In extends Collection>(
    collection: In,
    query: {
      readonly session: SessionId;
      readonly dueBeforeMs: number;
      readonly limit: number;
    },
  ): Promise<Result<Taken<In>[]>>;

  /** The sessions whose time has not run out. */
  living(): Promise<Result<readonly LivingSession[]>>;
  /** For how many milliseconds another gateway may have taken this one for dead, because the connection of its session is lost; else 0. */
  lostMs(): number;
  /** Ends the sessions of gateways that died. Returns how many; 0 where one gateway alone uses the engine. */
  reap(): Promise<Result<number>>;
  /** Calls back with what other gateways do, until the returned function is called. May miss some of it. */
  watch(heard: (news: News) => void): () => void;

  /**
   * Forgets history: finished records (no due time) whose key is older than `keepAfterKey`, then the oldest finished
   * ones until the store is at most `maxBytes`; expired claims, but for those that are kept as long as an event. Never removed: work
   * still due, an event whose value names work still due (`work`: the key of a run or delivery), and groups. Works in
   * pieces between commits.
   * @returns how many records went
   */
  prune(query: { readonly keepAfterKey: string; readonly maxBytes: number }): Promise<Result<number>>;

  /** Undefined while the engine can write; the fault that stops it otherwise. Tries the engine, so it can heal. */
  probe(): Promise<Fault | undefined>;
  /** Waits for commits in flight, then lets go of every file. */
  close(): Promise<void>;
}
