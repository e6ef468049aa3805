/**
 * Copies a journal into another engine and compares the two record by record. No gateway may use either meanwhile. A copy
 * that was cut off continues where it stopped; a journal that has anything else than the source is not written to.
 * @see SCA-1 in docs/specification.md
 */

import { isDeepStrictEqual } from 'node:util';
import { done, type Fault, fault, type Result } from '../../machines/base/fault.ts';
import type { Collection, CommitVerdict, Journal, JournalReader, StoredClaim, StoredRecord, Write } from './journal.ts';

const pageSize = 500;
/** As work is written in life: an event before what it leads to, whose end then shows at the event. */
const collections: readonly Collection[] = ['events', 'runs', 'deliveries', 'groups', 'transcripts'];

export interface Copied {
  readonly records: number;
  readonly claims: number;
}

/**
 * Copies records and claims; sessions end with their gateways and are not copied.
 * @param progress hears the number of records copied so far, about every `pageSize` records
 * @returns the counts of the verified copy; fails with `journal-differs` where a record differs, with the engine's fault
 * where one cannot be read or written
 */
export async function copyJournal(
  from: JournalReader,
  to: Journal,
  progress: (records: number) => void,
): Promise<Result<Copied>> {
  const strange = await firstStranger(from, to);
  if (strange !== undefined) return { ok: false, fault: strange };
  let copied = 0;
  for (const collection of collections) {
    for await (const page of recordPages(from, collection)) {
      const refused = await commitEach(
        to,
        page.map((record) => [putOf(collection, record)]),
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

/** A record of the target that the source does not have, or has otherwise. */
async function firstStranger(from: JournalReader, to: Journal): Promise<Fault | undefined> {
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

/** Each is a commit of its own, so that one that stands already refuses no other. */
async function commitEach(to: Journal, commits: readonly (readonly Write[])[]): Promise<Fault | undefined> {
  const verdicts: Promise<CommitVerdict>[] = [];
  to.together(() => {
    for (const writes of commits) verdicts.push(to.commit(writes));
  });
  for (const verdict of await Promise.all(verdicts)) if (verdict.kind === 'unavailable') return verdict.fault;
  return undefined;
}

function putOf(collection: Collection, { key, value, dueAtMs }: StoredRecord): Write {
  return { kind: 'put', collection, key, value, expect: 'absent', dueAtMs } as Write;
}

function claimOf({ name, value, forMs, keptWith }: StoredClaim): Write {
  return { kind: 'claim', name, value, forMs, ...(keptWith === undefined ? {} : { keptWith }) };
}

async function compare(from: JournalReader, to: JournalReader): Promise<Result<Copied>> {
  let records = 0;
  for (const collection of collections) {
    const copies = each(recordPages(to, collection));
    for await (const record of each(recordPages(from, collection))) {
      const copy = await copies.next();
      if (!isSame(copy.value ?? undefined, record)) return { ok: false, fault: differs(collection, record.key) };
      records += 1;
    }
    const more = await copies.next();
    if (more.done !== true) return { ok: false, fault: differs(collection, more.value.key) };
  }
  let claims = 0;
  // A claim of the source may have run out since it was copied, so the copy may have more.
  const copies = each(claimPages(to));
  for await (const claim of each(claimPages(from))) {
    let copy = await copies.next();
    while (copy.done !== true && copy.value.name !== claim.name) copy = await copies.next();
    if (copy.value?.keptWith !== claim.keptWith || !isDeepStrictEqual(copy.value?.value, claim.value)) {
      return { ok: false, fault: differs('claims', claim.name) };
    }
    claims += 1;
  }
  return done({ records, claims });
}

/** Versions count anew in the copy, and no session holds anything. */
function isSame(one: StoredRecord | undefined, other: StoredRecord): boolean {
  return (
    one !== undefined &&
    one.key === other.key &&
    one.dueAtMs === other.dueAtMs &&
    isDeepStrictEqual(one.value, other.value)
  );
}

function differs(collection: Collection | 'claims', key: string): Fault {
  return fault(
    'journal-differs',
    `the journals differ at "${key}" of ${collection}; copy into an empty one, or keep using the copy if a gateway has used it`,
  );
}

function recordPages(journal: JournalReader, collection: Collection): AsyncGenerator<readonly StoredRecord[]> {
  return pages((last) =>
    journal.list(collection, { order: 'oldest', limit: pageSize, ...(last && { from: last.key }) }),
  );
}

function claimPages(journal: JournalReader): AsyncGenerator<readonly StoredClaim[]> {
  return pages((last) => journal.claims({ limit: pageSize, ...(last && { from: last.name }) }));
}

async function* pages<Row>(read: (last?: Row) => Promise<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  for (let last: Row | undefined; ; ) {
    const page = await read(last);
    if (page.length > 0) yield page;
    if (page.length < pageSize) return;
    last = page.at(-1);
  }
}

async function* each<Row>(of: AsyncIterable<readonly Row[]>): AsyncGenerator<Row> {
  for await (const page of of) yield* page;
}
