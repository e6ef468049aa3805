/**
 * Reads a collection of the journal newest first until enough rows are found: all of it, or only the records that the
 * secondary index or the keys of due work lead to. Exact for a history of any length: each skipped record was either read
 * or has no index entry.
 * @see DUR-2 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { JournalReader, MarkedCollection, StoredRecord } from '../../actors/store/journal.ts';

/** Bounds of a page of the journal, whose size follows the limit of the question. */
const smallestPage = 20;
const largestPage = 200;
/** So many records are read, or changed, without a pause. */
export const listSize = 64;

export interface JournalQuery<In extends MarkedCollection = MarkedCollection> {
  readonly collection: In;
  readonly limit: number;
  /** Only records before this key, for the next page. */
  readonly before?: string | undefined;
  /** Only records from this key on. */
  readonly from?: string | undefined;
  /**
   * The index entries that lead to the records: each inner list is one way, whose entries a record must all have. Absent:
   * all records of the collection.
   */
  readonly marks?: readonly (readonly string[])[] | undefined;
  /** Keys of further candidates, in any order. */
  readonly also?: readonly string[] | undefined;
}

/** Picks rows up to the limit; a record for which `pick` returns undefined is skipped. */
export async function newestFirst<In extends MarkedCollection, Row>(
  journal: JournalReader | undefined,
  question: JournalQuery<In>,
  pick: (stored: StoredRecord<In>) => Promise<Row | undefined> | Row | undefined,
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const stored of recordsOf(journal, question)) {
    const row = await pick(stored);
    if (row !== undefined) rows.push(row);
    if (rows.length === question.limit) break;
  }
  return rows;
}

/** The candidates, newest first, without a limit. */
export async function* recordsOf<In extends MarkedCollection>(
  journal: JournalReader | undefined,
  question: JournalQuery<In>,
): Way<In> {
  if (journal === undefined) return undefined;
  for await (const stored of merged(waysOf(journal, question))) {
    if (question.from !== undefined && stored.key < question.from) return undefined;
    yield stored;
  }
  return undefined;
}

/** The candidates in lists of 64, so that what belongs to them can be read together. */
export async function* listsOf<In extends MarkedCollection>(
  journal: JournalReader | undefined,
  question: JournalQuery<In>,
): AsyncGenerator<readonly StoredRecord<In>[], undefined> {
  let list: StoredRecord<In>[] = [];
  for await (const stored of recordsOf(journal, question)) {
    list.push(stored);
    if (list.length < listSize) continue;
    yield list;
    list = [];
  }
  if (list.length > 0) yield list;
  return undefined;
}

type Way<In extends MarkedCollection> = AsyncGenerator<StoredRecord<In>, undefined>;

function waysOf<In extends MarkedCollection>(
  journal: JournalReader,
  { collection, limit, before, marks, also = [] }: JournalQuery<In>,
): Way<In>[] {
  const size = Math.min(largestPage, Math.max(smallestPage, limit));
  if (marks === undefined) {
    return [byPages(size, before, (from) => journal.list(collection, { limit: size, order: 'newest', ...from }))];
  }
  const ways = marks.map((borne) =>
    byPages(size, before, (from) => journal.marked(collection, { marks: borne, limit: size, ...from })),
  );
  const others = before === undefined ? also : also.filter((key) => key < before);
  return others.length === 0 ? ways : [...ways, byKeys(journal, collection, others)];
}

async function* byPages<In extends MarkedCollection>(
  size: number,
  before: string | undefined,
  page: (from: { readonly from?: string }) => Promise<readonly StoredRecord<In>[]>,
): Way<In> {
  for (let from: { readonly from?: string } = before === undefined ? {} : { from: before }; ; ) {
    const found = await page(from);
    yield* found;
    const last = found.at(-1);
    if (last === undefined || found.length < size) return undefined;
    // A local engine answers without a turn of the event loop: a search through thousands would block every request.
    await turn();
    from = { from: last.key };
  }
}

async function* byKeys<In extends MarkedCollection>(
  journal: JournalReader,
  collection: In,
  keys: readonly string[],
): Way<In> {
  for (const [at, key] of [...keys].sort().reverse().entries()) {
    if (at % largestPage === largestPage - 1) await turn();
    const stored = await journal.get(collection, key);
    if (stored !== undefined) yield stored;
  }
  return undefined;
}

/** Merges all ways; each record occurs once. */
async function* merged<In extends MarkedCollection>(ways: readonly Way<In>[]): Way<In> {
  const heads = await Promise.all(ways.map(async (way) => ({ way, next: (await way.next()).value })));
  for (let last: string | undefined; ; ) {
    let newest: (typeof heads)[number] | undefined;
    for (const head of heads) {
      if (head.next !== undefined && head.next.key > (newest?.next?.key ?? '')) newest = head;
    }
    const stored = newest?.next;
    if (newest === undefined || stored === undefined) return undefined;
    if (stored.key !== last) yield stored;
    last = stored.key;
    newest.next = (await newest.way.next()).value;
  }
}
