/**
 * Connects to the Postgres database of a URL.
 * @see DUR-1 in docs/specification.md
 */

import { Client, type ClientConfig } from 'pg';

export const connectTimeoutMs = 10_000;

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
  await client.connect();
  return client;
}
