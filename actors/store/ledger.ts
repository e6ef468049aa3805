/**
 * The rules of the journal over an engine's tables: what a commit writes or why it is refused. Runs inside a job, one
 * write after another, each seeing those before it; a refused commit is taken back write by write, so that it leaves
 * nothing. Knows nothing of files.
 * @see DUR-1 and IDM-2 in docs/specification.md
 */

import type { CommitVerdict, Write } from './journal.ts';
import {
  claimExpiry,
  claimKey,
  claimValue,
  copyOf,
  draftBytes,
  draftClaim,
  draftRecord,
  nothing,
  readHead,
  timeText,
} from './record-bytes.ts';
import type { TableName, Tables } from './tables.ts';
import { addWork, removeWork, workKey } from './work-index.ts';

type Claim = Extract<Write, { kind: 'claim' }>;
type Put = Extract<Write, { kind: 'put' }>;
type Delete = Extract<Write, { kind: 'delete' }>;
type Refusal = Exclude<CommitVerdict, { kind: 'committed' | 'unavailable' }>;

/** A write as it is queued: its JSON is spelled when the caller commits, so later changes to the value do not count. */
export interface PreparedWrite {
  readonly write: Write;
  readonly json: string;
}

/** Longest key of a record and name of a holder, in UTF-16 units: three bytes each, an index key stays below LMDB's 1,978. */
const longestKey = 620;
const longestHolder = 32;

export function prepare(writes: readonly Write[]): PreparedWrite[] {
  return writes.map((write) => ({
    write,
    json: write.kind === 'put' || write.kind === 'claim' ? JSON.stringify(write.value) : '',
  }));
}

/** About how many bytes the writes take. */
export function sizeOf(writes: readonly PreparedWrite[]): number {
  let size = 0;
  for (const { json } of writes) size += json.length;
  return size;
}

/** Says why a commit cannot be stored at all; undefined where it can. */
export function unstorable(writes: readonly Write[]): string | undefined {
  for (const write of writes) {
    if (write.kind === 'claim' || write.kind === 'release') continue;
    if (!isKey(write.key)) {
      return `a key of ${write.collection} has ${write.key.length} characters; it needs 1 to ${longestKey}`;
    }
    if (write.kind === 'put' && (write.heldBy?.length ?? 0) > longestHolder) return 'heldBy is no session';
  }
  return undefined;
}

/** Tells whether a record can be under a key at all. */
export function isKey(key: string): boolean {
  return key !== '' && key.length <= longestKey;
}

type Undo = (() => void)[];

/** Applies the writes in order, or none of them. */
export function apply(tables: Tables, writes: readonly PreparedWrite[]): CommitVerdict {
  const undo: Undo = [];
  // What follows the last write that can refuse needs no way back.
  const lastRefusable = writes.findLastIndex(({ write }) => canRefuse(write));
  for (let index = 0; index < writes.length; index += 1) {
    const prepared = writes[index];
    if (prepared === undefined) break;
    const refusal = applyOne(tables, prepared, index, index < lastRefusable ? undo : undefined);
    if (refusal !== undefined) {
      for (const takeBack of undo.reverse()) takeBack();
      return refusal;
    }
  }
  return { kind: 'committed' };
}

function canRefuse(write: Write): boolean {
  return write.kind === 'claim' || (write.kind !== 'release' && write.expect !== undefined);
}

function applyOne(tables: Tables, prepared: PreparedWrite, index: number, undo: Undo | undefined): Refusal | undefined {
  const { write, json } = prepared;
  switch (write.kind) {
    case 'claim':
      return applyClaim(tables, write, json, index, undo);
    case 'release':
      return release(tables, write.name, undo);
    case 'put':
      return applyPut(tables, write, json, index, undo);
    case 'delete':
      return applyDelete(tables, write, index, undo);
  }
}

