/**
 * A map for keys that come and go without end, such as the requests under way. The engine's own `Map` makes a new table
 * whenever enough of its keys are gone, and the old table points to the new one. Once one such table has grown old, the
 * collector takes every later one for alive, with all that was in it: each request, long answered, is copied through the
 * young heap and stays in the old one until that is collected. A roster moves to a `Map` of its own before the engine
 * does, so that no table points to another.
 */

/** So few gone keys are not worth a move. */
const fewest = 16;

export class Roster<Key, Value> {
  #standing = new Map<Key, Value>();
  /** Keys that went since the last move. */
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

  /**
   * Calls back for each entry that stands when its turn comes, until the callback returns false. Of those that join
   * meanwhile some may be missed.
   */
  each(visit: (key: Key, value: Value) => unknown): void {
    const begun = this.#standing;
    for (const [key, value] of begun) {
      if (begun !== this.#standing && this.#standing.get(key) !== value) continue;
      if (visit(key, value) === false) return;
    }
  }

  #move(): void {
    const moved = new Map<Key, Value>();
    for (const [key, value] of this.#standing) moved.set(key, value);
    this.#standing = moved;
    this.#gone = 0;
  }
}
