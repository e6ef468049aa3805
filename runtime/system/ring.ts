export interface Ring<Item> {
  push(item: Item): void;
  /** Oldest first. */
  all(): Item[];
}

/** Keeps the last items, up to a number. */
export function createRing<Item>(size: number): Ring<Item> {
  const held: Item[] = [];
  let next = 0;
  return {
    push(item) {
      if (held.length < size) held.push(item);
      else held[next] = item;
      next = (next + 1) % size;
    },
    all: () => (held.length < size ? [...held] : [...held.slice(next), ...held.slice(0, next)]),
  };
}
