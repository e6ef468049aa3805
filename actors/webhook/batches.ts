/**
 * The batches that are gathering now, with the version of each one's record, so that an event joins with one conditional
 * commit and no read. The journal decides: if a version is stale, the event joins the current batch in the same commit.
 * The chart of the batch decides when it is settled.
 * @see COA-1 and DUR-1 in docs/specification.md
 */

import { LRUCache } from 'lru-cache';
import { causeOf, fault } from '../../machines/base/fault.ts';
import { type Batch, type Joining, joinBatch } from '../../machines/webhook/coalesce.ts';
import type { GroupRecord } from '../../machines/webhook/record.ts';
import type { CommitVerdict, Expected, Rewrite, SessionId, StoredRecord, Write } from '../store/journal.ts';
import type { JournalKeeper } from '../store/keeper.ts';

/** Changes while it is being written, if another gateway joined the batch first. */
interface Entry {
  record: GroupRecord;
  version: number;
  /** The session whose chart waits for the batch to settle. */
  heldBy: SessionId | undefined;
  /** The entry that this one replaces, while both are being written: if that write fails, this one fails too. */
  over: Entry | undefined;
}

interface JoinRequest extends Joining, Omit<GroupRecord, 'burst'> {
  /** The key of the batch's record. */
  readonly key: string;
}

export interface Joined {
  readonly verdict: CommitVerdict;
  readonly burst: Batch;
  /** True if the batch was closed while the event was being written: its run already includes the event. */
  readonly absorbed: boolean;
  /** True if another gateway holds the batch and runs its chart. */
  readonly isElsewhere: boolean;
}

type WritesWith = (burst: Batch, record: Write) => readonly Write[];

export interface Batches {
  /**
   * Commits the writes of an event together with the batch that it joins; `writesWith` receives that batch and adds the
   * write of its record. Calls back exactly once, possibly before it returns.
   */
  join(request: JoinRequest, writesWith: WritesWith, settled: (joined: Joined) => void): void;
  /**
   * Replaces the gathered batch with other writes and deletes its record, in one commit. `writesFor` may decline a batch
   * that an event of another gateway has changed meanwhile (`isNews`): the batch stays, and the verdict is `stale`.
   */
  close(
    key: string,
    writesFor: (burst: Batch, isNews: boolean) => readonly Write[] | undefined,
  ): Promise<CommitVerdict>;
  /** Leaves a batch to the gateway that takes it next. Resolves when it is on disk, or another gateway has it. */
  leave(key: string): Promise<void>;
  /** Adds a batch found in the journal at start. */
  adopt(key: string, record: GroupRecord, version: number): void;
}

/** A batch that was removed here is found on disk by its next event. */
const maxForeign = 10_000;
/**
 * If other events keep joining a batch that is being closed, it stays after this many tries until its chart tries again.
 */
const maxTries = 8;

