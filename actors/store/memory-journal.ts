/**
 * A journal that forgets at exit: for trying the gateway out and for specs. Same rules, same contract.
 */

import { causeOf, fault } from '../../machines/base/fault.ts';
import { createJournal } from './engine-journal.ts';
import type { Journal } from './journal.ts';
import { createMemoryTables } from './memory-tables.ts';
import type { Engine } from './tables.ts';

const closedFault = fault('journal-unavailable', 'journal: closed; nothing can be acknowledged');

export function openMemoryJournal(): Journal {
  let closed = false;
  const { tables, usedBytes } = createMemoryTables();

  const engine: Engine = {
    tables,
    submit(job) {
      if (closed) {
        job.refused(closedFault);
        return;
      }
      try {
        job.run();
      } catch (error) {
        job.refused(fault('internal-error', 'journal: a write failed in the gateway itself', causeOf(error)));
        return;
      }
      job.landed();
    },
    usedBytes,
    async probe() {
      return closed ? closedFault : undefined;
    },
    async close() {
      closed = true;
    },
  };
  return createJournal(engine, () => performance.now());
}
