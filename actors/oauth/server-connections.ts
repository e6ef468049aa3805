/**
 * Opens connections for the OAuth requests of one server, separate from its sessions: with its certificates and the
 * environment's proxies, to no address that the server must not lead to, and over https outside the loopback on every
 * hop. Only the caller closes them.
 * @see OAU-1, SEC-5 and TLS-1 in docs/specification.md
 */

import type { HttpPlan } from '../../machines/mcp/server-settings.ts';
import { insecureWords, isSecureEndpoint } from '../../machines/oauth/secure-endpoint.ts';
import type { ProxyEnv } from '../mcp/env-proxy.ts';
import type { Reach, ServerFetch } from '../mcp/http-fetch.ts';
import { HopFailure } from '../mcp/private-hop.ts';
import { createPublicReach, type PublicReachPorts } from './public-reach.ts';

interface ServerConnectionsSettings {
  readonly server: string;
  readonly plan: HttpPlan;
  readonly env: ProxyEnv;
  /** The folder that `~` refers to in the paths of certificates. */
  readonly userHome: string;
  readonly version: string;
  /** Default: the system's resolver, and the addresses of the public internet. */
  readonly reach?: Partial<PublicReachPorts>;
}

/** In bytes. Metadata and tokens take thousands; a page of an application, at a place for metadata, may take more. */
const maxAnswerLength = 1_048_576;

/** Rejects with a ConnectError if a certificate, a header or a proxy is invalid. */
export async function openServerConnections(settings: ServerConnectionsSettings): Promise<ServerFetch> {
  const { server, plan, env, userHome, version, reach } = settings;
  // Imported on demand: most daemons never log in.
  const [{ readTlsFiles }, { createServerFetch }] = await Promise.all([
    import('../mcp/tls-files.ts'),
    import('../mcp/http-fetch.ts'),
  ]);
  const tls = await readTlsFiles({ server, plan: plan.tls, userHome });
  return createServerFetch({
    server,
    plan,
    tls,
    env,
    version,
    maxBodyBytes: maxAnswerLength,
    reach: secureReach(createPublicReach(new URL(plan.url), reach)),
  });
}

/** Requests to the entry's own origin keep its scheme; a request that has left it may not return without TLS. */
function secureReach(reach: Reach): Reach {
  return {
    ...reach,
    async check(url, proxied, trusted) {
      if (!trusted && !isSecureEndpoint(url.href))
        throw new HopFailure(insecureWords('an address of its login', url.href));
      await reach.check(url, proxied, trusted);
    },
  };
}
