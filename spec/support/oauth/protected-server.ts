/** A real MCP server that wants a bearer token, and says who gives one (RFC 9728). */

import type { Test } from 'tap';
import type { Behaviour } from '../mcp/faults.ts';
import { type HttpPeer, type HttpPeerOptions, startHttpPeer } from '../mcp/http-peer.ts';

export interface ProtectedOptions extends HttpPeerOptions {
  readonly authorizationServers: readonly string[];
  readonly accepts: (token: string) => boolean;
  /** Named in the challenge. */
  readonly challengeScope?: string;
  readonly scopes?: readonly string[];
  /** Says nothing of itself: the authorization server is looked for at its own origin. */
  readonly silent?: boolean;
}

export interface ProtectedServer extends HttpPeer {
  /** The bearer tokens that came, in order; undefined where a request had none. */
  bearers(): readonly (string | undefined)[];
  /** Faults before the check of the token. */
  spoil(...behaviours: readonly Behaviour[]): void;
  /** Changes who is named as authorization server. */
  name(...authorizationServers: readonly string[]): void;
}

export async function startProtectedServer(
  t: Pick<Test, 'teardown'>,
  { authorizationServers, accepts, challengeScope, scopes, silent = false, ...options }: ProtectedOptions,
): Promise<ProtectedServer> {
  const peer = await startHttpPeer(options);
  t.teardown(() => peer.close());
  const { pathname } = new URL(peer.url);
  const where = `/.well-known/oauth-protected-resource${pathname}`;
  const challenge = [
    ...(silent ? [] : [`resource_metadata="${peer.origin}${where}"`]),
    ...(challengeScope === undefined ? [] : [`scope="${challengeScope}"`]),
  ].join(', ');
  let advertised = authorizationServers;

  function guard(spoilt: readonly Behaviour[]): void {
    const metadata: Behaviour = {
      kind: 'answer',
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify({
        resource: peer.url,
        authorization_servers: advertised,
        ...(scopes === undefined ? {} : { scopes_supported: scopes }),
      }),
      when: ({ path }) => !silent && path === where,
    };
    const refusal: Behaviour = {
      kind: 'answer',
      status: 401,
      headers: { 'www-authenticate': `Bearer ${challenge}`.trim() },
      when: ({ path, headers }) => !path.startsWith('/.well-known/') && !accepts(bearerOf(headers) ?? ''),
    };
    peer.set(...spoilt, metadata, refusal);
  }
  guard([]);

  return Object.assign(Object.create(peer) as HttpPeer, {
    bearers: () =>
      peer.requests.filter(({ path }) => !path.startsWith('/.well-known/')).map(({ headers }) => bearerOf(headers)),
    spoil: (...behaviours: readonly Behaviour[]) => guard(behaviours),
    name: (...servers: readonly string[]) => {
      advertised = servers;
      guard([]);
    },
  });
}

function bearerOf(headers: Readonly<Record<string, string>>): string | undefined {
  return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
}
