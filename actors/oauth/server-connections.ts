/**
 * Opens connections for the OAuth of one server, apart from those of its sessions: with its certificates and the proxies
 * of the environment, to no address that the server must not lead to; closed by whoever opened them and by nobody else.
 * @see OAU-1 and TLS-1 in docs/specification.md
 */

import type { HttpPlan } from '../../machines/mcp/server-settings.ts';
import type { ProxyEnv } from '../mcp/env-proxy.ts';
import type { ServerFetch } from '../mcp/http-fetch.ts';
import { createPublicReach } from './public-reach.ts';

export interface ServerConnectionsSettings {
  readonly server: string;
  readonly plan: HttpPlan;
  readonly env: ProxyEnv;
  /** What `~` stands for in the paths of certificates. */
  readonly userHome: string;
  readonly version: string;
}

/** Rejects with a SettingFailure for a certificate, a header or a proxy that cannot be used. */
export async function openServerConnections(settings: ServerConnectionsSettings): Promise<ServerFetch> {
  const { server, plan, env, userHome, version } = settings;
  // Loaded by who needs it: most daemons never log in.
  const [{ readTlsFiles }, { createServerFetch }] = await Promise.all([
    import('../mcp/tls-files.ts'),
    import('../mcp/http-fetch.ts'),
  ]);
  const tls = await readTlsFiles({ server, plan: plan.tls, userHome });
  return createServerFetch({ server, plan, tls, env, version, reach: createPublicReach(new URL(plan.url)) });
}
