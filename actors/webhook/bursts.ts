/**
 * The bursts that gather now, with the version of each one's record, so that an event joins with one conditional commit
 * and no read. The journal has the last word: where it says a version is stale, the table learns from it and tries
 * again. Knows no timer: when a burst is settled is the group chart's business.
 * @see COA-1 and DUR-1 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { type Burst, joinBurst } from '../../machines/webhook/coalesce.ts';
import type { GroupRecord } from '../../machines/webhook/record.ts';
import type { CommitVerdict, Write } from '../store/journal.ts';
import type { JournalKeeper } from '../store/keeper.ts';

interface Entry {
  readonly record: GroupRecord;
  readonly version: number;
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
}

export interface Joined {
  readonly verdict: CommitVerdict;
  readonly burst: Burst;
  /** True where the burst was closed while the event was on its way to disk: its run already takes the event. */
  readonly absorbed: boolean;
}

export type WritesWith = (burst: Burst, record: Write) => readonly Write[];

export interface Bursts {
  /**
   * Commits the writes of an event together with the burst it joins; `writesWith` is told which burst that is and adds
   * the write of its record. Calls back exactly once, possibly before it returns.
   */
  join(request: JoinRequest, writesWith: WritesWith, settled: (joined: Joined) => void): void;
  /** Turns the gathered burst into other writes and deletes its record, in one commit. */
  close(key: string, writesFor: (burst: Burst) => readonly Write[]): Promise<CommitVerdict>;
  /** Learns of a burst found in the journal at start. */
  adopt(key: string, record: GroupRecord, version: number): void;
}

/** Two gateways that keep overtaking each other give up after this many tries; the sender sends again. */
const mostTries = 8;

export function createBursts(keeper: JournalKeeper): Bursts {
  const entries = new Map<string, Entry>();

  function stored(key: string): Entry | undefined {
    const found = keeper.journal()?.get('groups', key);
    return found && { record: found.value as unknown as GroupRecord, version: found.version };
  }

  function relearn(key: string): void {
    const entry = stored(key);
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
  }

  function put(key: string, entry: Entry, over: Entry | undefined): Write {
    return {
      kind: 'put',
      collection: 'groups',
      key,
      value: entry.record as unknown as JsonObject,
      expect: over?.version ?? 'absent',
      dueAtMs: entry.record.burst.dueAtMs,
      heldBy: keeper.session(),
    };
  }

  function join(request: JoinRequest, writesWith: WritesWith, settled: (joined: Joined) => void, tries = 1): void {
    const { key, profile, route, groupKey } = request;
    const standing = entries.get(key);
    const burst = joinBurst(standing?.record.burst, request);
    const entry: Entry = { record: { profile, route, groupKey, burst }, version: (standing?.version ?? 0) + 1 };
    entries.set(key, entry);
    keeper.submit(writesWith(burst, put(key, entry, standing)), (verdict) => {
      if (verdict.kind === 'committed') {
        settled({ verdict, burst, absorbed: entries.get(key)?.record.burst.id !== burst.id });
        return;
      }
      // Others may have joined behind this one; their commits are stale too, and each learns for itself.
      relearn(key);
      if (verdict.kind === 'stale' && tries < mostTries) join(request, writesWith, settled, tries + 1);
      else settled({ verdict, burst, absorbed: false });
    });
  }

  return {
    join: (request, writesWith, settled) => join(request, writesWith, settled),

    async close(key, writesFor) {
      let standing = entries.get(key) ?? stored(key);
      for (let tries = 1; standing !== undefined; tries += 1) {
        // Gone from the table at once: an event that comes while the commit is under way begins the next burst.
        entries.delete(key);
        const verdict = await keeper.commit([
          { kind: 'delete', collection: 'groups', key, expect: standing.version },
          ...writesFor(standing.record.burst),
        ]);
        if (verdict.kind === 'committed') return verdict;
        if (verdict.kind !== 'stale' || tries === mostTries) {
          relearn(key);
          return verdict;
        }
        standing = stored(key);
      }
      return { kind: 'stale', index: 0 };
    },

    adopt(key, record, version) {
      entries.set(key, { record, version });
    },
  };
}
