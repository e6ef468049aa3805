/**
 * Writes the records of runs and deliveries in progress, each on condition of the version that this gateway wrote last: a
 * record that another gateway has taken meanwhile is not overwritten.
 * @see DUR-1 in docs/specification.md
 */

import { ChurnMap } from '../../machines/base/churn-map.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Collection, Records, Stale, StoredRecord, Write } from './journal.ts';
import type { JournalKeeper } from './keeper.ts';

export type RecordChange = {
  readonly [In in 'runs' | 'deliveries' | 'transcripts']: {
    readonly collection: In;
    readonly key: string;
    readonly value: Records[In] | JsonObject;
    /** When its work is due; null if it is finished. */
    readonly dueAtMs: number | null;
    /** Leaves the work in the journal, unheld, until it is due. */
    readonly free?: boolean;
  };
}['runs' | 'deliveries' | 'transcripts'];

export type WriteVerdict =
  | { readonly kind: 'written' }
  /** Another gateway has written this record, or one that an additional write expected. */
  | { readonly kind: 'lost'; readonly collection?: Collection }
  | { readonly kind: 'refused'; readonly reason: string };

export interface RecordWriter {
  /** Commits the changes and the additional writes, completely or not at all. */
  write(changes: readonly RecordChange[], also?: readonly Write[]): Promise<WriteVerdict>;
  /** `write` for the hot path: calls back exactly once, possibly before it returns. */
  submit(changes: readonly RecordChange[], also: readonly Write[], settled: (verdict: WriteVerdict) => void): void;
  /**
   * Holds changes back until the next write of a record, which commits them with it; a later change of the same record
   * replaces them. Only for work that may be repeated after a crash.
   */
  hold(collection: RecordChange['collection'], key: string, changes: readonly RecordChange[]): void;
  /** Returns the changes held back until the next write of a record. */
  held(collection: RecordChange['collection'], key: string): readonly RecordChange[];
  /** Drops the changes held back until the next write of a record. */
  drop(collection: RecordChange['collection'], key: string): void;
  /** The work of a record has ended here: its version is removed. */
  forget(collection: RecordChange['collection'], key: string): void;
  /** Drops all changes held back, as a crash would: their work is repeated. */
  dropAll(): void;
  /** Another commit of this gateway has just created the record, so its version is 1. */
  begin(collection: RecordChange['collection'], key: string): void;
  /**
   * Stores the new version of a record that was taken although its chart runs here, as after an expired session. Returns
   * false if another gateway has written it since, so that the chart has lost it.
   */
  regain(collection: RecordChange['collection'], key: string, version: number): boolean;
  /** Stores the version of a record found in the journal. */
  adopt(collection: RecordChange['collection'], key: string, version: number): void;
}

/** The collection of the record that a write concerns. */
export function collectionOf(write: Write | undefined): { readonly collection?: Collection } {
  return write === undefined || !('collection' in write) ? {} : { collection: write.collection };
}

/** No record has this version, so a record that another gateway has taken, or may take, is not written again. */
const lostVersion = -1;

function byCollection<Value>(): Readonly<Record<RecordChange['collection'], ChurnMap<string, Value>>> {
  return { runs: new ChurnMap(), deliveries: new ChurnMap(), transcripts: new ChurnMap() };
}

export function createRecordWriter(keeper: JournalKeeper): RecordWriter {
  // By collection and then by key, which saves building a combined key for each lookup.
  const versions = byCollection<number>();
  const kept = byCollection<readonly RecordChange[]>();

  /** Returns the changes with those held back for their records. */
  function withHeld(changes: readonly RecordChange[]): readonly RecordChange[] {
    if (!changes.some(({ collection, key }) => kept[collection].has(key))) return changes;
    const isWritten = (held: RecordChange): boolean =>
      changes.some(({ collection, key }) => key === held.key && collection === held.collection);
    return [
      ...changes,
      ...changes.flatMap((change) => kept[change.collection].get(change.key) ?? []).filter((held) => !isWritten(held)),
    ];
  }

  function putOf(change: RecordChange): Write {
    const { collection, key, dueAtMs, free } = change;
    const expect = versions[collection].get(key);
    const heldBy = dueAtMs === null || free === true ? undefined : keeper.session();
    // Members after a spread cost the engine a microsecond each.
    return expect === undefined ? { kind: 'put', heldBy, ...change } : { kind: 'put', heldBy, expect, ...change };
  }

  function written(change: RecordChange): void {
    const { collection, key, dueAtMs, free } = change;
    const known = versions[collection];
    // A record that was only held back had no version on disk.
    const version = known.get(key) ?? (kept[collection].has(key) ? 0 : undefined);
    kept[collection].delete(key);
    if (version === undefined) return;
    if (free === true) known.set(key, lostVersion);
    else if (dueAtMs === null) known.delete(key);
    else known.set(key, version + 1);
  }

  /** Whether the only write since the expected version was a take by this gateway, as after its session expired. */
  function isRetaken(write: Write | undefined, stale: Stale): stale is Stale & { readonly standing: StoredRecord } {
    const { standing } = stale;
    if (standing === undefined || write?.kind !== 'put' || typeof write.expect !== 'number') return false;
    return (
      standing.version === write.expect + 1 && standing.heldBy !== undefined && standing.heldBy === keeper.session()
    );
  }

  const submit: RecordWriter['submit'] = (asked, also, settled) => {
    const changes = withHeld(asked);
    const writes = [...changes.map(putOf), ...also];
    keeper.submit(writes, (verdict) => {
      switch (verdict.kind) {
        case 'committed':
          for (const change of changes) written(change);
          settled({ kind: 'written' });
          return;
        case 'claimed':
          settled({ kind: 'lost' });
          return;
        case 'stale': {
          const lost = changes[verdict.index];
          if (lost !== undefined && isRetaken(writes[verdict.index], verdict)) {
            versions[lost.collection].set(lost.key, verdict.standing.version);
            submit(asked, also, settled);
            return;
          }
          if (lost !== undefined) versions[lost.collection].set(lost.key, lostVersion);
          settled({ kind: 'lost', ...collectionOf(writes[verdict.index]) });
          return;
        }
        case 'unavailable':
          settled({ kind: 'refused', reason: verdict.fault.message });
      }
    });
  };

  return {
    submit,
    write: (changes, also = []) => new Promise((resolve) => submit(changes, also, resolve)),

    hold: (collection, key, changes) => void kept[collection].set(key, changes),
    held: (collection, key) => kept[collection].get(key) ?? [],
    drop: (collection, key) => void kept[collection].delete(key),
    forget: (collection, key) => void versions[collection].delete(key),
    dropAll() {
      for (const each of Object.values(kept)) each.clear();
    },

    begin(collection, key) {
      if (!versions[collection].has(key)) versions[collection].set(key, 1);
    },

    regain(collection, key, version) {
      const known = versions[collection].get(key);
      // A write may have noticed the take first.
      if (known === version) return true;
      if (known !== version - 1) return false;
      versions[collection].set(key, version);
      return true;
    },

    adopt(collection, key, version) {
      versions[collection].set(key, version);
    },
  };
}
