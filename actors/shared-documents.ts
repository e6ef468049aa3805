/**
 * Documents that gateways share, as rows of a database. The last texts are kept in memory, so that reading is synchronous
 * and works while the database is unreachable. Files of a home are copied to rows that were never written.
 * @see SUB-2, CRN-1, OAU-2 and SCA-1 in docs/specification.md
 */

import { randomInt, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf, type Fault } from '../machines/base/fault.ts';
import { defaultProfile, type ProfileName } from '../machines/base/names.ts';
import { homePaths, profilePaths } from '../machines/config/profile.ts';
import { type DocumentChange, type Documents, fileDocuments, unread } from './documents.ts';
import type { Logger } from './ports.ts';
import { postgresFault } from './store/postgres-schema.ts';

export interface DocumentRow {
  /** The path of the document in a home. */
  readonly name: string;
  /** Rises with each write; 0 if it was never written. */
  readonly version: number;
  /** Undefined if the document was removed. */
  readonly text: string | undefined;
}

interface RowChange {
  readonly name: string;
  readonly expected: number;
  /** That of the new text. */
  readonly version: number;
  readonly text: string | undefined;
}

/** The rows. Each method reconnects if necessary, and rejects while the database is unreachable. */
export interface DocumentRows {
  /** Resolves with the rows whose versions differ from the known ones. */
  changed(known: ReadonlyMap<string, number>): Promise<readonly DocumentRow[]>;
  /** Writes all changes, or none if a row has another version than expected. */
  replace(changes: readonly RowChange[]): Promise<boolean>;
  /** Resolves with false while another holder has the lease. */
  lease(name: string, holder: string, forMs: number): Promise<boolean>;
  giveBack(name: string, holder: string): Promise<void>;
  /** Calls back when a row may have changed. News may be lost. */
  onNews(heard: () => void): void;
  close(): Promise<void>;
}

const maxStepLength = 2 ** 20;

export interface SharedDocuments extends Documents {
  /** Reads the rows for the first time; resolves with the fault if that fails. */
  open(): Promise<Fault | undefined>;
  /** Reads the changed rows. Rejects if the database is unreachable. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

interface SharedDocumentsSettings {
  readonly home: string;
  /** The name of the database, for messages. */
  readonly place: string;
  /** Connects; loads the driver on the first call. */
  readonly connect: () => Promise<DocumentRows>;
  readonly log: Logger;
}

/** The longest work under a lease, the renewal of a token, takes at most 12 s. */
const leaseMs = 20_000;
const leasePollMs = 100;
const leasePatienceMs = 25_000;
const cure = 'see that the database answers';
const credentialFile = /\.(json|meta|client|scope|cimd-off)$/;
/** Only these names are written into a home, because other programs may write to the database. */
const documentName =
  /^(profiles\/[A-Za-z0-9][A-Za-z0-9._-]{0,63}\/)?(webhook_subscriptions\.json|cron\/jobs\.json|mcp-tokens\/[^/]+\.(json|meta|client|scope|cimd-off))$/;

