/**
 * Credentials whose secrets the redactor has: each token is registered before it is used, so that no server's answer can
 * carry it into a log or onto the page.
 * @see OBS-1 and OAU-2 in docs/specification.md
 */

import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import type { TokenRecord } from '../../machines/oauth/token-record.ts';

/** @param learn receives each secret with its place; a new secret replaces the earlier one of that place */
export function learntCredentials(
  credentials: Credentials,
  learn: (place: string, secret: string) => void,
): Credentials {
  const learnOne = (server: string, kind: string, secret: string | undefined): void => {
    if (secret !== undefined) learn(`${server}/${kind}`, secret);
  };
  const learnt = <Tokens extends TokenRecord | undefined>(server: string, tokens: Tokens): Tokens => {
    learnOne(server, 'access', tokens?.accessToken);
    learnOne(server, 'refresh', tokens?.refreshToken);
    return tokens;
  };
  return {
    ...credentials,
    tokens: (server) => learnt(server, credentials.tokens(server)),
    client(server) {
      const client = credentials.client(server);
      learnOne(server, 'client', client?.clientSecret);
      return client;
    },
    save(server, fresh) {
      learnt(server, fresh.tokens);
      learnOne(server, 'client', fresh.client?.clientSecret);
      return credentials.save(server, fresh);
    },
    saveTokens: (server, tokens) => credentials.saveTokens(server, learnt(server, tokens)),
  };
}
