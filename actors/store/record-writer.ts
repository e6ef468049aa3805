/**
 * Writes the records of runs and deliveries under way, each over the version that this gateway wrote last: a record that
 * another gateway has taken over meanwhile is not overwritten.
 * @see DUR-1 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import type { Collection, Records, Write } from './journal.ts';
import type { JournalKeeper } from './keeper.ts';

export type RecordChange = {
  readonly [In in 'runs' | 'deliveries' | 'transcripts']: {
    readonly collection: In;
    readonly key: string;
    readonly value: Records[In] | JsonObject;
    /** When work on it is due; null: it is finished. */
    readonly dueAtMs: number | null;
    /** Leaves the work in the journal, unheld, until it is due. */
    readonly free?: boolean;
  };
}['runs' | 'deliveries' | 'transcripts'];

export type WriteVerdict =
  | { readonly kind: 'written' }
  /** Another gateway has written the record that is named, or one that a write beside it expected. */
  | { readonly kind: 'lost'; readonly collection?: Collection }
  | { readonly kind: 'refused'; readonly reason: string };

export interface RecordWriter {
  /** Commits the changes, and the writes beside them, whole or not at all. */
  write(changes: readonly RecordChange[], also?: readonly Write[]): Promise<WriteVerdict>;
  /** A record that another commit of this gateway has just made: nothing else has written it yet. */
  begin(collection: RecordChange['collection'], key: string): void;
  /**
   * Learns the version of a record that was taken although its chart lives here, as after a session that ran out. Returns
   * false where another gateway has written it since, so that the chart has lost it.
   */
  regain(collection: RecordChange['collection'], key: string, version: number): boolean;
  /** Learns the version of a record found in the journal. */
  adopt(collection: RecordChange['collection'], key: string, version: number): void;
}

/** The collection of a record that a commit writes. */
export function collectionOf(write: Write | undefined): { readonly collection?: Collection } {
  return write === undefined || !('collection' in write) ? {} : { collection: write.collection };
}

export function createRecordWriter(keeper: JournalKeeper): RecordWriter {
  const versions = new Map<string, number>();

  return {
    async write(changes, also = []) {
      const session = keeper.session();
      const puts = changes.map(({ free, ...change }): Write => {
        const { collection, key, dueAtMs } = change;
        const version = versions.get(`${collection}/${key}`);
        return {
          kind: 'put',
          ...change,
          ...(version === undefined ? {} : { expect: version }),
          ...(session === undefined || dueAtMs === null || free === true ? {} : { heldBy: session }),
        };
      });
      const writes = [...puts, ...also];
      const verdict = await keeper.commit(writes);
      switch (verdict.kind) {
        case 'committed':
          for (const { collection, key, dueAtMs, free } of changes) {
            const name = `${collection}/${key}`;
            const version = versions.get(name);
            if (dueAtMs === null || free === true) versions.delete(name);
            else if (version !== undefined) versions.set(name, version + 1);
          }
          return { kind: 'written' };
        case 'claimed':
          return { kind: 'lost' };
        case 'stale': {
          const lost = changes[verdict.index];
          if (lost !== undefined) versions.delete(`${lost.collection}/${lost.key}`);
          return { kind: 'lost', ...collectionOf(writes[verdict.index]) };
        }
        case 'unavailable':
          return { kind: 'refused', reason: verdict.fault.message };
      }
    },

    begin(collection, key) {
      const name = `${collection}/${key}`;
      if (!versions.has(name)) versions.set(name, 1);
    },

    regain(collection, key, version) {
      const name = `${collection}/${key}`;
      if (versions.get(name) !== version - 1) return false;
      versions.set(name, version);
      return true;
    },

    adopt(collection, key, version) {
      versions.set(`${collection}/${key}`, version);
    },
  };
}
