import t from 'tap';
import { rowLimit } from '../../../machines/base/row-limits.ts';

t.test(
  'CLI-2 · a listing gives what is asked for, from one row to a thousand, and fifty where nothing is',
  async (t) => {
    const asked = [undefined, '7', null, -1, 0, 1, 7, 1_000, 1_001, Number.POSITIVE_INFINITY];
    t.same(asked.map(rowLimit), [50, 50, 50, 1, 1, 1, 7, 1_000, 1_000, 1_000]);
  },
);
