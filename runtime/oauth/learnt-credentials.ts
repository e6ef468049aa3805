/**
 * Credentials that the judge of what is secret knows by heart: a token is learnt before anybody can use it, so that no
 * server's answer can carry it into a log or onto the page.
 * @see OBS-1 and OAU-2 in docs/specification.md
 */

import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import type { TokenRecord } from '../../machines/oauth/token-record.ts';

export function learntCredentials(credentials: Credentials, learn: (secret: string) => void): Credentials {
  const learnt = <Tokens extends TokenRecord | undefined>(tokens: Tokens): Tokens => {
    for (const secret of [tokens?.accessToken, tokens?.refreshToken]) if (secret !== undefined) learn(secret);
    return tokens;
  };
  return {
    ...credentials,
    tokens: (server) => learnt(credentials.tokens(server)),
    client(server) {
      const client = credentials.client(server);
      if (client?.clientSecret !== undefined) learn(client.clientSecret);
      return client;
    },
    save(server, fresh) {
      learnt(fresh.tokens);
      if (fresh.client?.clientSecret !== undefined) learn(fresh.client.clientSecret);
      return credentials.save(server, fresh);
    },
    saveTokens: (server, tokens) => credentials.saveTokens(server, learnt(tokens)),
  };
}
