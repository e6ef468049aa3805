/**
 * The rules of the journal over an engine's tables: what a commit writes, or why it is refused. Runs inside a job and
 * applies the writes in order, each seeing the earlier ones; a refused commit is undone write by write, so that it has no
 * effect.
 * @see DUR-1 and IDM-2 in docs/specification.md
 */

import { getOrMake } from '../../machines/base/get-or-make.ts';
import { compilePath, type Json, type JsonObject } from '../../machines/base/json.ts';
import { responseKeys } from '../../machines/webhook/responses.ts';
import type { Collection, CommitVerdict, Expected, Records, Rewrite, StoredRecord, Write } from './journal.ts';
import { claimKey, isOwnName } from './keys.ts';
import { expiryKey, isMarked, markRecord, missingMark, unmarkEvent, unmarkWork } from './marks.ts';
import { bareKey, type Head, type Row, type Table, type Tables } from './tables.ts';
import { addWork, holderOf, removeWork, sessionOf, workKey } from './work-index.ts';

type Claim = Extract<Write, { kind: 'claim' }>;
type Put = Extract<Write, { kind: 'put' }>;
type Delete = Extract<Write, { kind: 'delete' }>;
type Refusal = Exclude<CommitVerdict, { kind: 'committed' | 'unavailable' }>;

/**
 * Longest key of a record and name of a holder, in UTF-16 units: at three bytes each, an index key stays below LMDB's
 * 1,978.
 */
const maxKeyLength = 620;
const maxHolderLength = 32;

/**
 * Returns why a commit cannot be stored at all; undefined if it can.
 * @param isStorable whether the engine can keep a record under a key
 */
export function unstorable(writes: readonly Write[], isStorable = isKey): string | undefined {
  for (const write of writes) {
    if (write.kind === 'claim' || write.kind === 'release') continue;
    if (!isStorable(write.key)) {
      return `a key of ${write.collection} cannot be stored: it needs 1 to ${maxKeyLength} characters, in a database without U+0000`;
    }
    if (write.kind === 'put' && (write.heldBy?.length ?? 0) > maxHolderLength) return 'heldBy is no session';
  }
  return undefined;
}

/** Whether a record may have this key. */
export function isKey(key: string): boolean {
  return key !== '' && key.length <= maxKeyLength;
}

/** Functions that undo the writes, to be called in reverse order. */
type Undo = (() => void)[];

/** Applies a commit whose writes may be replaced; returns the writes that were judged last, with their verdict. */
export function judge(
  tables: Tables,
  { writes, rewrite }: { readonly writes: readonly Write[]; readonly rewrite?: Rewrite | undefined },
  nowMs: number,
): { readonly judged: readonly Write[]; readonly verdict: CommitVerdict } {
  const current = rewrite?.() ?? writes;
  const verdict = apply(tables, current, nowMs);
  const again = verdict.kind === 'stale' ? rewrite?.(verdict) : undefined;
  return again === undefined ? { judged: current, verdict } : { judged: again, verdict: apply(tables, again, nowMs) };
}

/** Applies the writes in order, or none of them. `nowMs` is the engine's time, by which claims expire. */
export function apply(tables: Tables, writes: readonly Write[], nowMs: number): CommitVerdict {
  const undo: Undo = [];
  let overwritten: Overwritten;
  // The writes after the last one that can be refused need no undo.
  const lastRefusable = writes.findLastIndex(canRefuse);
  for (let index = 0; index < writes.length; index += 1) {
    const write = writes[index];
    if (write === undefined) break;
    overwritten = beforeWrite(tables, write, index, overwritten);
    const refusal = applyOne(tables, write, { index, nowMs }, index < lastRefusable ? undo : undefined);
    if (refusal !== undefined) {
      for (const takeBack of undo.reverse()) takeBack();
      return withStanding(tables, write, refusal);
    }
  }
  // A claim for an event that replaces another may end with the other event, so it does not count.
  const leading = overwritten === undefined ? writes : noWrites;
  for (let index = 0; index < writes.length; index += 1) {
    const write = writes[index];
    if (write !== undefined) markWritten(tables, write, overwritten?.get(index), leading);
  }
  return committed;
}

