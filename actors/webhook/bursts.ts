/**
 * The bursts that gather now, with the version of each one's record, so that an event joins with one conditional commit
 * and no read. The journal has the last word: where it says that a version is stale, the event joins what stands there, in
 * the same commit. Knows no timer: when a burst is settled is the group chart's business.
 * @see COA-1 and DUR-1 in docs/specification.md
 */

import { LRUCache } from 'lru-cache';
import { causeOf, fault } from '../../machines/base/fault.ts';
import { type Burst, joinBurst } from '../../machines/webhook/coalesce.ts';
import type { GroupRecord } from '../../machines/webhook/record.ts';
import type { Anew, CommitVerdict, Expected, SessionId, StoredRecord, Write } from '../store/journal.ts';
import type { JournalKeeper } from '../store/keeper.ts';

/** While it is on its way to disk it changes, where another gateway has joined the burst before. */
interface Entry {
  record: GroupRecord;
  version: number;
  /** Whose chart waits for it to settle. */
  heldBy: SessionId | undefined;
  /** The entry that it is put over, while both are on their way to disk: where that one fails, this one fails too. */
  over: Entry | undefined;
}

export interface JoinRequest {
  /** The key of the group's record. */
  readonly key: string;
  readonly profile: string;
  readonly route: string;
  readonly groupKey: string;
  readonly eventKey: string;
  readonly nowMs: number;
  readonly windowMs: number;
  readonly maxWaitMs: number;
  readonly mode?: 'batch' | undefined;
  readonly isDirect?: true | undefined;
}

export interface Joined {
  readonly verdict: CommitVerdict;
  readonly burst: Burst;
  /** True where the burst was closed while the event was on its way to disk: its run already takes the event. */
  readonly absorbed: boolean;
  /** True where another gateway holds the burst: its chart is there. */
  readonly isElsewhere: boolean;
}

export type WritesWith = (burst: Burst, record: Write) => readonly Write[];

export interface Bursts {
  /**
   * Commits the writes of an event together with the burst it joins; `writesWith` is told which burst that is and adds
   * the write of its record. Calls back exactly once, possibly before it returns.
   */
  join(request: JoinRequest, writesWith: WritesWith, settled: (joined: Joined) => void): void;
  /**
   * Turns the gathered burst into other writes and deletes its record, in one commit. `writesFor` may decline a burst that
   * an event of another gateway has changed meanwhile (`isNews`): that stays, and the verdict is `stale`.
   */
  close(
    key: string,
    writesFor: (burst: Burst, isNews: boolean) => readonly Write[] | undefined,
  ): Promise<CommitVerdict>;
  /** Leaves a burst to the gateway that takes it up next. Resolves when it is on disk, or another gateway has it. */
  leave(key: string): Promise<void>;
  /** Learns of a burst found in the journal at start. */
  adopt(key: string, record: GroupRecord, version: number): void;
}

/** A burst that is forgotten is found on disk by its next event. */
const mostForeign = 10_000;
/** A burst that others join again and again while it is closed stays, after this many tries, until its group tries again. */
const mostTries = 8;

