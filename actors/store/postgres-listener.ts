/**
 * A connection to the journal's database for notifications and for queries of its own. A query without an answer from the
 * database drops the connection; the next query reconnects.
 * @see SCA-1 in docs/specification.md
 */

import type { Client, QueryResult } from 'pg';
import { endUnanswered, isAnswer, leave, reach } from './postgres-reach.ts';
import { InvalidSchema, prepareSchema } from './postgres-schema.ts';

export interface Listener {
  /** Rejects as the client does, with the fault of unusable tables, and after `close`. */
  ask(text: string, values: readonly unknown[]): Promise<QueryResult>;
  close(): Promise<void>;
}

/** Passes each message between gateways of this schema to `heard`; it may miss some. */
export function createListener(url: string, place: string, heard: (word: string) => void): Listener {
  let connecting: Promise<Client> | undefined;
  let isClosed = false;

  function connected(): Promise<Client> {
    if (connecting !== undefined) return connecting;
    const mine: Promise<Client> = listening(() => {
      if (connecting === mine) connecting = undefined;
    });
    connecting = mine;
    return mine;
  }

  async function listening(ended: () => void): Promise<Client> {
    let client: Client | undefined;
    try {
      client = await reach(url);
      client.on('end', ended);
      const obstacle = await prepareSchema(client, place);
      if (obstacle !== undefined) throw new InvalidSchema(obstacle);
      const { rows } = await client.query('select current_schema as name');
      client.on('notification', ({ payload = '' }) => {
        const [schema, word = ''] = payload.split(' ');
        if (schema === rows[0]?.name && !isClosed) heard(word);
      });
      await client.query('listen agent');
      return client;
    } catch (thrown) {
      ended();
      void client?.end().catch(() => {});
      throw thrown;
    }
  }

  /** The client takes one query at a time. */
  let last: Promise<unknown> = Promise.resolve();
  function ask(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const mine = last.then(() => askNow(text, values));
    last = mine.catch(() => {});
    return mine;
  }

  async function askNow(text: string, values: readonly unknown[]): Promise<QueryResult> {
    // A reconnect would keep the process from ending.
    if (isClosed) throw hasLeft();
    const asked = connected();
    const client = await asked;
    try {
      return await client.query(text, [...values]);
    } catch (thrown) {
      if (isClosed) throw hasLeft();
      if (!isAnswer(thrown) && connecting === asked) connecting = undefined;
      endUnanswered(client, thrown);
      throw thrown;
    }
  }

  const hasLeft = (): Error => new Error(`${place}: this gateway has left the database`);

  return {
    ask,
    async close() {
      isClosed = true;
      const client = await connecting?.catch(() => undefined);
      if (client !== undefined) await leave(client);
    },
  };
}
