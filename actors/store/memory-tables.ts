/**
 * Tables in memory: maps with sorted keys. They keep the rows as they are given and forget at exit.
 */

import { type KeyRange, type Row, type Table, type Tables, tableNames } from './tables.ts';
import { weightOf } from './weight.ts';

export interface MemoryTables {
  readonly tables: Tables;
  usedBytes(): number;
}

export function createMemoryTables(): MemoryTables {
  let usedBytes = 0;
  const count = (bytes: number) => {
    usedBytes += bytes;
  };
  return {
    tables: Object.fromEntries(tableNames.map((name) => [name, createTable(count)])) as Tables,
    usedBytes: () => usedBytes,
  };
}

function createTable(count: (bytes: number) => void): Table {
  const rows = new Map<string, Row>();
  const sorted: string[] = [];

  /** Where a key is or belongs. New keys mostly belong at the end, since they begin with their time. */
  function placeOf(key: string): number {
    const last = sorted.at(-1);
    if (last === undefined || last < key) return sorted.length;
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function write(key: string, row: Row): void {
    const earlier = rows.get(key);
    if (earlier === undefined) sorted.splice(placeOf(key), 0, key);
    count(weightOf(row.value) - (earlier === undefined ? -key.length : weightOf(earlier.value)));
    rows.set(key, row);
  }

  const read = (key: string): Row | undefined => rows.get(key);
  return {
    head: read,
    read,
    write,
    create(key, row) {
      if (rows.has(key)) return false;
      write(key, row);
      return true;
    },
    remove(key) {
      const earlier = rows.get(key);
      if (earlier === undefined) return;
      count(-weightOf(earlier.value) - key.length);
      rows.delete(key);
      sorted.splice(placeOf(key), 1);
    },
    keys(range) {
      return range.order === 'newest' ? newestKeys(range) : oldestKeys(range);
    },
  };

  function oldestKeys({ from, until, limit }: KeyRange): string[] {
    const first = from === undefined ? 0 : placeOf(from) + (rows.has(from) ? 1 : 0);
    const end = until === undefined ? sorted.length : placeOf(until);
    return sorted.slice(first, Math.min(end, first + limit));
  }

  function newestKeys({ from, until, limit }: KeyRange): string[] {
    const end = from === undefined ? sorted.length : placeOf(from);
    const first = until === undefined ? 0 : placeOf(until) + (rows.has(until) ? 1 : 0);
    return sorted.slice(Math.max(first, end - limit), end).reverse();
  }
}
