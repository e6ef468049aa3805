/**
 * The rows that a group of commits touches, as tables in memory to which the ledger applies the commits, and the resulting
 * writes. Indexes are columns in Postgres, so the ledger's own are empty here.
 * @see DUR-1 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { marksOfEvent, marksOfStatus, marksOfWork, shownOfWork } from '../../machines/webhook/marks.ts';
import type { Collection, Rewrite, StoredRecord, Write } from './journal.ts';
import { claimKey, markText } from './keys.ts';
import { isKey, judge } from './ledger.ts';
import { collections, letters, type Row, type Table, type Tables } from './tables.ts';
import { sessionOf } from './work-index.ts';

export interface RecordRow {
  readonly collection: string;
  readonly key: string;
  readonly version: number;
  readonly due_at: string | null;
  readonly held_by: string | null;
  readonly value: string;
}

export interface ClaimRow {
  readonly name: string;
  readonly value: string;
  readonly expires_at: string;
}

export const selectRecords = 'select collection, key, version, due_at, held_by, value from agent_record';

/** A limit that Postgres reads as an integer. */
export const maxRows = 1_000_000_000;

/** Separates the marks of a record; no mark contains it. */
export const markEnd = '\u001f';

/** The text if Postgres can store it, otherwise its digest. */
export function storable(text: string): string {
  if (!text.includes('\0') && !text.includes(markEnd) && text.isWellFormed()) return text;
  return `utf16:${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('hex')}`;
}

/** Whether Postgres can store the key. Keys that come from a sender are made storable before. */
export function isRowKey(key: string): boolean {
  return isKey(key) && !key.includes('\0') && key.isWellFormed();
}

export const claimName = (name: string): string => storable(claimKey(name));
export const markName = (mark: string): string => storable(markText(mark));

export function recordOf<In extends Collection>(row: RecordRow): StoredRecord<In> {
  const heldBy = sessionOf(row.held_by);
  return {
    key: row.key,
    version: row.version,
    value: JSON.parse(row.value),
    ...(row.due_at === null ? {} : { dueAtMs: Number(row.due_at) }),
    ...(heldBy === undefined ? {} : { heldBy }),
  };
}

const nothing: Table = {
  head: () => undefined,
  read: () => undefined,
  write() {},
  create: () => true,
  remove() {},
  keys: () => [],
};

type Held = Map<string, Row | undefined>;

function held(rows: Held, nameOf = (key: string) => key): Table {
  const read = (key: string) => rows.get(nameOf(key));
  return {
    head: read,
    read,
    write: (key, row) => void rows.set(nameOf(key), row),
    create(key, row) {
      if (read(key) !== undefined) return false;
      rows.set(nameOf(key), row);
      return true;
    },
    remove: (key) => void rows.set(nameOf(key), undefined),
    keys: () => [],
  };
}

/** An event, or a claim for one: it hardly ever exists before. */
function isNew(write: Write): boolean {
  return write.kind === 'claim' ? (write.event ?? write.keptWith) !== undefined : isNewEvent(write);
}

export const isNewEvent = (write: Write): boolean =>
  write.kind === 'put' && write.collection === 'events' && write.expect === 'absent';

/** The names of the claims and the keys of the records that commits touch, except those assumed to be new. */
export function touchedBy(commits: readonly { readonly writes: readonly Write[] }[], takesForNew: boolean) {
  const names = new Set<string>();
  const records = new Map<string, readonly [letter: string, key: string]>();
  for (const write of commits.flatMap(({ writes }) => writes)) {
    if (takesForNew && isNew(write)) continue;
    if (write.kind === 'claim' || write.kind === 'release') names.add(claimName(write.name));
    else records.set(`${letters[write.collection]}/${write.key}`, [letters[write.collection], write.key]);
  }
  return { names: [...names].sort(), records: [...records.values()] };
}

/**
 * Applies commits in order to the present rows, with claims as rows of a collection `claims`; returns their verdicts and the
 * rows to write.
 */
