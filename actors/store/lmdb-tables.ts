/**
 * Opens an LMDB environment and provides it as tables.
 *
 * From its sources (3.5.6) and experiments:
 * - By default (`overlappingSync`) a commit resolves before its fsync. Switched off here, so the thread that commits
 *   writes the pages, calls fdatasync, then writes the head synchronously, and only then the promise resolves.
 * - An asynchronous transaction is committed even if its callback throws halfway; a child transaction inside it is not.
 * - A write that fails leaves the environment usable, except where the head could not be written: then every further
 *   transaction waits forever. The two cases cannot be distinguished, so a failed environment is closed and reopened.
 * - A rejected commit has a second promise, `commitError`, with the cause; if it is not handled, it ends the process.
 * - The data file is opened without close-on-exec: child processes inherit its descriptor unless their spawner closes it.
 * - Reading from a closed environment makes a timer throw later. The tables therefore read as empty once closed.
 */

import { readFileSync } from 'node:fs';
import type { Database, RootDatabase } from 'lmdb';
import { loadLmdb } from './load-lmdb.ts';
import { type Codec, codecs } from './record-bytes.ts';
import {
  type Head,
  isOfClaims,
  type KeyRange,
  type Row,
  type Table,
  type TableName,
  type Tables,
  tableNames,
} from './tables.ts';

type Bytes = Database<Buffer, string>;
type Root = RootDatabase<Buffer, string>;

export interface Environment {
  readonly tables: Tables;
  /** Runs a body in one transaction, completely or not at all; resolves once it is on disk. */
  transact(body: () => void): Promise<void>;
  usedBytes(): number;
  close(): Promise<void>;
}

/**
 * Address space, not disk space: the file grows as it is written. LMDB cannot exceed it, so it is far above any history
 * that one gateway keeps.
 */
const mapBytes = 2 ** 36;
/** The part of a limit on address space (`ulimit -v`) that the store takes; LMDB ends the process where it is refused. */
const mapShare = 1 / 4;

/**
 * Opens the environment in a folder, which contains a store or will contain one.
 * @param admit Checks the store's metadata (undefined: there is none) before anything else is opened, and throws to
 * refuse the store.
 * @param access `read` never changes the store and does not disturb a process that writes to it.
 * @throws the error of `admit`, LMDB or the operating system
 */
export function openEnvironment(
  directory: string,
  admit: (meta: Table | undefined) => void,
  access: 'read' | 'write' = 'write',
): Environment {
  const readOnly = access === 'read';
  const root: Root = loadLmdb().open<Buffer, string>({ ...rootOptions(directory), readOnly });
  let closed = false;
  const isClosed = () => closed;
  const databases = new Map<TableName, Bytes>();
  const openDatabase = (name: TableName) => {
    const database = root.openDB<Buffer, string>({ name, encoding: 'binary' });
    databases.set(name, database);
    return createTable(database, codecs[name], isClosed);
  };
  let tables: Tables;
  let groups: BufferedTable;
  try {
    const names = [...root.getKeys({})];
    const isOther = (readOnly || names.length > 0) && !names.includes('meta');
    admit(isOther ? undefined : openDatabase('meta'));
    const opened = Object.fromEntries(tableNames.map((name) => [name, openDatabase(name)]));
    const all = opened as Record<TableName, Table>;
    groups = createBufferedTable(all.groups);
    tables = { ...all, groups, recentMarks: new Map() };
  } catch (error) {
    void root.close();
    throw error;
  }

  return {
    tables,
    async transact(body) {
      try {
        await root.childTransaction(() => {
          try {
            body();
            groups.flush();
          } catch (error) {
            // At once, because other code reads before the promise rejects.
            groups.drop();
            throw error;
          }
        });
      } catch (error) {
        tables.recentMarks.clear();
        throw await causeOfCommit(error);
      }
    },
    usedBytes: () => (closed ? 0 : usedBytesOf(databases)),
    async close() {
      if (closed) return;
      closed = true;
      await root.close();
    },
  };
}

function rootOptions(directory: string) {
  return {
    path: directory,
    // Otherwise a folder with a dot in its name is taken for a file.
    noSubdir: false,
    mapSize: Math.min(mapBytes, Math.floor(mapShare * addressSpace())),
    maxDbs: tableNames.length + 1,
    permissionsMode: 0o600,
    overlappingSync: false,
    // group-commit.ts gathers jobs already; gathering here as well would only add a turn of the loop.
    eventTurnBatching: false,
    encoding: 'binary',
  } as const;
}

