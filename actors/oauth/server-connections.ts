/**
 * Opens connections for the OAuth of one server, apart from those of its sessions: with its certificates and the proxies
 * of the environment, to no address that the server must not lead to, and over https outside the loopback on every hop;
 * closed only by the caller that opened them.
 * @see OAU-1, SEC-5 and TLS-1 in docs/specification.md
 */

import type { HttpPlan } from '../../machines/mcp/server-settings.ts';
import { insecureWords, isSecureEndpoint } from '../../machines/oauth/secure-endpoint.ts';
import type { ProxyEnv } from '../mcp/env-proxy.ts';
import type { Reach, ServerFetch } from '../mcp/http-fetch.ts';
import { HopFailure } from '../mcp/private-hop.ts';
import { createPublicReach, type PublicReachPorts } from './public-reach.ts';

export interface ServerConnectionsSettings {
  readonly server: string;
  readonly plan: HttpPlan;
  readonly env: ProxyEnv;
  /** What `~` stands for in the paths of certificates. */
  readonly userHome: string;
  readonly version: string;
  /** Left out: the resolver of the system, and the addresses of the public internet. */
  readonly reach?: Partial<PublicReachPorts>;
}

/** Rejects with a SettingFailure for a certificate, a header or a proxy that cannot be used. */
export async function openServerConnections(settings: ServerConnectionsSettings): Promise<ServerFetch> {
  const { server, plan, env, userHome, version, reach } = settings;
  // Loaded by who needs it: most daemons never log in.
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
    reach: secureReach(createPublicReach(new URL(plan.url), reach)),
  });
}

/** The entry's own origin is asked as the entry says; a request that has left it does not return without TLS. */
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