function applyClaim(
  tables: Tables,
  write: Claim,
  json: string,
  index: number,
  undo: Undo | undefined,
): Refusal | undefined {
  const { claims, expiry } = tables;
  const name = claimKey(write.name);
  if (!claims.create(name, draftClaim(write.expiresAtMs, json))) {
    const standing = claims.read(name);
    if (standing !== undefined && claimExpiry(standing) > write.nowMs) {
      return { kind: 'claimed', index, holder: claimValue(standing) };
    }
    release(tables, write.name, undo);
    claims.write(name, draftClaim(write.expiresAtMs, json));
  }
  const expiryKey = `${timeText(write.expiresAtMs)}/${name}`;
  expiry.write(expiryKey, nothing);
  undo?.push(() => {
    claims.remove(name);
    expiry.remove(expiryKey);
  });
  return undefined;
}

function release(tables: Tables, name: string, undo: Undo | undefined): undefined {
  const key = claimKey(name);
  const standing = tables.claims.read(key);
  if (standing === undefined) return;
  const expiryKey = `${timeText(claimExpiry(standing))}/${key}`;
  if (undo !== undefined) {
    const copy = copyOf(standing);
    undo.push(() => {
      tables.claims.write(key, draftBytes(copy));
      tables.expiry.write(expiryKey, nothing);
    });
  }
  tables.claims.remove(key);
  tables.expiry.remove(expiryKey);
}

function applyPut(
  tables: Tables,
  write: Put,
  json: string,
  index: number,
  undo: Undo | undefined,
): Refusal | undefined {
  const { collection, key, heldBy, expect } = write;
  const table = tables[collection];
  const dueAtMs = write.dueAtMs ?? undefined;
  const work = workKey(collection, key, { dueAtMs, heldBy });

  // A record that must be new costs one step: the engine itself looks whether it is there.
  if (expect === 'absent') {
    if (!table.create(key, draftRecord({ version: 1, dueAtMs, heldBy }, json))) return { kind: 'stale', index };
    addWork(tables.due, work);
    undo?.push(() => {
      table.remove(key);
      removeWork(tables.due, work);
    });
    return undefined;
  }

  const standing = table.read(key);
  const head = standing === undefined ? undefined : readHead(standing);
  if (expect !== undefined && head?.version !== expect) return { kind: 'stale', index };
  const earlierWork = head === undefined ? undefined : workKey(collection, key, head);
  remember(tables, collection, key, { standing, earlierWork, work }, undo);
  table.write(key, draftRecord({ version: (head?.version ?? 0) + 1, dueAtMs, heldBy }, json));
  if (earlierWork !== work) {
    removeWork(tables.due, earlierWork);
    addWork(tables.due, work);
  }
  return undefined;
}

function applyDelete(tables: Tables, write: Delete, index: number, undo: Undo | undefined): Refusal | undefined {
  const { collection, key, expect } = write;
  const standing = tables[collection].read(key);
  const head = standing === undefined ? undefined : readHead(standing);
  if (expect !== undefined && head?.version !== expect) return { kind: 'stale', index };
  if (head === undefined) return undefined;
  const earlierWork = workKey(collection, key, head);
  remember(tables, collection, key, { standing, earlierWork, work: undefined }, undo);
  tables[collection].remove(key);
  removeWork(tables.due, earlierWork);
  return undefined;
}

/** Keeps what a record was, to put it back if a later write of the commit is refused. */
function remember(
  tables: Tables,
  collection: TableName,
  key: string,
  was: {
    readonly standing: Buffer | undefined;
    readonly earlierWork: string | undefined;
    readonly work: string | undefined;
  },
  undo: Undo | undefined,
): void {
  if (undo === undefined) return;
  const copy = was.standing === undefined ? undefined : copyOf(was.standing);
  undo.push(() => {
    removeWork(tables.due, was.work);
    if (copy === undefined) tables[collection].remove(key);
    else tables[collection].write(key, draftBytes(copy));
    addWork(tables.due, was.earlierWork);
  });
}
