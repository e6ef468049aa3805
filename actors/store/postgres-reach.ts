/**
 * Connects to the Postgres database of a URL.
 * @see DUR-1 in docs/specification.md
 */

import { Client, type ClientConfig } from 'pg';

export const connectTimeoutMs = 10_000;

/** A server whose commits are not on its disk when they are reported would lose what was acknowledged. */
const durable = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;

/** Rejects as the client does. */
export async function reach(url: string, more: ClientConfig = {}): Promise<Client> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'agent',
    keepAlive: true,
    ...more,
  });
  // A connection that breaks while nothing is asked of it is noticed by the next question.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(durable);
    return client;
  } catch (thrown) {
    void client.end().catch(() => {});
    throw thrown;
  }
}
