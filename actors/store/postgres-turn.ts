/**
 * Which gateway uses a database now. One alone does, by a lock of the connection that writes; any number of others wait
 * in reserve. A gateway that dies loses the lock with its connection. One that is stopped or cut off keeps its connection,
 * so once its session has run out, the next gateway ends that connection before it takes the lock.
 * @see SCA-2 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';

/** A gateway that has just taken the lock is about to begin its session. */
const silentSeconds = 5;
const pauseMs = 100;

const lock = `hashtext('agent_gateway'), hashtext(current_schema)`;

/** Ends a silent connection that has the lock, while no other gateway's session lives: an earlier one of this process too. */
const endSilent = `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and l.granted and l.classid = hashtext('agent_gateway')::oid
    and l.objid = hashtext(current_schema)::oid and l.database = (select oid from pg_database where datname = current_database())
    and a.state_change < clock_timestamp() - interval '${silentSeconds} seconds'
    and not exists (select 1 from agent_session where expires_at > agent_now() and not id = any($1::text[]))`;

export interface Waiting {
  /** How long the lock is waited for. */
  readonly patienceMs: number;
  /** The sessions of this process, which stay; all others are those of gateways that have lost the lock. */
  readonly own: readonly string[];
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** Takes the lock; resolves with false where another gateway keeps it. Rejects as the client does. */
export async function takeTurn(client: Client, { patienceMs, own, signal }: Waiting): Promise<boolean> {
  for (let waitedMs = 0; !signal.aborted; waitedMs += pauseMs) {
    const { rows } = await client.query(`select pg_try_advisory_lock(${lock}) as mine`);
    if (rows[0]?.mine === true) {
      await client.query('delete from agent_session where not id = any($1::text[])', [[...own]]);
      return true;
    }
    if (waitedMs >= patienceMs) return false;
    await client.query(endSilent, [[...own]]);
    await sleep(pauseMs);
  }
  return false;
}
