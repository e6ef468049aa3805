/**
 * Checks whether a store file is complete before LMDB maps it into memory: LMDB trusts its pages, and a missing or
 * damaged one would end the process with a signal instead of an error. Reads every page of the trees and the heads of
 * large values, but not the values. Changes nothing.
 *
 * The layout is LMDB's data format 2 (`mdb.c` of the `lmdb` package): a page head of 24 bytes, then offsets of nodes
 * counted from the end of that head.
 *
 * The clean-shutdown marker beside the store spares the next start the check: it records the state of the file when it was
 * closed in order. Opening removes it; after a crash, or if the file differs from the marker, the store is checked.
 * @see DUR-1 in docs/specification.md
 */

import { closeSync, fstatSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { privateFile, stampOf } from '../files.ts';
import { storePath } from './lmdb-faults.ts';

type StoreCheck =
  | { readonly kind: 'absent' }
  | { readonly kind: 'sound' }
  | { readonly kind: 'corrupt'; readonly what: string }
  /** An LMDB file of another data format. */
  | { readonly kind: 'foreign'; readonly what: string };

const magic = 0xbeefc0de;
const dataFormat = 2;
const pageHead = 24;
const branchPage = 0x01;
const leafPage = 0x02;
const overflowPage = 0x04;
const metaPage = 0x08;
const bigData = 0x01;
const subTree = 0x02;
const noPage = 0xffff_ffff_ffff_ffffn;
const treeBytes = 48;
/** Bytes in a node that refer to a large value. */
const valueBytes = 24;
const freeTreeAt = pageHead + 24;
const mainTreeAt = freeTreeAt + treeBytes;
const smallestPage = 256;
const largestPage = 0x8000;
/** Pages and large values checked per turn of the event loop. */
const sliceSize = 1000;
/** Pages that are put in the order of the file at once, in some ten milliseconds. */
const batchSize = 25_000;
/** The most pages that are read at once, and the most from one to the next of them. */
const blockPages = 64;
const maxGap = 8;
/** Far more than the tables of a journal. */
const maxTrees = 64;
const triesBesideWriter = 3;

/** @throws the operating system's error if the file cannot be read */
export async function checkStoreFile(path: string): Promise<StoreCheck> {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'absent' };
    throw error;
  }
  try {
    for (let tries = 1; ; tries += 1) {
      const meta = readMeta(fd);
      if ('kind' in meta) return meta;
      const damage = await walkTrees(fd, meta);
      if (damage === undefined) return { kind: 'sound' };
      // Another process that writes meanwhile may have reused pages of this walk.
      const after = readMeta(fd);
      if ('kind' in after || after.transaction === meta.transaction) return { kind: 'corrupt', what: damage };
      if (tries === triesBesideWriter) return { kind: 'sound' };
    }
  } finally {
    closeSync(fd);
  }
}

interface Meta {
  readonly pageSize: number;
  readonly pages: number;
  readonly transaction: bigint;
  readonly trees: readonly Tree[];
}

function readMeta(fd: number): Meta | StoreCheck {
  const size = fstatSync(fd).size;
  if (size === 0) return { kind: 'corrupt', what: 'it is empty' };
  const first = readMetaPage(fd, 0);
  if ('kind' in first) return first;
  const second = readMetaPage(fd, first.pageSize);
  if ('kind' in second) return second;
  const newest = second.transaction > first.transaction ? second : first;
  if (newest.pageSize !== first.pageSize) return { kind: 'corrupt', what: 'its two heads disagree' };
  // Pages at the end may be missing only if they are free; the walk checks all others.
  const pages = Math.min(newest.pages, Math.floor(size / newest.pageSize));
  return pages < 2 ? { kind: 'corrupt', what: `it ends after ${size} bytes` } : { ...newest, pages };
}

function readMetaPage(fd: number, at: number): Meta | StoreCheck {
  const page = Buffer.alloc(mainTreeAt + treeBytes + 16);
  if (readSync(fd, page, 0, page.length, at) < page.length) return { kind: 'corrupt', what: 'it ends within its head' };
  if (page.readUInt32LE(pageHead) !== magic || (page.readUInt16LE(18) & metaPage) === 0) {
    return { kind: 'corrupt', what: 'it does not begin like a store' };
  }
  const format = page.readUInt32LE(pageHead + 4) & 0xffff;
  if (format !== dataFormat) return { kind: 'foreign', what: `data format ${format}` };
  const pageSize = page.readUInt32LE(freeTreeAt);
  if (pageSize < smallestPage || pageSize > largestPage || (pageSize & (pageSize - 1)) !== 0) {
    return { kind: 'corrupt', what: `its page size is ${pageSize}` };
  }
  const pages = Number(page.readBigUInt64LE(mainTreeAt + treeBytes)) + 1;
  const trees = [readTree(page, freeTreeAt), readTree(page, mainTreeAt)];
  return { pageSize, pages, transaction: page.readBigUInt64LE(mainTreeAt + treeBytes + 8), trees };
}

