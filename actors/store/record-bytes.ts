/**
 * Spells records, claims and index keys as bytes: a small head that the rules read without parsing the JSON behind it.
 * One draft buffer serves every write; whoever stores a draft copies it.
 */

import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { Draft } from './tables.ts';

export interface RecordHead {
  readonly version: number;
  readonly dueAtMs: number | undefined;
  readonly heldBy: string | undefined;
  /** Where the JSON begins. */
  readonly bodyAt: number;
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

/** A draft without bytes, for tables that only have keys. */
export const nothing: Draft = { bytes: Buffer.alloc(0), end: 0 };

/** Spells a record; the draft stands until the next one. */
export function draftRecord(head: Omit<RecordHead, 'bodyAt'>, json: string): Draft {
  const { version, dueAtMs, heldBy } = head;
  reserve(holderAt + 3 * ((heldBy?.length ?? 0) + json.length));
  const holderLength = heldBy === undefined ? 0 : scratch.write(heldBy, holderAt);
  scratch.writeUInt32LE(version, 0);
  scratch.writeDoubleLE(dueAtMs ?? Number.NaN, dueAt);
  scratch.writeUInt16LE(holderLength, holderLengthAt);
  return drafted(holderAt + holderLength, json);
}

/** Spells a claim; the draft stands until the next one. */
export function draftClaim(expiresAtMs: number, json: string): Draft {
  reserve(claimBodyAt + 3 * json.length);
  scratch.writeDoubleLE(expiresAtMs, 0);
  return drafted(claimBodyAt, json);
}

/** Spells plain JSON; the draft stands until the next one. */
export function draftJson(value: JsonObject): Draft {
  const json = JSON.stringify(value);
  reserve(3 * json.length);
  return drafted(0, json);
}

/** Copies bytes read, so that they outlast the next read. `Buffer.from` would stumble over the binding's own buffer. */
export function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length);
  copy.set(bytes.subarray(0, bytes.length));
  return copy;
}

/** Spells bytes read earlier, to put them back. */
export function draftBytes(bytes: Buffer): Draft {
  return { bytes, end: bytes.length };
}

export function readHead(bytes: Buffer): RecordHead {
  const due = bytes.readDoubleLE(dueAt);
  const bodyAt = holderAt + bytes.readUInt16LE(holderLengthAt);
  return {
    version: bytes.readUInt32LE(0),
    dueAtMs: Number.isNaN(due) ? undefined : due,
    heldBy: bodyAt === holderAt ? undefined : bytes.toString('utf8', holderAt, bodyAt),
    bodyAt,
  };
}

export function claimExpiry(bytes: Buffer): number {
  return bytes.readDoubleLE(0);
}

export function claimValue(bytes: Buffer): JsonObject {
  return readJson(bytes, claimBodyAt) ?? {};
}

/** Reads an object that was stored; undefined where a damaged disk left none. */
export function readJson(bytes: Buffer, from = 0): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8', from));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A time as text that sorts as it does: whole milliseconds, from 1970 to the year 10889. */
export function timeText(atMs: number): string {
  return Math.min(Math.max(0, Math.ceil(atMs)), 0xffff_ffff_ffff)
    .toString(16)
    .padStart(12, '0');
}

const longestName = 500;

/** The key of a claim: its name, or a digest where the name is too long for a key. */
export function claimKey(name: string): string {
  if (name !== '' && name.length <= longestName) return name;
  return `sha256:${createHash('sha256').update(name).digest('hex')}`;
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
