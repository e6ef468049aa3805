/**
 * A map for keys with constant churn, such as the requests in progress. The engine's `Map` moves to a new table when enough
 * keys were deleted, and the old table points to the new one. Once an old table is in the old generation, the collector
 * keeps every later table and its entries alive: each finished request is copied through the young generation and stays
 * until a major collection. This map moves to a new `Map` before the engine does, so that no table points to another.
 */

/** Fewer deleted keys are not worth a move. */
const fewest = 16;

export class ChurnMap<Key, Value> {
  #standing = new Map<Key, Value>();
  /** Keys deleted since the last move. */
  #gone = 0;

  get size(): number {
    return this.#standing.size;
  }

  get(key: Key): Value | undefined {
    return this.#standing.get(key);
  }

  has(key: Key): boolean {
    return this.#standing.has(key);
  }

  set(key: Key, value: Value): this {
    this.#standing.set(key, value);
    return this;
  }

  delete(key: Key): boolean {
    if (!this.#standing.delete(key)) return false;
    this.#gone += 1;
    if (this.#gone > fewest && this.#gone > this.#standing.size) this.#move();
    return true;
  }

  clear(): void {
    this.#standing = new Map();
    this.#gone = 0;
  }

  /** Yields each entry that still exists at its turn. Entries added meanwhile may be missed. */
  *[Symbol.iterator](): Generator<[Key, Value], void> {
    const begun = this.#standing;
    for (const entry of begun) if (begun === this.#standing || this.#standing.get(entry[0]) === entry[1]) yield entry;
  }

  /** Calls back for each entry in the same way, until the callback returns false. */
  each(visit: (key: Key, value: Value) => unknown): void {
    for (const [key, value] of this) if (visit(key, value) === false) return;
  }

  #move(): void {
    const moved = new Map<Key, Value>();
    for (const [key, value] of this.#standing) moved.set(key, value);
    this.#standing = moved;
    this.#gone = 0;
  }
}
