import t from 'tap';
import { countProcesses, mayDescend, type ProcessCount, processIdLimit } from '../../actors/process-numbers.ts';

const limit = 32_768;
const before: ProcessCount = { created: 1_000_000, existing: 100 };
const later = (created: number): ProcessCount => ({ created: before.created + created, existing: 7 });

t.test('LIF-9 · a process with an id from before a child is none of its descendants', (t) => {
  const start = { pid: 5_000, before };
  for (const [id, now, may] of [
    [4_999, later(10), false],
    [5_000, later(10), true],
    [5_001, later(10), true],
    // In use since Linux began at the bottom earlier: looked at, since the order of ids shows nothing of it.
    [32_000, later(10), true],
    // 27,468 ids were free above the child, those in use passed over.
    [4_999, later(27_467), false],
    [4_999, later(27_468), true],
    [300, later(40_000), true],
  ] as const) {
    t.equal(mayDescend(id, start, { now, limit }), may, `${id} after ${now.created - before.created}`);
  }
  t.end();
});

t.test('LIF-9 · where nothing is known of the ids, each may be that of a descendant', (t) => {
  const now = later(10);
  for (const [start, counts] of [
    [
      { pid: 5_000, before: undefined },
      { now, limit },
    ],
    [
      { pid: 5_000, before },
      { now: undefined, limit },
    ],
    [
      { pid: 5_000, before },
      { now, limit: 0 },
    ],
    // A system that does not count.
    [
      { pid: 5_000, before },
      { now: before, limit },
    ],
  ] as const) {
    t.equal(mayDescend(1, start, counts), true);
  }
  t.end();
});

t.test(
  'LIF-9 · Linux shows how many processes there are and were',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const count = await countProcesses();
    t.ok(count !== undefined && count.existing > 1 && count.created >= count.existing, JSON.stringify(count));
    t.ok((await processIdLimit()) > process.pid);
  },
);
