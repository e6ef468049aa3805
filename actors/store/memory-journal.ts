/**
 * A journal in memory, for trying out the gateway and for specs. It has the same rules and contract, but nothing survives
 * an exit.
 */

import { causeOf, fault } from '../../machines/base/fault.ts';
import { createJournal } from './engine-journal.ts';
import { type Job, tellLanded, tellRefused } from './job.ts';
import type { Journal } from './journal.ts';
import { createMemoryTables } from './memory-tables.ts';
import type { Engine } from './tables.ts';

const closedFault = fault('journal-unavailable', 'journal: closed; nothing can be acknowledged');

/** `nowMs` is its clock. Default: the system's. */
export function openMemoryJournal(nowMs: () => number = Date.now): Journal {
  let closed = false;
  let waiting: Job[] = [];
  const { tables, usedBytes } = createMemoryTables();

  /** Commits of one turn of the event loop are applied together, as on disk, so that their answers are sent together. */
  function land(): void {
    const group = waiting;
    waiting = [];
    for (const job of group.filter(runs)) tellLanded(job);
  }

  const engine: Engine = {
    tables,
    submit(job) {
      if (closed) job.refused(closedFault);
      else if (waiting.push(job) === 1) setImmediate(land);
    },
    usedBytes,
    async probe() {
      return closed ? closedFault : undefined;
    },
    async close() {
      closed = true;
      land();
    },
  };
  return createJournal(engine, { nowMs, steadyMs: () => performance.now() });
}

function runs(job: Job): boolean {
  try {
    job.run();
    return true;
  } catch (error) {
    tellRefused(job, fault('internal-error', 'journal: a write failed in the gateway itself', causeOf(error)));
    return false;
  }
}
