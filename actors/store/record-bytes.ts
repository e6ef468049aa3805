/**
 * Spells rows as bytes and reads them back: a small head that is read without parsing the JSON behind it. One draft
 * buffer serves every write; whoever stores a draft copies it.
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { Head, Row, TableName } from './tables.ts';

/** Bytes to write: those before `end`. */
export interface Draft {
  readonly bytes: Buffer;
  readonly end: number;
}

/** How the rows of one table lie in bytes. */
export interface Codec {
  /** Spells a row; the draft stands until the next one. */
  draft(row: Row): Draft;
  head(bytes: Buffer): Head;
  row(bytes: Buffer): Row;
}

// Record: version (u32) · due time (f64, NaN: none) · length of the holder's name (u16) · holder · JSON.
const dueAt = 4;
const holderLengthAt = 12;
const holderAt = 14;
// Claim: expiry (f64) · JSON.
const claimBodyAt = 8;

const firstCapacity = 1 << 16;
/** A buffer grown beyond this for one large record is let go again. */
const keptCapacity = 1 << 20;

// The binding finds the bytes to write by `start` and `end` on the buffer itself, which saves a view per write.
const newScratch = (capacity: number) => Object.assign(Buffer.allocUnsafeSlow(capacity), { start: 0, end: 0 });
let scratch = newScratch(firstCapacity);

/** Holds the version, the due time, the holder and the value. */
const recordCodec: Codec = {
  draft({ version, dueAtMs, heldBy, value }) {
    const json = JSON.stringify(value ?? {});
    reserve(holderAt + 3 * ((heldBy?.length ?? 0) + json.length));
    const holderLength = heldBy === undefined ? 0 : scratch.write(heldBy, holderAt);
    scratch.writeUInt32LE(version, 0);
    scratch.writeDoubleLE(dueAtMs ?? Number.NaN, dueAt);
    scratch.writeUInt16LE(holderLength, holderLengthAt);
    return drafted(holderAt + holderLength, json);
  },
  head: (bytes) => recordHead(bytes, recordBodyAt(bytes)),
  row(bytes) {
    const bodyAt = recordBodyAt(bytes);
    return { ...recordHead(bytes, bodyAt), value: readJson(bytes, bodyAt) };
  },
};

/** Holds when the claim runs out, and its value. */
const claimCodec: Codec = {
  draft({ dueAtMs, value }) {
    const json = JSON.stringify(value ?? {});
    reserve(claimBodyAt + 3 * json.length);
    scratch.writeDoubleLE(dueAtMs ?? 0, 0);
    return drafted(claimBodyAt, json);
  },
  head: claimHead,
  row: (bytes) => ({ ...claimHead(bytes), value: readJson(bytes, claimBodyAt) }),
};

const noHead: Head = { version: 0, dueAtMs: undefined, heldBy: undefined };

/** Holds the value. */
const plainCodec: Codec = {
  draft({ value }) {
    const json = JSON.stringify(value ?? {});
    reserve(3 * json.length);
    return drafted(0, json);
  },
  head: () => noHead,
  row: (bytes) => ({ ...noHead, value: readJson(bytes, 0) }),
};

const nothing: Draft = { bytes: Buffer.alloc(0), end: 0 };

/** Holds nothing: the key says it all. */
const keyCodec: Codec = {
  draft: () => nothing,
  head: () => noHead,
  row: () => ({ ...noHead, value: {} }),
};

export const codecs: Readonly<Record<TableName, Codec>> = {
  events: recordCodec,
  runs: recordCodec,
  groups: recordCodec,
  deliveries: recordCodec,
  transcripts: recordCodec,
  claims: claimCodec,
  expiry: keyCodec,
  due: keyCodec,
  sessions: plainCodec,
  meta: plainCodec,
};

function recordBodyAt(bytes: Buffer): number {
  return holderAt + bytes.readUInt16LE(holderLengthAt);
}

function recordHead(bytes: Buffer, bodyAt: number): Head {
  const due = bytes.readDoubleLE(dueAt);
  return {
    version: bytes.readUInt32LE(0),
    dueAtMs: Number.isNaN(due) ? undefined : due,
    heldBy: bodyAt === holderAt ? undefined : bytes.toString('utf8', holderAt, bodyAt),
  };
}

function claimHead(bytes: Buffer): Head {
  return { version: 0, dueAtMs: bytes.readDoubleLE(0), heldBy: undefined };
}

/** Reads an object that was stored; undefined where a damaged disk left none. */
function readJson(bytes: Buffer, from: number): JsonObject | undefined {
  try {
    // The binding's buffer is longer than the value; only its `length` says where that ends.
    const value: unknown = JSON.parse(bytes.toString('utf8', from, bytes.length));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function drafted(bodyAt: number, json: string): Draft {
  const end = bodyAt + scratch.write(json, bodyAt);
  scratch.end = end;
  return { bytes: scratch, end };
}

function reserve(bytes: number): void {
  if (bytes > scratch.length || (scratch.length > keptCapacity && bytes <= firstCapacity)) {
    scratch = newScratch(Math.max(firstCapacity, 2 ** Math.ceil(Math.log2(bytes))));
  }
}