export function createBursts(keeper: JournalKeeper): Bursts {
  /** The newest entry of each key, on disk or on its way there. */
  const entries = new Map<string, Entry>();
  /** The keys of bursts that other gateways hold: their end is not heard of here. */
  const foreign = new LRUCache<string, true>({
    max: mostForeign,
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

  /** An entry did not land, so neither does what was put over it. Entries that do not rest on it stay. */
  function forget(key: string, failed: Entry, standing: Entry | undefined): void {
    const newest = entries.get(key) ?? closings.get(key);
    if (newest === undefined || restsOn(newest, failed)) learn(key, standing);
  }

  /** Due when it is settled at the latest, which stays the same while events join: the index of work is written once. */
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
    /** The entry before it may have been refused, or another gateway may have joined: then it joins what stands instead. */
    const anew: Anew = (stale) => {
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
        const absorbed = burstOf(closings, key) === burst.id;
        settled({ verdict, burst, absorbed, isElsewhere: heldBy !== keeper.session() });
        return;
      }
      // Where the burst itself was as expected, what the entry was put over still stands.
      const isOwn = verdict.kind === 'stale' && writes[verdict.index] === record;
      forget(key, entry, isOwn ? foundBy(verdict) : entry.over);
      settled({ verdict, burst, absorbed: false, isElsewhere: false });
    };
    keeper.submit(writes, done, anew);
  }

  function entryOver(over: Entry | undefined, request: JoinRequest): Entry {
    const { profile, route, groupKey } = request;
    return {
      record: { profile, route, groupKey, burst: joinBurst(over?.record.burst, request) },
      version: (over?.version ?? 0) + 1,
      heldBy: over?.heldBy ?? keeper.session(),
      over,
    };
  }

  /** Stale as well where the burst has become another one on its way to disk, for the writes are not of that. */
  function commitClose(key: string, standing: Entry, writes: readonly Write[]): Promise<CommitVerdict> {
    const { record } = standing;
    const closing = (expect: Exclude<Expected, 'absent'>): Write => ({
      kind: 'delete',
      collection: 'groups',
      key,
      expect,
    });
    const anew: Anew = (stale) =>
      stale === undefined && standing.record !== record ? [closing(noVersion)] : undefined;
    return new Promise((resolve) => keeper.submit([closing(expected(standing)), ...writes], resolve, anew));
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
        // Its chart is another gateway's now.
        const isElsewhere = (isKnown || isNews) && standing.heldBy !== keeper.session();
        const writes = isElsewhere ? undefined : writesFor(burst, isNews);
        if (writes === undefined) {
          if (!entries.has(key)) entries.set(key, standing);
          return { kind: 'stale', index: 0 };
        }
        closings.set(key, standing);
        // Gone from the table at once: an event that comes while the commit is under way begins the next burst.
        if (burstOf(entries, key) === burst.id) entries.delete(key);
        const verdict = await commitClose(key, standing, writes);
        closings.delete(key);
        if (verdict.kind === 'committed') return verdict;
        if (verdict.kind !== 'stale' || tries === mostTries) {
          // Where it no longer stands, the next event to join learns that.
          if (!entries.has(key)) entries.set(key, standing);
          return verdict;
        }
        if (burstOf(entries, key) === burst.id) standing = entries.get(key);
        else if (verdict.index === 0) {
          standing = foundBy(verdict);
          isNews = true;
        }
      }
      return { kind: 'stale', index: 0 };
    },

    async leave(key) {
      const standing = entries.get(key);
      if (standing === undefined) return;
      // An event that comes meanwhile finds it on disk.
      entries.delete(key);
      const { record } = standing;
      const dueAtMs = record.burst.dueAtMs;
      await keeper.commit([
        { kind: 'put', collection: 'groups', key, value: record, expect: expected(standing), dueAtMs },
      ]);
    },

    adopt(key, record, version) {
      entries.set(key, { record, version, heldBy: keeper.session(), over: undefined });
    },
  };
}

/** The burst that stands where another was expected. */
function foundBy({ standing }: Extract<CommitVerdict, { kind: 'stale' }>): Entry | undefined {
  return entryOf(standing as StoredRecord<'groups'> | undefined);
}

function entryOf(found: StoredRecord<'groups'> | undefined): Entry | undefined {
  return found && { record: found.value, version: found.version, heldBy: found.heldBy, over: undefined };
}

/** No record has it, because versions count from 1. */
const noVersion = 0;

/** A version alone could be that of another event, which joined at another gateway. */
function expected({ record, version }: Entry): Exclude<Expected, 'absent'> {
  return { version, path: 'burst.latestEventKey', text: record.burst.latestEventKey };
}

function burstOf(table: ReadonlyMap<string, Entry>, key: string): string | undefined {
  return table.get(key)?.record.burst.id;
}

function restsOn(newest: Entry, entry: Entry): boolean {
  for (let at: Entry | undefined = newest; at !== undefined; at = at.over) if (at === entry) return true;
  return false;
}
