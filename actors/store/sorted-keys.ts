/**
 * The keys of a table in their order, which is that of their code units. A key after all others, as most are because they
 * begin with their time, costs a push. The others are put in place together, in blocks, so that neither one more key nor a
 * listing costs time in proportion to the table.
 */

import type { KeyRange } from './tables.ts';

/** A larger block is cut in two. */
const maxInBlock = 1_024;
/** So many keys are put in place in a few milliseconds among 100,000 others. */
const maxLate = 1_024;

export class SortedKeys {
  /** Each is sorted and holds a key at least, and all its keys come before those of the next. */
  #blocks: string[][] = [];
  /** Keys that are not in their place yet, in the order of their coming. */
  #late: string[] = [];
  #last: string | undefined;

  /** Whether a key comes after all others; such a key is not among them. */
  isNewest(key: string): boolean {
    return this.#last === undefined || this.#last < key;
  }

  /** Adds a key that is not among them. */
  add(key: string): void {
    if (!this.isNewest(key)) {
      if (this.#late.push(key) === maxLate) this.#settle();
      return;
    }
    this.#last = key;
    const block = this.#blocks.at(-1);
    if (block === undefined || block.length === maxInBlock) this.#blocks.push([key]);
    else block.push(key);
  }

  /** Removes a key that is among them. */
  remove(key: string): void {
    this.#settle();
    const at = this.#blockOf(key);
    const block = this.#blocks[at];
    block?.splice(placeIn(block, key), 1);
    if (block?.length === 0) this.#blocks.splice(at, 1);
    if (key === this.#last) this.#last = this.#blocks.at(-1)?.at(-1);
  }

  within({ from, until, order, limit }: KeyRange): string[] {
    this.#settle();
    return order === 'newest' ? this.#newest(from, until, limit) : this.#oldest(from, until, limit);
  }

  #oldest(after: string | undefined, before: string | undefined, limit: number): string[] {
    const keys: string[] = [];
    for (let at = after === undefined ? 0 : this.#blockOf(after); keys.length < limit; at += 1) {
      const block = this.#blocks[at];
      if (block === undefined) return keys;
      const first = after === undefined ? 0 : placeIn(block, after);
      const end = before === undefined ? block.length : placeIn(block, before);
      const begin = block[first] === after ? first + 1 : first;
      for (const key of block.slice(begin, Math.min(end, begin + limit - keys.length))) keys.push(key);
      if (end < block.length) return keys;
    }
    return keys;
  }

  #newest(before: string | undefined, after: string | undefined, limit: number): string[] {
    const keys: string[] = [];
    const begin = before === undefined ? this.#blocks.length - 1 : this.#blockOf(before);
    for (let at = begin; keys.length < limit; at -= 1) {
      const block = this.#blocks[at];
      if (block === undefined) return keys;
      const end = before === undefined ? block.length : placeIn(block, before);
      for (let place = end - 1; place >= 0 && keys.length < limit; place -= 1) {
        const key = block[place] as string;
        if (after !== undefined && key <= after) return keys;
        keys.push(key);
      }
    }
    return keys;
  }

  /** Puts all keys in their place. */
  #settle(): void {
    if (this.#late.length === 0) return;
    for (const key of this.#late) {
      const at = this.#blockOf(key);
      const block = this.#blocks[at] as string[];
      block.splice(placeIn(block, key), 0, key);
      if (block.length > maxInBlock) this.#blocks.splice(at + 1, 0, block.splice(maxInBlock / 2));
    }
    this.#late = [];
  }

  /** The index of the block in which a key is, or belongs. */
  #blockOf(key: string): number {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#blocks[middle]?.[0] ?? '') <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** The index of a key in a block, or where it would be inserted. */
function placeIn(block: readonly string[], key: string): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((block[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