/** The bytes that this process may map; infinite without a limit, and where the system does not show it as Linux does. */
function addressSpace(): number {
  try {
    const limit = /^Max address space +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Number(limit ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

async function causeOfCommit(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof Error) || !('commitError' in thrown)) return thrown;
  try {
    await thrown.commitError;
    return thrown;
  } catch (cause) {
    return cause;
  }
}

function createTable(database: Bytes, codec: Codec, isClosed: () => boolean): Table {
  // The binding reuses one buffer until the next read; its `length` is that of the value.
  function bytesOf(key: string): Buffer | undefined {
    const bytes: Uint8Array | undefined = isClosed() ? undefined : database.getBinaryFast(key);
    if (bytes === undefined || Buffer.isBuffer(bytes)) return bytes;
    // Of a value above 16 MiB it returns a plain view of the mapped file, contrary to its declaration.
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  /** The greatest key written here; another process may have written greater ones. */
  let greatest = '';

  /** Appends a key after all others. A normal put would leave each page before it half empty. */
  function append(key: string, bytes: Buffer): boolean {
    if (key <= greatest) return false;
    greatest = key;
    return put(database, key, bytes, appending);
  }

  return {
    head(key) {
      const bytes = bytesOf(key);
      return bytes === undefined ? undefined : codec.head(bytes);
    },
    read(key) {
      const bytes = bytesOf(key);
      return bytes === undefined ? undefined : codec.row(bytes);
    },
    write(key, row) {
      const { bytes } = codec.draft(row);
      if (!append(key, bytes)) database.putSync(key, bytes);
    },
    create(key, row) {
      const { bytes } = codec.draft(row);
      return append(key, bytes) || put(database, key, bytes, creating);
    },
    remove(key) {
      database.removeSync(key);
    },
    keys: (range) => (isClosed() ? [] : keysOf(database, range)),
  };
}

const appending = { append: true } as const;
const creating = { noOverwrite: true } as const;

/** The declaration says void, but the function returns whether it wrote. */
function put(database: Bytes, key: string, bytes: Buffer, how: typeof appending | typeof creating): boolean {
  const wrote: unknown = database.putSync(key, bytes, how);
  return wrote as boolean;
}

function keysOf(database: Bytes, { from, until, order, limit }: KeyRange): string[] {
  const keys = database.getKeys({
    ...(from === undefined ? {} : { start: from, exclusiveStart: true }),
    ...(until === undefined ? {} : { end: until }),
    reverse: order === 'newest',
    limit,
  });
  return [...keys];
}

interface TreeStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

function usedBytesOf(databases: ReadonlyMap<TableName, Bytes>): number {
  let bytes = 0;
  for (const [name, database] of databases) {
    if (isOfClaims(name)) continue;
    const stats = database.getStats() as TreeStats;
    bytes += stats.pageSize * (stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages);
  }
  return bytes;
}

/** A table whose writes wait in memory until the transaction ends. */
interface BufferedTable extends Table {
  /** Writes the buffered rows. To be called before the transaction ends. */
  flush(): void;
  /** Drops the buffered rows after a failed transaction. */
  drop(): void;
}

/** For the groups: each event of a batch rewrites its record, and only the last write of a transaction has to be formatted. */
export function createBufferedTable(table: Table): BufferedTable {
  /** The new rows; undefined for a removed row. */
  const buffered = new Map<string, Row | undefined>();
  const head = (key: string): Head | undefined => (buffered.has(key) ? buffered.get(key) : table.head(key));

  function flush(): void {
    for (const [key, row] of buffered) {
      if (row === undefined) table.remove(key);
      else table.write(key, row);
    }
    buffered.clear();
  }

  return {
    head,
    read: (key) => (buffered.has(key) ? buffered.get(key) : table.read(key)),
    write(key, row) {
      buffered.set(key, row);
    },
    create(key, row) {
      if (head(key) !== undefined) return false;
      buffered.set(key, row);
      return true;
    },
    remove(key) {
      buffered.set(key, undefined);
    },
    keys(range) {
      flush();
      return table.keys(range);
    },
    flush,
    drop: () => buffered.clear(),
  };
}
