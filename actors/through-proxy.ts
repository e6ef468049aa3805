/**
 * Sends requests to platforms and to the endpoints of models and searches through the environment's proxy, chosen as for
 * MCP servers. Without a proxy, no code for it is loaded.
 * @see TLS-2 in docs/specification.md
 */

import { causeOf } from '../machines/base/fault.ts';

type ProxyRoute =
  /** Additional options for `fetch`. */
  | { readonly kind: 'open'; readonly init: RequestInit; readonly isProxied: boolean }
  /** The environment's proxy setting is invalid; the reason quotes no password. */
  | { readonly kind: 'unusable'; readonly why: string };

const direct: ProxyRoute = { kind: 'open', init: {}, isProxied: false };
const variables = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];

export async function throughProxy(url: string): Promise<ProxyRoute> {
  const { env } = process;
  if (!variables.some((name) => (env[name] ?? '') !== '')) return direct;
  const [{ proxyFor }, { sharedProxyAgent }] = await Promise.all([
    import('./mcp/env-proxy.ts'),
    import('./proxy-agent.ts'),
  ]);
  try {
    const proxy = proxyFor(new URL(url), env);
    if (proxy === undefined) return direct;
    return { kind: 'open', init: { dispatcher: sharedProxyAgent(proxy) } as object, isProxied: true };
  } catch (thrown) {
    return { kind: 'unusable', why: causeOf(thrown) };
  }
}
