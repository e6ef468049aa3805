/**
 * Reads the runs of a home without a running gateway from its journal on disk, without changing it; the home's secrets
 * are redacted.
 * @see COA-3 and CLI-5 in docs/specification.md
 */

import { type HomeSource, loadHome } from '../../actors/config/load-config.ts';
import { holderOf } from '../../actors/lock-file.ts';
import { readLmdbJournal } from '../../actors/store/lmdb-journal.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { runAsSeen } from '../../machines/webhook/interruption.ts';
import { learnSecrets } from '../config/loaded-home.ts';
import { createRunHistory } from '../dispatch/run-history.ts';
import { createRedactor } from '../observe/redact.ts';
import { createSourceReader } from '../webhook/route-sources.ts';
import { Refusal } from './contract/refusal.ts';
import type { RunHistory } from './contract/runs.ts';

/**
 * Queries the runs on disk.
 * @param note receives one sentence for the user: that no gateway answers, and what is read instead
 * @throws Refusal if the journal cannot be read
 */
export async function askKeptRuns<Answer>(
  source: HomeSource,
  note: (sentence: string) => void,
  ask: (runs: RunHistory) => Promise<Answer>,
): Promise<Answer> {
  const home = loadHome(source);
  const paths = homePaths(source.home);
  const kind = home.main.settings.gateway.journal;
  const opened = kind === 'lmdb' ? await readLmdbJournal(paths.state) : undefined;
  const absence = absenceOf(source.home, holderOf(paths.lock));
  if (kind === 'postgres') {
    const why = 'its journal is in Postgres, which only a gateway reads';
    throw new Refusal('gateway-not-running', `${absence}; ${why}`);
  }
  if (opened?.ok === false) throw new Refusal(opened.fault.code, `${absence}, and ${opened.fault.message}`);
  const journal = opened?.value;
  const redactor = createRedactor();
  learnSecrets(home, redactor);
  createSourceReader({ log: { log: () => {}, warnOnce: () => {} }, learn: redactor.learn }).read(home);
  try {
    note(`${absence}; ${kind === 'memory' ? memoryAlone : journal === undefined ? neverStarted : readFromDisk}.`);
    return await ask(
      createRunHistory({
        journal: () => journal,
        seenRun: (_, record) => runAsSeen(record, undefined),
        runsThatWait: () => new Map(),
        redact: redactor.record,
      }),
    );
  } finally {
    await journal?.close();
  }
}

const readFromDisk = 'these runs are read from its journal on disk';
const neverStarted = 'it has no journal on disk yet, so there are no runs';
const memoryAlone = 'its journal is kept in memory, so no runs are left';

/** A gateway that holds the lock without answering is about to listen, has already closed its socket, or hangs. */
function absenceOf(home: string, lock: ReturnType<typeof holderOf>): string {
  if (lock.kind !== 'living' || lock.holder.isCopy) return `The gateway of ${home} is not running`;
  return `The gateway of ${home} (process ${lock.holder.pid}) does not answer: it is starting or stopping, or it hangs`;
}