/** A tree's root and its recorded counts, which a walk must match. */
interface Tree {
  readonly root: bigint;
  readonly counts: readonly [branches: number, leaves: number, overflow: number, entries: number];
}

function readTree(bytes: Buffer, at: number): Tree {
  const count = (index: number) => Number(bytes.readBigUInt64LE(at + 8 * index));
  return { root: bytes.readBigUInt64LE(at + 40), counts: [count(1), count(2), count(3), count(4)] };
}

/** What a page refers to. */
interface Below {
  readonly pages: number[];
  readonly trees: Tree[];
  readonly values: Value[];
}

/** First page and number of pages of a large value. */
interface Value {
  readonly first: number;
  readonly count: number;
}

/**
 * Follows every tree from its root. Returns the problem of the first damaged page or tree; undefined if there is none. The
 * trees are followed together and their pages read in the order of the file: those of one tree lie scattered among those of
 * the others, and a disk takes several times as long for them.
 */
async function walkTrees(fd: number, meta: Meta): Promise<string | undefined> {
  const { pageSize, pages } = meta;
  const below: Below = { pages: [], trees: [...meta.trees], values: [] };
  const trees: { readonly counts: Tree['counts']; readonly found: [number, number, number, number] }[] = [];
  /** The pages to check: each is its number times `maxTrees`, and the index of its tree. */
  const waiting: number[] = [];
  const values: Value[] = [];
  let walked = 0;
  while (below.trees.length > 0 || waiting.length > 0) {
    for (const { root, counts } of below.trees.splice(0)) {
      if (root !== noPage) waiting.push(Number(root) * maxTrees + trees.length);
      trees.push({ counts, found: [0, 0, 0, 0] });
    }
    if (trees.length > maxTrees) return `it has more than ${maxTrees} tables`;
    const batch = Float64Array.from(waiting.splice(-batchSize)).sort();
    const numbers = batch.map((each) => Math.floor(each / maxTrees));
    const [lowest = 2, highest = 0] = [numbers[0], numbers.at(-1)];
    if (lowest < 2 || highest >= pages) return `page ${lowest < 2 ? lowest : highest} is missing`;
    // In a sound store each page has one parent, so a walk over more pages than the file has is circular.
    walked += batch.length;
    if (walked > pages) return 'its pages point at each other in a circle';
    let index = 0;
    for (const page of readPages(fd, numbers, pageSize)) {
      const number = numbers[index] ?? 0;
      const tree = (batch[index] ?? 0) % maxTrees;
      const { found } = trees[tree] as (typeof trees)[number];
      if (page === undefined) return `page ${number} is missing`;
      if (!isTreePage(page, number, meta) || !readNodes(page, pages, below)) return `page ${number} is damaged`;
      const isBranch = flagsOf(page) === branchPage;
      found[isBranch ? 0 : 1] += 1;
      if (!isBranch) found[3] += nodesOf(page);
      for (const child of below.pages.splice(0)) waiting.push(child * maxTrees + tree);
      for (const value of below.values.splice(0)) {
        found[2] += value.count;
        values.push(value);
      }
      index += 1;
      if (index % sliceSize !== 0 && values.length < sliceSize && index < batch.length) continue;
      const damaged = damagedValue(fd, values.splice(0), meta);
      if (damaged !== undefined) return `page ${damaged} is damaged`;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const isOff = ({ counts, found }: (typeof trees)[number]) => counts.some((count, index) => count !== found[index]);
  return trees.some(isOff) ? 'a table is not as large as it says' : undefined;
}

function damagedValue(fd: number, values: readonly Value[], meta: Meta): number | undefined {
  const sorted = [...values].sort((one, other) => one.first - other.first);
  const heads = readPages(
    fd,
    Float64Array.from(sorted, ({ first }) => first),
    meta.pageSize,
  );
  for (const { first, count } of sorted) {
    const head = heads.next().value as Buffer | undefined;
    if (head === undefined || !isValuePage(head, first, count, meta)) return first;
  }
  return undefined;
}

/** Yields the pages of ascending numbers, undefined for a missing one. Neighbours are read at once, with few pages between. */
function* readPages(fd: number, numbers: Float64Array, pageSize: number): Generator<Buffer | undefined> {
  const block = Buffer.alloc(Math.min(blockPages, (numbers.at(-1) ?? 0) - (numbers[0] ?? 0) + 1) * pageSize);
  const at = (index: number): number => numbers[index] ?? Number.POSITIVE_INFINITY;
  for (let begin = 0, end = 0; begin < numbers.length; begin = end) {
    const first = at(begin);
    for (end = begin + 1; at(end) - at(end - 1) <= maxGap && at(end) - first < blockPages; ) end += 1;
    const bytes = readSync(fd, block, 0, (at(end - 1) - first + 1) * pageSize, first * pageSize);
    for (const number of numbers.subarray(begin, end)) {
      const from = (number - first) * pageSize;
      yield from + pageSize <= bytes ? block.subarray(from, from + pageSize) : undefined;
    }
  }
}

function isTreePage(page: Buffer, number: number, meta: Meta): boolean {
  const flags = flagsOf(page);
  const fewestNodes = flags === branchPage ? 2 : 1;
  const upper = page.readUInt16LE(22);
  return (
    isPage(page, number, meta) &&
    (flags === branchPage || flags === leafPage) &&
    nodesOf(page) >= fewestNodes &&
    page.readUInt16LE(20) <= upper &&
    upper + pageHead <= page.length
  );
}

/** When it frees a large value, LMDB trusts the number of pages in its head. */
function isValuePage(page: Buffer, number: number, count: number, meta: Meta): boolean {
  return isPage(page, number, meta) && flagsOf(page) === overflowPage && page.readUInt32LE(20) === count;
}

/** LMDB would write to a page that seems to be from a later transaction, although it is mapped read-only. */
function isPage(page: Buffer, number: number, meta: Meta): boolean {
  return Number(page.readBigUInt64LE(0)) === number && page.readBigUInt64LE(8) <= meta.transaction;
}

function flagsOf(page: Buffer): number {
  return page.readUInt16LE(18);
}

function nodesOf(page: Buffer): number {
  return page.readUInt16LE(20) >> 1;
}

/** Checks that the nodes fill the page exactly and point into the file; collects what they refer to. */
function readNodes(page: Buffer, pages: number, below: Below): boolean {
  const isBranch = flagsOf(page) === branchPage;
  let filled = 0;
  for (let index = 0; index < nodesOf(page); index += 1) {
    const node = pageHead + page.readUInt16LE(pageHead + 2 * index);
    if (node + 8 > page.length) return false;
    const low = page.readUInt32LE(node);
    const flags = page.readUInt16LE(node + 4);
    const data = node + 8 + page.readUInt16LE(node + 6);
    const isLarge = !isBranch && (flags & bigData) !== 0;
    const end = data + (isBranch ? 0 : isLarge ? valueBytes : low);
    if (end > page.length) return false;
    filled += end - node + ((end - node) & 1);
    if (isBranch) {
      below.pages.push(low + flags * 2 ** 32);
    } else if (isLarge) {
      const first = Number(page.readBigUInt64LE(data));
      const count = Number(page.readBigUInt64LE(data + 16));
      if (first < 2 || count < 1 || first + count > pages || count * page.length < pageHead + low) return false;
      below.values.push({ first, count });
    } else if ((flags & subTree) !== 0) {
      if (low !== treeBytes) return false;
      below.trees.push(readTree(page, data));
    }
  }
  return filled === page.length - pageHead - page.readUInt16LE(22);
}

/** File timestamps have ticks of up to ten milliseconds: a second change within a tick would not show. */
const tickMs = 20;

/** Writes the marker of a store that this process has closed. Without it, the next start checks the store. */
export async function writeMarker(directory: string): Promise<void> {
  const path = storePath(directory);
  try {
    const ageMs = Date.now() - statSync(path).mtimeMs;
    if (ageMs < tickMs) await wait(tickMs);
    writeFileSync(markerPath(directory), stampOf(path) ?? '', { mode: privateFile });
  } catch {
    // The disk is full or not writable. The marker is only an optimization.
  }
}

/** Removes the marker; true if it existed and still matches the file. */
export function removeMarker(directory: string): boolean {
  const isWhole = hasMarker(directory);
  try {
    rmSync(markerPath(directory));
    return isWhole;
  } catch {
    return false;
  }
}

/** Whether the store was closed in order and the marker still matches its file. */
export function hasMarker(directory: string): boolean {
  try {
    const marker = readFileSync(markerPath(directory), 'utf8');
    return marker !== '' && marker === stampOf(storePath(directory));
  } catch {
    return false;
  }
}

function markerPath(directory: string): string {
  return join(directory, 'closed');
}
