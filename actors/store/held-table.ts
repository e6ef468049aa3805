/**
 * A table whose rows are written once, at the end of a transaction: repeated writes in it, as to the record of a batch
 * that many events join, cost a map lookup each.
 */

import type { Head, Row, Table } from './tables.ts';

export interface HeldTable extends Table {
  /** Writes the held rows. To be called before the transaction ends. */
  flush(): void;
  /** Drops the held rows after a failed transaction. */
  drop(): void;
}

export function createHeldTable(table: Table): HeldTable {
  /** The new rows; undefined for a removed row. */
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
