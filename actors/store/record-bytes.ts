/**
 * Formats rows as bytes and parses them: a small head can be read without parsing the JSON behind it. A row is formatted in
 * place if the caller has room, otherwise in a buffer that all drafts share.
 */

import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import type { Head, Row, TableName } from './tables.ts';

/** Where a row may be formatted. */
export interface Room {
  readonly bytes: Buffer;
  readonly at: number;
}

/** A formatted row: the bytes from `at` up to `end`. */
interface Draft extends Room {
  readonly end: number;
}

/** The byte format of one table's rows. */
export interface Codec {
  /**
   * Formats a row; in the shared buffer it is valid until the next draft.
   * @param roomFor returns a place for at most so many bytes; in the shared buffer unless given
   */
  draft(row: Row, roomFor?: (bytes: number) => Room): Draft;
  head(bytes: Buffer): Head;
  row(bytes: Buffer): Row;
}

// Record: version (u32) · due time (f64, NaN: none) · lengths of the holder's name (u16) and of the text beside the JSON
// (u32, the highest value: no text) · holder · text · JSON.
const dueAt = 4;
const holderLengthAt = 12;
const textLengthAt = 14;
const holderAt = 18;
const noText = 0xffff_ffff;
// Claim: expiry (f64) · JSON.
const claimBodyAt = 8;

const firstCapacity = 1 << 16;
/** A larger buffer, grown for one record, is replaced afterwards. */
const keptCapacity = 1 << 20;

// The binding reads `start` and `end` from the buffer itself, which saves a view per write.
const newScratch = (capacity: number) => Object.assign(Buffer.allocUnsafeSlow(capacity), { start: 0, end: 0 });
let scratch = newScratch(firstCapacity);
let allDrafted = 0;

/** The total bytes of all drafts so far. */
export function draftedBytes(): number {
  return allDrafted;
}

/**
 * Contains the version, the due time, the holder and the value.
 * @param text the member of the value that is stored beside the JSON: a body that is itself JSON is mostly quotes, and
 * escaping them costs more than the rest of the write
 */
function recordCodec(text?: string): Codec {
  return {
    draft({ version, dueAtMs, heldBy, value }, roomFor = roomInScratch) {
      const beside = text === undefined ? undefined : value?.[text];
      // A text that UTF-8 cannot encode stays in the JSON.
      const isApart = typeof beside === 'string' && beside.isWellFormed();
      const json = JSON.stringify(isApart ? without(value, text) : (value ?? {}));
      const maxBytes = holderAt + 3 * ((heldBy?.length ?? 0) + (isApart ? beside.length : 0) + json.length);
      const { bytes, at } = roomFor(maxBytes);
      const holderLength = heldBy === undefined ? 0 : bytes.write(heldBy, at + holderAt);
      const textAt = at + holderAt + holderLength;
      const textLength = isApart ? bytes.write(beside, textAt) : 0;
      bytes.writeUInt32LE(version, at);
      bytes.writeDoubleLE(dueAtMs ?? Number.NaN, at + dueAt);
      bytes.writeUInt16LE(holderLength, at + holderLengthAt);
      bytes.writeUInt32LE(isApart ? textLength : noText, at + textLengthAt);
      return drafted({ bytes, at }, textAt + textLength, json);
    },
    head: recordHead,
    row(bytes) {
      const head = recordHead(bytes);
      const textAt = holderAt + bytes.readUInt16LE(holderLengthAt);
      const textLength = bytes.readUInt32LE(textLengthAt);
      if (text === undefined || textLength === noText) return { ...head, value: readJson(bytes, textAt) };
      const value = readJson(bytes, textAt + textLength);
      const beside = bytes.toString('utf8', textAt, textAt + textLength);
      return { ...head, value: value && { ...value, [text]: beside } };
    },
  };
}

