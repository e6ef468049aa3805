/**
 * Assembles the journal of the gateway: it opens the one that the settings name, keeps its session alive, adopts the work of
 * killed gateways, and reaches the other gateways of a database. Decides nothing.
 * @see DUR-1, SCA-1 and SCA-2 in docs/specification.md
 */

import { hostname } from 'node:os';
import type { Journal } from '../../actors/store/journal.ts';
import { createKeeper } from '../../actors/store/keeper.ts';
import { openLmdbJournal, readLmdbJournal } from '../../actors/store/lmdb-journal.ts';
import { openMemoryJournal } from '../../actors/store/memory-journal.ts';
import type { Neighbours } from '../../actors/store/postgres-neighbours.ts';
import { placeOf } from '../../actors/store/postgres-schema.ts';
import { done, type Fault } from '../../machines/base/fault.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import type { LeftWork } from '../dispatch/work-log.ts';
import { timedKeeper } from '../observe/metrics-counts.ts';
import { timeKey } from '../system/ids.ts';
import { wireJournal } from '../system/supervisor.ts';
import type { Every } from '../system/ticks.ts';
import { createNeighbourAccess } from './neighbours.ts';

interface OpeningPorts extends Pick<SharedPorts, 'root' | 'home' | 'paths' | 'metrics' | 'nowMs' | 'steadyMs' | 'log'> {
  /** Prepares the home before its journal is opened; resolves with the fault that prevents it. */
  readonly prepare: () => Promise<Fault | undefined>;
  /** Answers a question of another gateway of the database. */
  readonly answerOthers: (question: string) => Promise<string>;
  readonly every: Every;
}

/** How long a session of the journal lives without a heartbeat. */
const sessionTtlMs = 60_000;
/** The same on a database, where another gateway adopts the work as soon as the session expires. */
const sharedSessionTtlMs = 10_000;
const beatMs = 3_000;
/** How often a gateway on a database checks for killed ones, so that their work is adopted within three seconds. */
const reapMs = 500;

export function assembleJournal(ports: OpeningPorts) {
  const { root, home, paths, metrics, steadyMs, every, log } = ports;
  const settings = () => home().main.settings;
  const isShared = settings().gateway.journal === 'postgres';
  /** Gateways of one journal use its clock. */
  const nowMs = isShared ? () => ports.nowMs() + keeper.aheadMs() : ports.nowMs;
  const owner = isShared ? (settings().gateway.node ?? `${hostname()}:${paths.home}`) : paths.home;
  const opened = createKeeper({
    open: async () => {
      const fault = await ports.prepare();
      if (fault !== undefined) return { ok: false, fault };
      const { journal, postgres } = settings().gateway;
      if (journal === 'memory') return done(openMemoryJournal());
      if (journal === 'lmdb') return openLmdbJournal({ directory: paths.state });
      const { openPostgresJournal } = await import('../../actors/store/postgres-journal.ts');
      const shared = await openPostgresJournal({
        url: postgres?.url ?? '',
        ...(postgres === undefined ? {} : { pool: postgres.pool }),
        cut: () => root().system.get('journal')?.send({ type: 'journal.cut' }),
      });
      if (shared.ok) await noteUncopied(shared.value).catch(() => {});
      return shared;
    },
    owner,
    namesake: () =>
      log.warnOnce(
        'gateway-node',
        `another gateway of the database uses the name "${owner}"; set gateway.node to another`,
      ),
    sessionTtlMs: isShared ? sharedSessionTtlMs : sessionTtlMs,
    clock: { nowMs: ports.nowMs, differs: (message) => log.warnOnce('journal-clock', message) },
    steadyMs,
    refused: (reason) => root().system.get('journal')?.send({ type: 'journal.refused', fault: reason.message }),
  });
  const keeper = timedKeeper(opened, metrics);
  const history = () => {
    const { maxAgeMs, maxBytes } = settings().gateway.history;
    return { keepAfterKey: timeKey(nowMs() - maxAgeMs), maxBytes };
  };
  /** Nothing else would show what waits in the home's own journal. */
  async function noteUncopied(shared: Journal): Promise<void> {
    const own = await readLmdbJournal(paths.state);
    if (!own.ok || own.value === undefined) return;
    const { uncopiedWork } = await import('../../actors/store/copy-journal.ts');
    const count = await uncopiedWork(own.value, shared, history().keepAfterKey).finally(own.value.close);
    const cure =
      'stop the gateway and run `agent journal copy --to postgres`; once the database has events, finish them with gateway.journal: lmdb instead';
    if (count > 0)
      log.warnOnce('journal-uncopied', `${count} runs and deliveries wait in ${paths.state}, not in Postgres; ${cure}`);
  }
  const others = isShared
    ? createNeighbourAccess({ connect: connectNeighbours, mayAnswer: () => keeper.session() !== undefined, every })
    : undefined;
  async function connectNeighbours(): Promise<Neighbours> {
    const { createNeighbours } = await import('../../actors/store/postgres-neighbours.ts');
    const url = settings().gateway.postgres?.url ?? '';
    const { session } = keeper;
    const { answerOthers: answer } = ports;
    return createNeighbours({ url, place: placeOf(url), session, sessionTtlMs: sharedSessionTtlMs, answer });
  }
  const stopBeat = every(() => void keeper.beat(), beatMs);
  const reaper = isShared ? setInterval(() => void keeper.reap(), reapMs).unref() : undefined;

  return {
    keeper,
    isShared,
    nowMs,
    /** For the supervisor's chart. */
    logic: wireJournal({ keeper, log, history }),
    /** The other gateways of the database, and the answers to their questions; undefined unless the journal is shared. */
    neighbours: others?.reach,
    /** The work that waits on disk for the next start; undefined if no journal on disk is open. */
    async left(): Promise<LeftWork | undefined> {
      const journal = keeper.journal();
      if (journal === undefined || settings().gateway.journal === 'memory') return undefined;
      const runs = new Set(await journal.dueKeys('runs'));
      const deliveries = (await journal.dueKeys('deliveries')).filter((key) => !runs.has(key));
      return { runs: runs.size, deliveries: deliveries.length };
    },
    async close(): Promise<void> {
      stopBeat();
      clearInterval(reaper);
      await others?.close();
      await keeper.close();
    },
  };
}