export function createSharedDocuments({ home, place, connect, log }: SharedDocumentsSettings): SharedDocuments {
  const rows = new Map<string, DocumentRow>();
  const listeners = new Set<(path: string) => void>();
  const examined = new Set<string>();
  let isRead = false;
  let unreadWhy = 'the database has not answered yet';
  let connecting: Promise<DocumentRows> | undefined;
  /** One read or write at a time, so that a late answer does not restore an older text. */
  let turns: Promise<unknown> = Promise.resolve();

  const nameOf = (path: string): string => relative(home, path);
  const versionOf = (name: string): number => rows.get(name)?.version ?? 0;

  function connected(): Promise<DocumentRows> {
    connecting ??= connect().then(
      (store) => {
        store.onNews(() => void refresh().catch(() => {}));
        return store;
      },
      (thrown: unknown) => {
        connecting = undefined;
        throw thrown;
      },
    );
    return connecting;
  }

  function inTurn<Value>(work: (store: DocumentRows) => Promise<Value>): Promise<Value> {
    const mine = turns.then(async () => work(await connected()));
    turns = mine.catch((thrown: unknown) => {
      unreadWhy = causeOf(thrown);
    });
    return mine;
  }

  async function pull(store: DocumentRows): Promise<void> {
    const read = async (): Promise<void> => {
      for (const row of await store.changed(new Map([...rows].map(([name, { version }]) => [name, version])))) {
        rows.set(row.name, row);
        for (const heard of listeners) heard(join(home, row.name));
      }
    };
    await read();
    if (await importFiles(store)) await read();
    isRead = true;
  }

  /** Examines each file once; resolves with whether it wrote rows. */
  async function importFiles(store: DocumentRows): Promise<boolean> {
    let isAny = false;
    for (const path of filesOf(home)) {
      const text = examined.has(path) ? undefined : fileText(path);
      if (text === undefined) continue;
      const name = nameOf(path);
      if (versionOf(name) > 0) {
        if (rows.get(name)?.text !== text) {
          log.warnOnce(path, `${path}: differs from ${placeOf(name)}, which is used instead; remove the file`);
        }
      } else if (text.includes('\0')) {
        log.warnOnce(path, `${path}: holds U+0000, which Postgres does not store; correct the file or remove it`);
      } else {
        await store.replace([{ name, expected: 0, version: versionAfter(0), text }]);
        isAny = true;
      }
      examined.add(path);
    }
    return isAny;
  }

  function fileText(path: string): string | undefined {
    try {
      return readFileSync(path, 'utf8');
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') {
        log.warnOnce(path, `${path}: cannot be copied to ${place}: ${causeOf(thrown)}; check its permissions`);
      }
      return undefined;
    }
  }

  const placeOf = (name: string): string => `${name} in ${place}`;
  const refresh = (): Promise<void> => inTurn(pull);

  /** Writes the changes that are computed from the latest texts; starts over if another gateway wrote in between. */
  async function write(changesOf: () => readonly DocumentChange[] | Promise<readonly DocumentChange[]>): Promise<void> {
    for (;;) {
      const isWritten = await inTurn(async (store) => {
        await pull(store);
        const wanted = await changesOf();
        const changes = wanted.flatMap(({ path, text }) => {
          const name = nameOf(path);
          const isThere = rows.get(name)?.text !== undefined;
          if (text === undefined && !isThere) return [];
          const expected = versionOf(name);
          return [{ name, expected, version: versionAfter(expected), text }];
        });
        if (changes.length > 0 && !(await store.replace(changes))) return false;
        for (const { name, version, text } of changes) rows.set(name, { name, version, text });
        return true;
      });
      if (isWritten) return;
    }
  }

  return {
    isShared: true,
    at(path) {
      const name = nameOf(path);
      return {
        place: placeOf(name),
        readCure: cure,
        writeCure: cure,
        stamp() {
          if (!isRead) return unread;
          const row = rows.get(name);
          return row?.text === undefined ? undefined : String(row.version);
        },
        text() {
          if (!isRead) throw new Error(unreadWhy);
          return rows.get(name)?.text ?? missing(name);
        },
        update: (change) =>
          write(async () => {
            const text = await change(rows.get(name)?.text);
            return text === undefined ? [] : [{ path, text }];
          }),
      };
    },
    write: (changes) => write(() => changes),
    async locked(path, work) {
      const name = nameOf(path);
      const holder = randomUUID();
      const store = await connected();
      for (let waitedMs = 0; !(await store.lease(name, holder, leaseMs)); waitedMs += leasePollMs) {
        if (waitedMs >= leasePatienceMs) {
          throw new Error(`${placeOf(name)}: held by another gateway for more than ${leasePatienceMs / 1_000} s`);
        }
        await sleep(leasePollMs);
      }
      try {
        // The previous holder may have changed the document.
        await refresh();
        return await work();
      } finally {
        // A lease that cannot be returned expires.
        await store.giveBack(name, holder).catch(() => {});
      }
    },
    onChanged(heard) {
      listeners.add(heard);
      return () => void listeners.delete(heard);
    },
    async open() {
      try {
        await refresh();
        return undefined;
      } catch (thrown) {
        return postgresFault(place, thrown);
      }
    },
    refresh,
    async close() {
      listeners.clear();
      await (await connecting)?.close();
    },
  };
}

/** By a step at random: a database that is set back would give the versions of the lost texts to other texts. */
function versionAfter(version: number): number {
  return version + randomInt(1, maxStepLength);
}

/**
 * Writes the documents of a database into the files of a home, replacing their texts; resolves with the number written.
 */
export async function writeHomeFiles(store: DocumentRows, home: string): Promise<number> {
  const rows = await store.changed(new Map());
  const documents = rows.filter(({ name, version }) => version > 0 && documentName.test(name));
  await fileDocuments.write(documents.map(({ name, text }) => ({ path: join(home, name), text })));
  return documents.filter(({ text }) => text !== undefined).length;
}

/** The files of a home that hold documents when no database is shared. */
function filesOf(home: string): readonly string[] {
  return [defaultProfile, ...namesIn(homePaths(home).profiles)].flatMap((profile) => {
    const { subscriptions, jobs, tokens } = profilePaths(home, profile as ProfileName);
    const credentials = namesIn(tokens).filter((name) => credentialFile.test(name));
    return [subscriptions, jobs, ...credentials.map((name) => join(tokens, name))];
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function missing(name: string): never {
  throw new Error(`there is no ${name}`);
}