/** A copy whose text is empty, so that the order of the members stays. */
function without(value: JsonObject | undefined, text: string | undefined): JsonObject {
  const copy: Record<string, Json> = { ...value };
  if (text !== undefined) copy[text] = '';
  return copy;
}

/** Contains the end of the claim and its value. */
const claimCodec: Codec = {
  draft({ dueAtMs, value }, roomFor = roomInScratch) {
    const json = JSON.stringify(value ?? {});
    const room = roomFor(claimBodyAt + 3 * json.length);
    room.bytes.writeDoubleLE(dueAtMs ?? 0, room.at);
    return drafted(room, room.at + claimBodyAt, json);
  },
  head: claimHead,
  row: (bytes) => ({ ...claimHead(bytes), value: readJson(bytes, claimBodyAt) }),
};

const noHead: Head = { version: 0, dueAtMs: undefined, heldBy: undefined };

/** Contains only the value. */
const plainCodec: Codec = {
  draft({ value }, roomFor = roomInScratch) {
    const json = JSON.stringify(value ?? {});
    const room = roomFor(3 * json.length);
    return drafted(room, room.at, json);
  },
  head: () => noHead,
  row: (bytes) => ({ ...noHead, value: readJson(bytes, 0) }),
};

const nothing: Draft = { bytes: Buffer.alloc(0), at: 0, end: 0 };

/** Empty: the key is all there is. */
const keyCodec: Codec = {
  draft: () => nothing,
  head: () => noHead,
  row: () => ({ ...noHead, value: {} }),
};

export const codecs: Readonly<Record<TableName, Codec>> = {
  events: recordCodec('body'),
  runs: recordCodec(),
  groups: recordCodec(),
  deliveries: recordCodec(),
  transcripts: recordCodec(),
  claims: claimCodec,
  expiry: keyCodec,
  due: keyCodec,
  marks: keyCodec,
  sessions: plainCodec,
  meta: plainCodec,
};

function recordHead(bytes: Buffer): Head {
  const due = bytes.readDoubleLE(dueAt);
  const holderLength = bytes.readUInt16LE(holderLengthAt);
  return {
    version: bytes.readUInt32LE(0),
    dueAtMs: Number.isNaN(due) ? undefined : due,
    heldBy: holderLength === 0 ? undefined : bytes.toString('utf8', holderAt, holderAt + holderLength),
  };
}

function claimHead(bytes: Buffer): Head {
  return { version: 0, dueAtMs: bytes.readDoubleLE(0), heldBy: undefined };
}

/** Parses a stored object; undefined if a damaged disk made it unreadable. */
function readJson(bytes: Buffer, from: number): JsonObject | undefined {
  try {
    // The binding's buffer is longer than the value; its `length` is the end of the value.
    const value: unknown = JSON.parse(bytes.toString('utf8', from, bytes.length));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function drafted({ bytes, at }: Room, jsonAt: number, json: string): Draft {
  const end = jsonAt + bytes.write(json, jsonAt);
  if (bytes === scratch) scratch.end = end;
  allDrafted += end - at;
  return { bytes, at, end };
}

function roomInScratch(bytes: number): Room {
  if (bytes > scratch.length || (scratch.length > keptCapacity && bytes <= firstCapacity)) {
    scratch = newScratch(Math.max(firstCapacity, 2 ** Math.ceil(Math.log2(bytes))));
  }
  return { bytes: scratch, at: 0 };
}

/** A number, a boolean, null, or the separators of a value. */
const smallBytes = 8;

/** Estimates the bytes of a value as JSON without formatting it. */
export function weightOf(value: Json | undefined): number {
  if (typeof value === 'string') return value.length + smallBytes;
  if (typeof value !== 'object' || value === null) return smallBytes;
  let bytes = smallBytes;
  if (Array.isArray(value)) {
    for (const item of value) bytes += weightOf(item);
    return bytes;
  }
  const members = value as { readonly [name: string]: Json };
  for (const name in members) bytes += name.length + weightOf(members[name]);
  return bytes;
}
