/** A process of its own that uses credentials on a disk that takes no change, and prints what came of it. */

import { fileDocuments } from '../../../actors/documents.ts';
import { createAuthorizedFetch } from '../../../actors/oauth/authorized-fetch.ts';
import { createCredentials } from '../../../actors/oauth/credentials.store.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';

const [, , folder = ''] = process.argv;
const logged: string[] = [];
const log = { log: () => {}, warnOnce: (_: string, message: string) => void logged.push(message) };
const credentials = createCredentials(folder, fileDocuments, log);
const tokens = credentials.tokens('hub');
const url = 'https://mcp.example/mcp';
let tokenRequests = 0;
const refuse = (): Promise<Response> => {
  tokenRequests += 1;
  return Promise.resolve(new Response(null, { status: 401 }));
};
const fetchOnce = createAuthorizedFetch({
  ...{ server: 'hub', url, settings: readOauthSettings({}), credentials, version: '0', log },
  open: () => Promise.resolve({ fetch: refuse, close: () => Promise.resolve() }),
  nowMs: () => (tokens?.expiresAtMs ?? 0) + 1,
})(refuse);
const words = (thrown: unknown): string => String(thrown);
const renewal = await fetchOnce(url).then(() => 'none', words);
const server = credentials.server('hub');
const save =
  tokens === undefined || server === undefined
    ? 'nothing there'
    : await credentials.save('hub', { tokens, server }).then(() => 'saved', words);
process.stdout.write(
  JSON.stringify({
    accessToken: tokens?.accessToken,
    problem: credentials.problem('hub') ?? null,
    ...{ logged, renewal, tokenRequests, save },
  }),
);