/** Adds the current record to a refusal because of an unexpected version. */
function withStanding(tables: Tables, write: Write, refusal: Refusal): Refusal {
  if (refusal.kind !== 'stale' || write.kind === 'claim' || write.kind === 'release') return refusal;
  const standing = storedRecord(tables, write.collection, write.key);
  return standing === undefined ? refusal : { ...refusal, standing };
}

/** A record in the port's form; undefined if there is none, or a damaged disk made it unreadable. */
export function storedRecord<In extends Collection>(
  tables: Tables,
  collection: In,
  key: string,
): StoredRecord<In> | undefined {
  const row = tables[collection].read(key);
  if (row?.value === undefined) return undefined;
  const { version, dueAtMs, value } = row;
  const heldBy = sessionOf(row.heldBy);
  return {
    key,
    version,
    // Records are JSON by construction; their interfaces only lack an index signature.
    value: value as Records[In],
    ...(dueAtMs === undefined ? {} : { dueAtMs }),
    ...(heldBy === undefined ? {} : { heldBy }),
  };
}

/** The keys of all deliveries of a run; only the first, its own, if there is no record of that. */
export function deliveryKeysOf({ deliveries }: Tables, run: string): readonly string[] {
  const of = deliveries.read(run)?.value?.of;
  return responseKeys(run, typeof of === 'number' ? of : 1);
}

const noWrites: readonly Write[] = [];

/** The event that each write replaces or removes, by the index of the write. */
type Overwritten = Map<number, JsonObject> | undefined;

/** Events are written once, so this is rarely more than a check. */
function beforeWrite(tables: Tables, write: Write, index: number, overwritten: Overwritten): Overwritten {
  if (write.kind === 'claim' || write.kind === 'release' || write.collection !== 'events') return overwritten;
  if (write.kind === 'put' && write.expect === 'absent') return overwritten;
  const value = tables.events.read(write.key)?.value;
  return value === undefined ? overwritten : (overwritten ?? new Map<number, JsonObject>()).set(index, value);
}

/**
 * Marks need no undo: they are written once the commit is accepted.
 * @param leading writes among which are the claims that lead to events
 */
function markWritten(
  tables: Tables,
  write: Write,
  overwritten: JsonObject | undefined,
  leading: readonly Write[],
): void {
  if (write.kind === 'claim' || write.kind === 'release') return;
  const { collection, key } = write;
  if (overwritten !== undefined) unmarkEvent(tables, key, overwritten);
  if (!isMarked(collection)) return;
  if (write.kind === 'delete') unmarkWork(tables, collection, key);
  else {
    const isDue = (write.dueAtMs ?? undefined) !== undefined;
    const isClaimed = collection === 'events' && leading.some((other) => leadsTo(other, key));
    markRecord(tables, collection, { key, value: write.value as JsonObject, isDue, isClaimed });
  }
}

/** Whether this claim of its id leads to an event. */
function leadsTo(write: Write, eventKey: string): boolean {
  return write.kind === 'claim' && write.event === eventKey && isOwnName(write.name);
}

const committed: CommitVerdict = { kind: 'committed' };

function canRefuse(write: Write): boolean {
  return write.kind === 'claim' || (write.kind !== 'release' && write.expect !== undefined);
}

/** The position of a write in its commit, and the time of the commit. */
interface At {
  readonly index: number;
  readonly nowMs: number;
}

function applyOne(tables: Tables, write: Write, at: At, undo: Undo | undefined): Refusal | undefined {
  switch (write.kind) {
    case 'claim':
      return applyClaim(tables, write, at, undo);
    case 'release':
      return release(tables, write.name, undo, write.holder);
    case 'put':
      return applyPut(tables, write, at.index, undo);
    case 'delete':
      return applyDelete(tables, write, at.index, undo);
  }
}

function applyClaim(tables: Tables, write: Claim, { index, nowMs }: At, undo: Undo | undefined): Refusal | undefined {
  const { claims, expiry } = tables;
  const name = claimKey(write.name);
  const row: Row = { version: 0, dueAtMs: nowMs + write.forMs, heldBy: undefined, value: write.value };
  if (!claims.create(name, row)) {
    const standing = claims.read(name);
    if ((standing?.dueAtMs ?? 0) > nowMs) return { kind: 'claimed', index, holder: standing?.value ?? {} };
    release(tables, write.name, undo);
    claims.write(name, row);
  }
  const ends = (write.event ?? write.keptWith) === undefined ? expiryKey(name, row) : undefined;
  if (ends !== undefined) expiry.write(ends, bareKey);
  undo?.push(() => {
    claims.remove(name);
    if (ends !== undefined) expiry.remove(ends);
  });
  return undefined;
}

