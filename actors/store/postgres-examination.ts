/**
 * Examines the database of a journal without changing it: whether a gateway can use it, and whether its settings keep
 * acknowledged events.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import type { Client } from 'pg';
import { done, type Result } from '../../machines/base/fault.ts';
import { reach, refuseLentProcess } from './postgres-reach.ts';
import {
  checkEncoding,
  checkMaking,
  checkUse,
  placeOf,
  postgresFault,
  prepareSchema,
  schemaVersionOf,
} from './postgres-schema.ts';

export interface DatabaseState {
  /** The server's release, as reported by the server: "15.14 (Debian 15.14-0+deb12u1)". */
  readonly server: string;
  /** Connections to the server, of all databases and programs, and how many it takes. */
  readonly connections: { readonly used: number; readonly most: number };
  /** Version of the tables; 0 if a start will create them. */
  readonly version: number;
  /** How far its clock is ahead of this machine's, in milliseconds. */
  readonly aheadMs: number;
  /** Whether a commit is on its disk before it is reported. */
  readonly fsync: boolean;
  readonly synchronousCommit: string;
  /** Names that several live gateways use. */
  readonly shared: readonly string[];
  readonly standbys: number;
  /** `synchronous_standby_names`, for which commits wait; empty for none. */
  readonly awaited: string;
}

/** The server hides the type of the connections of other users. */
const state = `select extract(epoch from clock_timestamp()) * 1000 as ms,
  current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
  case current_setting('max_wal_senders') when '0' then '' else current_setting('synchronous_standby_names') end as awaited,
  (select count(*) from pg_stat_replication) as standbys,
  current_setting('server_version') as server, current_setting('max_connections') as most,
  (select count(*) from pg_stat_activity where datid is not null and usesysid is not null
    and coalesce(backend_type, 'client backend') = 'client backend') as used`;

const namesakes = `select owner from agent_session where expires_at > agent_now() group by owner having count(*) > 1 order by owner`;

/** Fails as a start would, with what keeps a gateway from using the database. */
export async function examineDatabase(url: string, nowMs: () => number = Date.now): Promise<Result<DatabaseState>> {
  const place = placeOf(url);
  let client: Client | undefined;
  try {
    client = await reach(url);
    await refuseLentProcess(client, url, place);
    await checkEncoding(client, place);
    const version = await schemaVersionOf(client);
    const obstacle = version === 0 ? undefined : await prepareSchema(client, place);
    if (obstacle !== undefined) return { ok: false, fault: obstacle };
    await (version === 0 ? checkMaking : checkUse)(client);
    const askedAtMs = nowMs();
    const { rows } = await client.query(state);
    const [row] = rows;
    const names = version === 0 ? undefined : await client.query<{ owner: string }>(namesakes);
    return done({
      shared: names?.rows.map(({ owner }) => owner) ?? [],
      version,
      aheadMs: Number(row.ms) - (askedAtMs + nowMs()) / 2,
      fsync: row.fsync === 'on',
      synchronousCommit: String(row.commit),
      standbys: Number(row.standbys),
      awaited: String(row.awaited),
      server: String(row.server),
      connections: { used: Number(row.used), most: Number(row.most) },
    });
  } catch (thrown) {
    return { ok: false, fault: postgresFault(place, thrown) };
  } finally {
    void client?.end().catch(() => {});
  }
}
