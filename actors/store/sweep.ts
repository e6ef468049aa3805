/**
 * Removes marks without records: those of time buckets before the oldest record of their collection. Checks each mark
 * once instead of each of its places, and works in pieces like all pruning.
 * @see DUR-2 in docs/specification.md
 */

import { workMark } from '../../machines/webhook/marks.ts';
import type { MarkedCollection } from './journal.ts';
import { afterPrefix, stretchOf } from './marks.ts';
import type { Piece, Spent } from './prune.ts';
import type { Engine } from './tables.ts';
import { letters } from './work-index.ts';

/** Marks removed at once. */
const pageSize = 64;
const collections = ['events', 'runs', 'deliveries'] as const satisfies readonly MarkedCollection[];
/** Initial letters of the marks that many records share. Other marks are removed with their record. */
const sharedKinds = ['c', 'o', 'p', 'r', 's', 't', 'w'];

const ofWork = `${letters.events}/${workMark('')}`;

/** Returns a job that removes further marks at each call. */
export function sweeping(engine: Engine): (spent: Spent) => Piece {
  const ranges = collections.flatMap((collection) =>
    sharedKinds.map((kind) => {
      const begin = `${letters[collection]}/${kind}`;
      return { collection, from: begin, until: `${begin.slice(0, -1)}${String.fromCharCode(kind.charCodeAt(0) + 1)}` };
    }),
  );
  let [range] = ranges;
  return (spent) => {
    const { tables } = engine;
    let removed = 0;
    // A record with an old key may still be written and needs its mark again.
    tables.recentMarks.clear();
    while (range !== undefined) {
      const { collection, from } = range;
      if (spent()) return { removed, more: true };
      const [oldest] = tables[collection].keys({ limit: 1 });
      // The key of work is a time too, and not later than those of its events.
      const isOfWork = from.startsWith(ofWork) && oldest !== undefined;
      const until = isOfWork ? ofWork + stretchOf(oldest) : range.until;
      const [first] = tables.marks.keys({ from, until, limit: 1 });
      if (first === undefined) {
        ranges.shift();
        [range] = ranges;
        continue;
      }
      const prefix = first.slice(0, first.indexOf('/', 2) + 1);
      if (first === prefix) {
        // Up to layout 3, work with events had a mark without a place, which no listing uses.
        tables.marks.remove(first);
        continue;
      }
      const end = oldest === undefined ? afterPrefix(prefix) : prefix + stretchOf(oldest);
      const stale = tables.marks.keys({ from: prefix, until: end, limit: pageSize });
      for (const mark of stale) tables.marks.remove(mark);
      removed += stale.length;
      if (stale.length < pageSize) range = { ...range, from: afterPrefix(prefix) };
    }
    return { removed, more: false };
  };
}
