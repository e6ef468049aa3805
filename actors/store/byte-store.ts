/** Keeps rows as bytes, one after the other in large blocks outside the heap. A block without rows is reused. */

import { codecs, type Room } from './record-bytes.ts';
import type { Head, Row, TableName } from './tables.ts';

/** How a table stores its rows. */
export interface Keeping<Kept> {
  keep(row: Row): Kept;
  /** Releases a removed row. */
  drop(kept: Kept): void;
  head(kept: Kept): Head;
  row(kept: Kept): Row;
  bytes(kept: Kept): number;
}

interface Block {
  readonly bytes: Buffer;
  rows: number;
}

/** The location of a row. */
interface Place {
  readonly block: Block;
  readonly at: number;
  readonly end: number;
}

/** A larger row has its own block. */
const blockBytes = 1 << 20;
/** Larger rows are formatted elsewhere and copied: the room for a row is up to three times what it takes at last. */
const maxInPlace = 1 << 16;

export function createByteStore(table: TableName): Keeping<Place> {
  const codec = codecs[table];
  const spare: Block[] = [];
  let block = newBlock(0);
  let used = 0;

  function reserve(bytes: number): void {
    if (used + bytes <= block.bytes.length) return;
    if (block.rows === 0) recycle(block);
    block = bytes > blockBytes ? newBlock(bytes) : (spare.pop() ?? newBlock(blockBytes));
    used = 0;
  }

  function recycle(emptied: Block): void {
    if (emptied.bytes.length === blockBytes) spare.push(emptied);
  }

  function roomFor(bytes: number): Room {
    if (bytes > maxInPlace) return { bytes: Buffer.allocUnsafeSlow(bytes), at: 0 };
    reserve(bytes);
    return { bytes: block.bytes, at: used };
  }

  const bytesAt = ({ block, at, end }: Place): Buffer => block.bytes.subarray(at, end);
  return {
    keep(row) {
      const draft = codec.draft(row, roomFor);
      const length = draft.end - draft.at;
      if (draft.bytes !== block.bytes) {
        reserve(length);
        draft.bytes.copy(block.bytes, used, draft.at, draft.end);
      }
      const at = used;
      used += length;
      block.rows += 1;
      return { block, at, end: used };
    },
    drop({ block: from }) {
      from.rows -= 1;
      if (from.rows === 0 && from !== block) recycle(from);
    },
    head: (place) => codec.head(bytesAt(place)),
    row: (place) => codec.row(bytesAt(place)),
    bytes: ({ at, end }) => end - at,
  };
}

/**
 * In shared memory, which the garbage collector does not count: otherwise it would scan the complete heap for every few
 * ten megabytes, though none of these bytes can be collected.
 */
function newBlock(bytes: number): Block {
  return { bytes: Buffer.from(new SharedArrayBuffer(bytes)), rows: 0 };
}
