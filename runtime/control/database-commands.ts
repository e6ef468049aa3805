/**
 * The commands of the journal's database: migrate its tables to this release, copy a journal into it or out of it.
 * @see SCA-1 in docs/specification.md
 */

import { writeHomeFiles } from '../../actors/shared-documents.ts';
import { placedPaths } from '../../actors/socket-place.ts';
import { risksOf } from '../../actors/store/database-risks.ts';
import { placeOf, postgresFault } from '../../actors/store/postgres-schema.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { takeHome } from '../system/process.ts';
import type { CommandHost, CommandPeer, Commands } from './command.ts';
import { got, refuse } from './contract/refusal.ts';
import type { Result } from './contract.ts';
import { homeOf } from './home-view.ts';

export const databaseCommands = {
  'gateway.database': examine,
  'gateway.migrate': migrate,
  'journal.copy': copy,
} satisfies Partial<Commands>;

/** The current state of the database, with its risks. */
async function examine(host: CommandHost): Promise<Result<'gateway.database'>> {
  const url = sharedUrl(host);
  const { examineDatabase } = await import('../../actors/store/postgres-examination.ts');
  const state = got(await examineDatabase(url));
  const { server, version, connections, synchronousCommit, standbys, awaited } = state;
  return {
    place: placeOf(url),
    server: server.split(' ')[0] ?? '',
    tables: version,
    connections,
    synchronous_commit: synchronousCommit,
    standbys: { connected: standbys, ...(awaited === '' ? {} : { awaited }) },
    risks: risksOf(state).map(({ what, cure }) => ({ what, cure })),
  };
}

async function migrate(host: CommandHost): Promise<Result<'gateway.migrate'>> {
  const url = sharedUrl(host);
  const { migratePostgresJournal } = await import('../../actors/store/postgres-journal.ts');
  return got(await migratePostgresJournal(url));
}

/** @throws Refusal unless the journal is in Postgres */
function sharedUrl(host: CommandHost): string {
  const { journal, postgres } = homeOf(host).main.settings.gateway;
  return journal === 'postgres'
    ? (postgres?.url ?? '')
    : refuse('journal-local', `gateway.journal is "${journal}", which has no tables`);
}

const noteEvery = 100_000;

/** Opens both journals for the duration of the copy, with the home locked against a gateway. */
async function copy(host: CommandHost, { to }: JsonObject, peer: CommandPeer): Promise<Result<'journal.copy'>> {
  if (to !== 'postgres' && to !== 'lmdb') refuse('params-missing', 'the parameter "to" is "postgres" or "lmdb"');
  const { home, env } = host.source;
  const url = homeOf(host).main.settings.gateway.postgres?.url;
  if (url === undefined)
    refuse('journal-local', 'gateway.postgres.url is not set; it names the database to copy to or from');
  const [{ copyJournal }, { openPostgresJournal }, { openLmdbJournal, readLmdbJournal }, { createDocumentRows }] =
    await Promise.all([
      import('../../actors/store/copy-journal.ts'),
      import('../../actors/store/postgres-journal.ts'),
      import('../../actors/store/lmdb-journal.ts'),
      import('../../actors/store/postgres-documents.ts'),
    ]);
  const paths = placedPaths(home, env);
  const place = placeOf(url);
  const lock = got(await takeHome(paths, host.version));
  const open: { close(): Promise<void> }[] = [];
  const using = <Each extends { close(): Promise<void> }>(one: Each): Each => {
    open.push(one);
    return one;
  };
  let notedAt = 0;
  const progress = (records: number): void => {
    if (records < notedAt + noteEvery) return;
    notedAt = records;
    peer.notify('note', { text: `${records} records are copied` });
  };
  const unread = (thrown: unknown) => ({ ok: false, fault: postgresFault(place, thrown) }) as const;
  try {
    const shared = using(got(await openPostgresJournal({ url, alone: true })));
    if (to === 'postgres') {
      const source = got(await readLmdbJournal(paths.state));
      if (source === undefined) refuse('journal-unreadable', `${paths.state}: there is no journal to copy`);
      return {
        ...got(await copyJournal(using(source), shared, progress, 'copy into an empty database').catch(unread)),
        documents: 0,
      };
    }
    const local = using(got(await openLmdbJournal({ directory: paths.state })));
    const cure = `move ${paths.state} aside (it is the state of before the move to Postgres), then repeat`;
    const copied = got(await copyJournal(shared, local, progress, cure).catch(unread));
    return { ...copied, documents: await writeHomeFiles(using(createDocumentRows(url, place)), home) };
  } finally {
    await Promise.allSettled(open.map((one) => one.close()));
    lock.release();
  }
}
