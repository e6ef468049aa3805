/**
 * Forgets the marks that lead nowhere: those of stretches before the oldest record of their collection. Looks at each mark
 * once, not at each of its places, and works in pieces like all forgetting.
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
/** What the marks begin with that many records share, or that stand for such. The others go with their record. */
const sharedKinds = ['c', 'p', 'r', 's', 't', 'w'];

const ofWork = `${letters.events}/${workMark('')}`;

/** Returns a job that removes, at each call, further marks. */
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
    // A record of an old key may yet be written, and is to be marked anew.
    tables.recentMarks.clear();
    while (range !== undefined) {
      const { collection, from } = range;
      if (spent()) return { removed, more: true };
      const [oldest] = tables[collection].keys({ limit: 1 });
      // Work bears a time too, and is no younger than its events.
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
        // Up to layout 3 work that had events bore a mark without a place, which nobody asks for.
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