function release(tables: Tables, name: string, undo: Undo | undefined, holder?: string): undefined {
  const key = claimKey(name);
  const { claims, expiry, marks } = tables;
  const standing = claims.read(key);
  if (standing === undefined || (holder !== undefined && standing.value?.holder !== holder)) return;
  const ends = expiryKey(key, standing);
  const hadEnd = expiry.head(ends) !== undefined;
  const mark = missingMark(tables, key, standing);
  undo?.push(() => {
    claims.write(key, standing);
    if (hadEnd) expiry.write(ends, bareKey);
    if (mark !== undefined) marks.remove(mark);
  });
  claims.remove(key);
  if (hadEnd) expiry.remove(ends);
  if (mark !== undefined) marks.write(mark, bareKey);
}

function applyPut(tables: Tables, write: Put, index: number, undo: Undo | undefined): Refusal | undefined {
  const { collection, key, expect } = write;
  const value = write.value as JsonObject;
  const table = tables[collection];
  const dueAtMs = write.dueAtMs ?? undefined;
  const heldBy = holderOf(write);
  const work = workKey(collection, key, { dueAtMs, heldBy });

  // Creating a record takes one step, because the engine itself checks whether the key exists.
  if (expect === 'absent') {
    if (!table.create(key, { version: 1, dueAtMs, heldBy, value })) return { kind: 'stale', index };
    addWork(tables.due, work);
    undo?.push(() => {
      table.remove(key);
      removeWork(tables.due, work);
    });
    return undefined;
  }

  const head = standingOf(table, key, expect);
  if (expect !== undefined && !isAsExpected(head, expect)) return { kind: 'stale', index };
  const earlierWork = head === undefined ? undefined : workKey(collection, key, head);
  if (undo !== undefined) undo.push(putBack(tables, collection, key, { earlierWork, work }));
  table.write(key, { version: (head?.version ?? 0) + 1, dueAtMs, heldBy, value });
  if (earlierWork !== work) {
    removeWork(tables.due, earlierWork);
    addWork(tables.due, work);
  }
  return undefined;
}

function applyDelete(tables: Tables, write: Delete, index: number, undo: Undo | undefined): Refusal | undefined {
  const { collection, key, expect } = write;
  const table = tables[collection];
  const head = standingOf(table, key, expect);
  if (expect !== undefined && !isAsExpected(head, expect)) return { kind: 'stale', index };
  if (head === undefined) return undefined;
  const earlierWork = workKey(collection, key, head);
  if (undo !== undefined) undo.push(putBack(tables, collection, key, { earlierWork, work: undefined }));
  table.remove(key);
  removeWork(tables.due, earlierWork);
  return undefined;
}

type Standing = Head & { readonly value?: JsonObject | undefined };

/** The current row of a key; its value is read only if the expectation needs it. */
function standingOf(table: Table, key: string, expect: Expected | undefined): Standing | undefined {
  return typeof expect === 'object' ? table.read(key) : table.head(key);
}

/** Whether the current row is the expected one. */
function isAsExpected(standing: Standing | undefined, expect: Exclude<Expected, 'absent'>): boolean {
  if (typeof expect === 'number') return standing?.version === expect;
  return standing?.version === expect.version && valueAt(standing.value ?? {}, expect.path) === expect.text;
}

/** Compiled paths. The paths of expectations are constants in the code, so there are few. */
const paths = new Map<string, (root: Json) => Json | undefined>();

function valueAt(value: Json, path: string): Json | undefined {
  return getOrMake(paths, path, () => compilePath(path))(value);
}

/** Saves a record, to restore it if a later write of the commit is refused. */
function putBack(
  tables: Tables,
  collection: Collection,
  key: string,
  works: { readonly earlierWork: string | undefined; readonly work: string | undefined },
): () => void {
  const standing = tables[collection].read(key);
  return () => {
    removeWork(tables.due, works.work);
    if (standing === undefined) tables[collection].remove(key);
    else tables[collection].write(key, standing);
    addWork(tables.due, works.earlierWork);
  };
}