export function applied(
  commits: readonly { readonly writes: readonly Write[]; readonly rewrite?: Rewrite | undefined }[],
  standing: readonly RecordRow[],
  nowMs: number,
) {
  const before: Record<string, Held> = Object.fromEntries(
    [...Object.values(letters), 'claims'].map((at) => [at, new Map()]),
  );
  for (const { collection, key, version, due_at, held_by, value } of standing) {
    before[collection]?.set(key, {
      version: version ?? 0,
      dueAtMs: due_at === null ? undefined : Number(due_at),
      heldBy: held_by ?? undefined,
      value: JSON.parse(value),
    });
  }
  const after: Record<string, Held> = Object.fromEntries(
    Object.entries(before).map(([at, rows]) => [at, new Map(rows)]),
  );
  const heldAt = (at: string) => after[at] as Held;
  const tables = {
    ...Object.fromEntries(collections.map((name) => [name, held(heldAt(letters[name]))])),
    claims: held(heldAt('claims'), storable),
    expiry: nothing,
    due: nothing,
    marks: nothing,
    sessions: nothing,
    meta: nothing,
    recentMarks: new Map(),
  } as Tables;
  const verdicts = commits.map((commit) => judge(tables, commit, nowMs));
  /** The event with which each claim is kept. */
  const keptWith = new Map<string, string | undefined>();
  for (const { judged, verdict } of verdicts) {
    if (verdict.kind !== 'committed') continue;
    for (const write of judged) {
      if (write.kind === 'claim') keptWith.set(claimName(write.name), write.event ?? write.keptWith);
    }
  }

  const made: Change[] = [];
  const changed: Change[] = [];
  const removed: Change[] = [];
  for (const at of Object.keys(after)) {
    for (const [key, row] of heldAt(at)) {
      const earlier = before[at]?.get(key);
      if (row === earlier) continue;
      const list = row === undefined ? removed : earlier === undefined ? made : changed;
      list.push({ at, key, row: row ?? (earlier as Row) });
    }
  }
  // Sorted, so that gateways that insert the same records wait for each other in one order.
  made.sort(byPlace);
  return { verdicts, made, changed, removed, keptWith };
}

function byPlace(one: Change, other: Change): number {
  return one.at !== other.at ? (one.at < other.at ? -1 : 1) : one.key < other.key ? -1 : 1;
}

export interface Change {
  /** The letter of a collection, or `claims`. */
  readonly at: string;
  readonly key: string;
  readonly row: Row;
}

/** Each is an array, or JSON texts that `string_to_array` splits. */
export type Columns = readonly (readonly unknown[] | string)[];

/** The columns of records, as arrays to unnest; the values are one text, because JSON contains no raw control character. */
export function recordColumns(changes: readonly Change[]): Columns {
  const rows = changes
    .filter(({ at }) => at !== 'claims')
    .map(({ at, key, row }) => ({ at, key, row, text: JSON.stringify(row.value) }));
  return [
    rows.map(({ at }) => at),
    rows.map(({ key }) => key),
    rows.map(({ row }) => row.version),
    rows.map(({ row }) => row.dueAtMs ?? null),
    rows.map(({ row }) => row.heldBy ?? null),
    rows.map(({ at, row }) => workOf(at, row)),
    rows.map(({ at, key, row }) => marksOf(at, key, row).join(markEnd)),
    rows.map(({ key, text }) => key.length + text.length),
    rows.map(({ text }) => text).join(markEnd),
  ];
}

export function claimColumns(changes: readonly Change[], keptWith: ReadonlyMap<string, string | undefined>): Columns {
  const rows = changes.filter(({ at }) => at === 'claims');
  return [
    rows.map(({ key }) => key),
    rows.map(({ row }) => JSON.stringify(row.value)).join(markEnd),
    rows.map(({ row }) => Math.ceil(row.dueAtMs ?? 0)),
    rows.map(({ key }) => keptWith.get(key) ?? null),
  ];
}

/** The work of an event, the run of a delivery, or the future run of a batch, which its events name as their work. */
function workOf(at: string, { value }: Row): string | null {
  if (at === letters.groups) {
    const burst = value?.burst;
    return isJsonObject(burst) && typeof burst.id === 'string' ? storable(`batch/${burst.id}`) : null;
  }
  const work = at === letters.events ? value?.work : at === letters.deliveries ? value?.runKey : undefined;
  return typeof work === 'string' ? storable(work) : null;
}

function marksOf(at: string, key: string, { value = {}, dueAtMs }: Row): string[] {
  if (at === letters.events) {
    const { shared, own, ofWork } = marksOfEvent(key, value);
    return [...shared, own, ofWork].flatMap((mark) => (mark === undefined ? [] : [markName(mark)]));
  }
  if (at !== letters.runs && at !== letters.deliveries) return [];
  return marksOfWork(value, dueAtMs !== undefined).shared.map(markName);
}

/** The marks for the events of finished or deleted work, and whether they belong to a run, whose marks come first. */
export function finishedColumns(
  changes: readonly Change[],
  removed: readonly Change[],
): [string[], string[], boolean[]] {
  const columns: [string[], string[], boolean[]] = [[], [], []];
  const add = ({ at, key, row }: Change, isGone: boolean): void => {
    if ((at !== letters.runs && at !== letters.deliveries) || (row.dueAtMs !== undefined && !isGone)) return;
    const value: JsonObject = row.value ?? {};
    const shown = at === letters.runs ? shownOfWork(value, undefined) : shownOfWork(undefined, value);
    const statuses = isGone || shown === undefined ? ['accepted', 'coalesced', 'cron'] : [shown];
    columns[0].push(storable(key));
    columns[1].push(
      statuses
        .flatMap((status) => marksOfStatus(status, value.route))
        .map(markName)
        .join(markEnd),
    );
    columns[2].push(at === letters.runs);
  };
  for (const change of changes) add(change, false);
  for (const change of removed) add(change, true);
  return columns;
}
