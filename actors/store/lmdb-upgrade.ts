/**
 * Brings a store of the layout before this one up to date: marks what was written without marks. Cut off halfway it begins
 * again at the next start, since the layout is written last.
 * @see DUR-2 in docs/specification.md
 */

import type { MarkedCollection } from './journal.ts';
import type { Environment } from './lmdb-tables.ts';
import { markRecord } from './marks.ts';
import { plainRow, type Table } from './tables.ts';

/** The layout of tables, keys and bytes; raised when an older gateway would misread what a newer one writes. */
export const layout = 3;
/** Differs in having no marks. */
export const layoutBefore = 2;

const layoutKey = 'layout';
const collections = ['events', 'runs', 'deliveries'] as const satisfies readonly MarkedCollection[];
/** Records marked in one transaction. */
const pieceSize = 500;

/** The layout that a store says it has. */
export function layoutOf(meta: Table | undefined): unknown {
  return meta?.read(layoutKey)?.value?.version;
}

export function writeLayout(environment: Environment): Promise<void> {
  return environment.transact(() => environment.tables.meta.write(layoutKey, plainRow({ version: layout })));
}

export async function upgrade(environment: Environment): Promise<void> {
  const { tables } = environment;
  for (const collection of collections) {
    for (let from: string | undefined; ; ) {
      const keys = tables[collection].keys({ limit: pieceSize, ...(from === undefined ? {} : { from }) });
      await environment.transact(() => {
        for (const key of keys) {
          const row = tables[collection].read(key);
          if (row?.value === undefined) continue;
          markRecord(tables, collection, { key, value: row.value, isDue: row.dueAtMs !== undefined });
        }
      });
      from = keys.at(-1);
      if (keys.length < pieceSize) break;
    }
  }
  await writeLayout(environment);
}