export function createBatches(keeper: JournalKeeper): Batches {
  /** The newest entry of each key, on disk or being written. */
  const entries = new Map<string, Entry>();
  /** The keys of batches that other gateways hold: this gateway is not notified of their end. */
  const foreign = new LRUCache<string, true>({
    max: maxForeign,
    dispose: (_, key) => {
      if (entries.get(key)?.heldBy !== keeper.session()) entries.delete(key);
    },
  });
  /** The entry of each key that is being closed. */
  const closings = new Map<string, Entry>();

  function learn(key: string, entry: Entry | undefined): void {
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
  }

  /** Removes an entry that could not be written, and any newer one that is based on it. Other entries stay. */
  function forget(key: string, failed: Entry, standing: Entry | undefined): void {
    const newest = entries.get(key) ?? closings.get(key);
    if (newest === undefined || restsOn(newest, failed)) learn(key, standing);
  }

  /** Indexed by the batch's latest flush time. Joining events do not change it, so the index entry is written once. */
  function put(key: string, { record, over, heldBy }: Entry, maxWaitMs: number): Write {
    return {
      kind: 'put',
      collection: 'groups',
      key,
      value: record,
      expect: over === undefined ? 'absent' : expected(over),
      dueAtMs: record.burst.firstAtMs + maxWaitMs,
      heldBy,
    };
  }

  function join(request: JoinRequest, writesWith: WritesWith, settled: (joined: Joined) => void): void {
    const { key } = request;
    const entry = entryOver(entries.get(key), request);
    entries.set(key, entry);
    let basis = entry.over?.record;
    let record = put(key, entry, request.maxWaitMs);
    let writes = writesWith(entry.record.burst, record);
    /** If the previous entry was refused, or another gateway joined first, the event joins the current batch instead. */
    const rewrite: Rewrite = (stale) => {
      if (stale !== undefined) {
        if (writes[stale.index] !== record) return undefined;
        entry.over = foundBy(stale);
      } else if (entry.over?.record === basis) return writes;
      Object.assign(entry, entryOver(entry.over, request));
      basis = entry.over?.record;
      record = put(key, entry, request.maxWaitMs);
      writes = writesWith(entry.record.burst, record);
      return writes;
    };
    const done = (verdict: CommitVerdict): void => {
      const { heldBy } = entry;
      const { burst } = entry.record;
      if (verdict.kind === 'committed') {
        entry.over = undefined;
        if (heldBy !== keeper.session()) foreign.set(key, true);
        const absorbed = batchOf(closings, key) === burst.id;
        settled({ verdict, burst, absorbed, isElsewhere: heldBy !== keeper.session() });
        return;
      }
      // If another write was refused, the batch was as expected, and the previous entry is still valid.
      const isOwn = verdict.kind === 'stale' && writes[verdict.index] === record;
      forget(key, entry, isOwn ? foundBy(verdict) : entry.over);
      settled({ verdict, burst, absorbed: false, isElsewhere: false });
    };
    keeper.submit(writes, done, rewrite);
  }

  function entryOver(over: Entry | undefined, request: JoinRequest): Entry {
    const { profile, route, groupKey } = request;
    return {
      record: { profile, route, groupKey, burst: joinBatch(over?.record.burst, request) },
      version: (over?.version ?? 0) + 1,
      heldBy: over?.heldBy ?? keeper.session(),
      over,
    };
  }

  /** Also `stale` if an event that was being written has changed the batch, because the writes do not include it. */
  function commitClose(key: string, standing: Entry, writes: readonly Write[]): Promise<CommitVerdict> {
    const { record } = standing;
    const closing = (expect: Exclude<Expected, 'absent'>): Write => ({
      kind: 'delete',
      collection: 'groups',
      key,
      expect,
    });
    const rewrite: Rewrite = (stale) =>
      stale === undefined && standing.record !== record ? [closing(noVersion)] : undefined;
    return new Promise((resolve) => keeper.submit([closing(expected(standing)), ...writes], resolve, rewrite));
  }

  return {
    join,

    async close(key, writesFor) {
      let standing = entries.get(key);
      const isKnown = standing !== undefined;
      try {
        standing ??= entryOf(await keeper.journal()?.get('groups', key));
      } catch (thrown) {
        return { kind: 'unavailable', fault: fault('journal-unavailable', causeOf(thrown)) };
      }
      let isNews = false;
      for (let tries = 1; standing !== undefined; tries += 1) {
        const { burst } = standing.record;
        // The chart of the batch is at another gateway now.
        const isElsewhere = (isKnown || isNews) && standing.heldBy !== keeper.session();
        const writes = isElsewhere ? undefined : writesFor(burst, isNews);
        if (writes === undefined) {
          if (!entries.has(key)) entries.set(key, standing);
          return { kind: 'stale', index: 0 };
        }
        closings.set(key, standing);
        // Removed from the table at once, so that an event during the commit begins the next batch.
        if (batchOf(entries, key) === burst.id) entries.delete(key);
        const verdict = await commitClose(key, standing, writes);
        closings.delete(key);
        if (verdict.kind === 'committed') return verdict;
        if (verdict.kind !== 'stale' || tries === maxTries) {
          // If the batch no longer exists, the next event that joins notices it.
          if (!entries.has(key)) entries.set(key, standing);
          return verdict;
        }
        if (batchOf(entries, key) === burst.id) standing = entries.get(key);
        else if (verdict.index === 0) {
          standing = foundBy(verdict);
          isNews = true;
        }
      }
      return { kind: 'stale', index: 0 };
    },

    async leave(key) {
      let standing = entries.get(key);
      // An event that arrives meanwhile finds it on disk.
      entries.delete(key);
      for (let tries = 1; standing !== undefined && standing.heldBy === keeper.session(); tries += 1) {
        const { record } = standing;
        const dueAtMs = record.burst.dueAtMs;
        const verdict = await keeper.commit([
          { kind: 'put', collection: 'groups', key, value: record, expect: expected(standing), dueAtMs },
        ]);
        if (verdict.kind !== 'stale' || tries === maxTries) return;
        // An event of another gateway has joined it.
        standing = foundBy(verdict);
      }
    },

    adopt(key, record, version) {
      entries.set(key, { record, version, heldBy: keeper.session(), over: undefined });
    },
  };
}

/** The current batch where another was expected. */
function foundBy({ standing }: Extract<CommitVerdict, { kind: 'stale' }>): Entry | undefined {
  return entryOf(standing as StoredRecord<'groups'> | undefined);
}

function entryOf(found: StoredRecord<'groups'> | undefined): Entry | undefined {
  return found && { record: found.value, version: found.version, heldBy: found.heldBy, over: undefined };
}

/** Versions count from 1, so no record has this one. */
const noVersion = 0;

/** The version alone may belong to another event, which joined at another gateway. */
function expected({ record, version }: Entry): Exclude<Expected, 'absent'> {
  return { version, path: 'burst.latestEventKey', text: record.burst.latestEventKey };
}

function batchOf(table: ReadonlyMap<string, Entry>, key: string): string | undefined {
  return table.get(key)?.record.burst.id;
}

function restsOn(newest: Entry, entry: Entry): boolean {
  for (let at: Entry | undefined = newest; at !== undefined; at = at.over) if (at === entry) return true;
  return false;
}
