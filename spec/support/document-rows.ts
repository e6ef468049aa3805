/** Rows of shared documents in memory, for the gateways of one spec, as a database keeps them. */

import type { DocumentRow, DocumentRows } from '../../actors/shared-documents.ts';

export interface MemoryRows {
  /** Connects one gateway. */
  connect(): Promise<DocumentRows>;
  /** While it is away, every question rejects. */
  isAway: boolean;
}

export function memoryRows(): MemoryRows {
  const rows = new Map<string, DocumentRow>();
  const leases = new Map<string, string>();
  const listeners = new Set<() => void>();
  const made: MemoryRows = {
    isAway: false,
    async connect() {
      let news = (): void => {};
      const heard = (): void => news();
      listeners.add(heard);
      const answer = async (): Promise<void> => {
        await Promise.resolve();
        if (made.isAway) throw new Error('the database is away');
      };
      return {
        async changed(known) {
          await answer();
          return [...rows.values()].filter(({ name, version }) => version !== (known.get(name) ?? 0));
        },
        async replace(changes) {
          await answer();
          if (changes.some(({ name, expected }) => (rows.get(name)?.version ?? 0) !== expected)) return false;
          for (const { name, version, text } of changes) rows.set(name, { name, version, text });
          for (const one of listeners) setImmediate(one);
          return true;
        },
        async lease(name, holder) {
          await answer();
          if (leases.has(name)) return false;
          leases.set(name, holder);
          return true;
        },
        async giveBack(name) {
          leases.delete(name);
        },
        onNews(listener) {
          news = listener;
        },
        async close() {
          listeners.delete(heard);
        },
      };
    },
  };
  return made;
}
