/**
 * A process of its own that calls a protected server with the credentials of a folder, as the daemon does: to race others
 * for one refresh token, or to be killed. Arguments: the folder, the server's address, how many calls at once. Says
 * `ready`, waits for a line, calls, and prints the statuses.
 */

import { createInterface } from 'node:readline';
import { fileDocuments } from '../../../actors/documents.ts';
import { createAuthorizedFetch } from '../../../actors/oauth/authorized-fetch.ts';
import { createCredentials } from '../../../actors/oauth/credentials.store.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';

const [, , folder = '', url = '', count = '1'] = process.argv;
const fetchOnce = createAuthorizedFetch({
  server: 'hub',
  url,
  settings: readOauthSettings({}),
  credentials: createCredentials(folder, fileDocuments),
  open: () => Promise.resolve({ fetch, close: () => Promise.resolve() }),
  version: '0.0.0',
  nowMs: Date.now,
  log: { log: () => {}, warnOnce: () => {} },
})(fetch);
const lines = createInterface({ input: process.stdin });
process.stdout.write('ready\n');
await new Promise<void>((resolve) => lines.once('line', () => resolve()));
const outcomes = await Promise.all(
  Array.from({ length: Number(count) }, async (_, id) => {
    try {
      const answer = await fetchOnce(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }),
      });
      await answer.body?.cancel();
      return answer.status;
    } catch (thrown) {
      return String(thrown);
    }
  }),
);
process.stdout.write(`${JSON.stringify(outcomes)}\n`);
lines.close();
