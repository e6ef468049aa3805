/**
 * Copies a journal into another engine and compares the two record by record. No gateway may use either meanwhile. An
 * interrupted copy continues with what is missing. If the target has a record that the source lacks or has with other
 * content, nothing is written.
 * @see SCA-1 in docs/specification.md
 */

import { isDeepStrictEqual } from 'node:util';
import { done, type Fault, fault, type Result } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import type { Collection, CommitVerdict, Journal, JournalReader, StoredClaim, StoredRecord, Write } from './journal.ts';
import { storable } from './postgres-rows.ts';
import { weightOf } from './record-bytes.ts';
import { inFlightClaim, isInFlight, isLock } from './shared-claims.ts';
import { collections } from './tables.ts';

/**
 * The size of what is read or written at once: a slow link must carry it in time, and Postgres gets the values of a group as
 * one text, which must not be longer than a text of JavaScript can be.
 */
const groupBytes = 8 * 1024 * 1024;
/** Records or claims of a page: a few at first, then as many as have that size. */
const firstPage = 16;
const largestPage = 500;

interface Copied {
  readonly records: number;
  readonly claims: number;
}

/**
 * Copies records and claims; sessions end with their gateways and are not copied, nor are their locks.
 * @param progress called with the number of records copied so far, once a page
 * @param cure what to do with a target that is older than the source
 * @returns the numbers of records and claims that were compared. Fails with `journal-differs` if a record differs, and
 * with the fault of the engine if it cannot write. Rejects if an engine cannot be read
 */
export async function copyJournal(
  from: JournalReader,
  to: Journal,
  progress: (records: number) => void,
  cure = 'copy into an empty journal',
): Promise<Result<Copied>> {
  const difference = await firstDifference(from, to);
  if (difference !== undefined) {
    return { ok: false, fault: fault(difference.code, `${difference.message}; ${await adviceOf(from, to, cure)}`) };
  }
  let copied = 0;
  // Events come first, because finished work marks its events.
  for (const collection of collections) {
    for await (const page of recordPages(from, collection)) {
      const refused = await commitEach(
        to,
        page.flatMap((record) => commitsOf(collection, record, to)),
      );
      if (refused !== undefined) return { ok: false, fault: refused };
      copied += page.length;
      progress(copied);
    }
  }
  for await (const page of claimPages(from)) {
    const refused = await commitEach(
      to,
      page.map((claim) => [claimOf(claim)]),
    );
    if (refused !== undefined) return { ok: false, fault: refused };
  }
  return compare(from, to);
}

/**
 * How much work waits in a journal from which another one has not been copied.
 * @param keepAfterKey what is older may have been copied, and removed since from the history
 */
export async function uncopiedWork(from: JournalReader, to: JournalReader, keepAfterKey: string): Promise<number> {
  let count = 0;
  for (const collection of collections) {
    const keys = await from.dueKeys(collection);
    const [newest] = keys;
    if (newest === undefined || newest < keepAfterKey) continue;
    if ((await to.get(collection, newest)) === undefined) count += keys.length;
  }
  return count;
}

/** The fault of the first record in the target that differs from the source; undefined if there is none. */
async function firstDifference(from: JournalReader, to: Journal): Promise<Fault | undefined> {
  for (const collection of collections) {
    for await (const page of recordPages(to, collection)) {
      const sources = await Promise.all(page.map(({ key }) => from.get(collection, key)));
      for (const [index, record] of page.entries()) {
        if (!isSame(sources[index], record)) return differs(collection, record.key);
      }
    }
  }
  return undefined;
}

/**
 * Each is its own commit, so that a record that already exists does not refuse the others. Those of a group are durable
 * together.
 */
async function commitEach(to: Journal, commits: readonly (readonly Write[])[]): Promise<Fault | undefined> {
  for (let from = 0; from < commits.length; ) {
    const verdicts: Promise<CommitVerdict>[] = [];
    to.together(() => {
      for (let bytes = 0; from < commits.length && bytes < groupBytes; from += 1) {
        const writes = commits[from] ?? [];
        for (const write of writes) bytes += 'value' in write ? weightOf(write.value as Json) : 0;
        verdicts.push(to.commit(writes));
      }
    });
    for (const verdict of await Promise.all(verdicts)) if (verdict.kind === 'unavailable') return verdict.fault;
  }
  return undefined;
}

function putOf(collection: Collection, { key, value, dueAtMs }: StoredRecord): Write {
  return { kind: 'put', collection, key, value, expect: 'absent', dueAtMs } as Write;
}

