/**
 * A table whose rows are written once, when a transaction ends: what is written over and over within it, as the record of a
 * burst that many events join, costs a look into a map each time.
 */

import type { Head, Row, Table } from './tables.ts';

export interface HeldTable extends Table {
  /** Writes what is held. Call it before the transaction ends. */
  flush(): void;
  /** Forgets what is held: the transaction did not land. */
  drop(): void;
}

export function createHeldTable(table: Table): HeldTable {
  /** What was written; undefined for a row that was removed. */
  const held = new Map<string, Row | undefined>();
  const head = (key: string): Head | undefined => (held.has(key) ? held.get(key) : table.head(key));

  function flush(): void {
    for (const [key, row] of held) {
      if (row === undefined) table.remove(key);
      else table.write(key, row);
    }
    held.clear();
  }

  return {
    head,
    read: (key) => (held.has(key) ? held.get(key) : table.read(key)),
    write(key, row) {
      held.set(key, row);
    },
    create(key, row) {
      if (head(key) !== undefined) return false;
      held.set(key, row);
      return true;
    },
    remove(key) {
      held.set(key, undefined);
    },
    keys(range) {
      flush();
      return table.keys(range);
    },
    flush,
    drop: () => held.clear(),
  };
}
