/**
 * Counts repetitions: the first of equal things is passed on at once, and those of the following minute together at its
 * end, so that repetitions by third parties take little of a log.
 * @see SEC-1 in docs/specification.md
 */

export interface Repeats<Thing> {
  /** How many different things are counted at present. */
  readonly size: number;
  add(key: string, thing: Thing): void;
  /** Passes on the counts so far. */
  flush(): void;
}

const windowMs = 60_000;

/** @param pass receives a thing and how many of it there were; of several, the last one. */
export function createRepeats<Thing>(pass: (thing: Thing, times: number) => void): Repeats<Thing> {
  const counted = new Map<string, { readonly end: () => void; times: number; thing: Thing }>();
  return {
    get size() {
      return counted.size;
    },
    add(key, thing) {
      const before = counted.get(key);
      if (before !== undefined) {
        before.times += 1;
        before.thing = thing;
        return;
      }
      const row = {
        times: 0,
        thing,
        end: () => {
          clearTimeout(timer);
          counted.delete(key);
          if (row.times > 0) pass(row.thing, row.times);
        },
      };
      const timer = setTimeout(row.end, windowMs).unref();
      counted.set(key, row);
      pass(thing, 1);
    },
    flush() {
      for (const { end } of counted.values()) end();
    },
  };
}