/** The claim of a batch is made anew for its run: a journal of one gateway has none, and would not release it. */
function commitsOf(collection: Collection, record: StoredRecord, to: Journal): readonly (readonly Write[])[] {
  const put = [putOf(collection, record)];
  const { key, value, dueAtMs } = record;
  const group = collection === 'runs' && dueAtMs !== undefined && 'group' in value ? value.group : undefined;
  if (group === undefined || to.local !== undefined) return [put];
  return [put, inFlightClaim({ isShared: () => true }, group, key)];
}

function claimOf({ name, value, forMs, keptWith }: StoredClaim): Write {
  return { kind: 'claim', name, value, forMs, ...(keptWith === undefined ? {} : { keptWith }) };
}

/** The copy has no other records: that was checked before anything was written. */
async function compare(from: JournalReader, to: JournalReader): Promise<Result<Copied>> {
  let records = 0;
  for (const collection of collections) {
    const copies = each(recordPages(to, collection));
    for await (const record of each(recordPages(from, collection))) {
      const copy = await copies.next();
      if (!isSame(copy.value ?? undefined, record)) return { ok: false, fault: differs(collection, record.key) };
      records += 1;
    }
  }
  let claims = 0;
  /** By their names as Postgres stores them. */
  const renamed = new Map<string, StoredClaim>();
  // A claim of the source may have expired since it was copied, so the copy may have more.
  const copies = each(claimPages(to));
  for await (const claim of each(claimPages(from))) {
    claims += 1;
    if (storable(claim.name) !== claim.name) {
      renamed.set(storable(claim.name), claim);
      continue;
    }
    let copy = await copies.next();
    while (copy.done !== true && copy.value.name !== claim.name) copy = await copies.next();
    if (!isSameClaim(copy.value ?? undefined, claim)) return { ok: false, fault: differs('claims', claim.name) };
  }
  if (renamed.size > 0) {
    for await (const copy of each(claimPages(to))) {
      const name = storable(copy.name);
      const claim = renamed.get(name);
      if (claim !== undefined && isSameClaim(copy, claim)) renamed.delete(name);
    }
  }
  const [lost] = renamed.values();
  return lost === undefined ? done({ records, claims }) : { ok: false, fault: differs('claims', lost.name) };
}

/** Ignores versions, which start anew in the copy, and sessions, which are not copied. */
function isSame(one: StoredRecord | undefined, other: StoredRecord): boolean {
  return (
    one !== undefined &&
    one.key === other.key &&
    one.dueAtMs === other.dueAtMs &&
    isDeepStrictEqual(one.value, other.value)
  );
}

function isSameClaim(one: StoredClaim | undefined, other: StoredClaim): boolean {
  return one?.keptWith === other.keptWith && isDeepStrictEqual(one?.value, other.value);
}

function differs(collection: Collection | 'claims', key: string): Fault {
  return fault('journal-differs', `the journals differ at "${key}" of ${collection}`);
}

/** The journal with the newest event is the one that a gateway has used last. */
async function adviceOf(from: JournalReader, to: JournalReader, cure: string): Promise<string> {
  const [source = '', target = ''] = await Promise.all(
    [from, to].map(async (one) => (await one.list('events', { order: 'newest', limit: 1 }))[0]?.key),
  );
  if (target > source) return 'the target has newer events, so a gateway has used it since; keep using it';
  return source > target
    ? `the source has newer events; ${cure}`
    : `if a gateway has used the target since, keep using it; otherwise ${cure}`;
}

function recordPages(journal: JournalReader, collection: Collection): AsyncGenerator<readonly StoredRecord[]> {
  return pages<StoredRecord>((limit, last) =>
    journal.list(collection, { order: 'oldest', limit, ...(last && { from: last.key }) }),
  );
}

async function* claimPages(journal: JournalReader): AsyncGenerator<readonly StoredClaim[]> {
  const all = pages<StoredClaim>((limit, last) => journal.claims({ limit, ...(last && { from: last.name }) }));
  for await (const page of all) yield page.filter(({ name }) => !isLock(name) && !isInFlight(name));
}

async function* pages<Row extends { readonly value: unknown }>(
  read: (limit: number, last?: Row) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let limit = firstPage;
  for (let last: Row | undefined; ; ) {
    const page = await read(limit, last);
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    last = page.at(-1);
    const bytes = page.reduce((sum, { value }) => sum + weightOf(value as Json), 0);
    limit = Math.max(1, Math.min(largestPage, 2 * limit, Math.floor((limit * groupBytes) / bytes)));
  }
}

async function* each<Row>(of: AsyncIterable<readonly Row[]>): AsyncGenerator<Row> {
  for await (const page of of) yield* page;
}
