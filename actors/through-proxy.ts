/**
 * Sends requests to platforms and model endpoints through the proxy of the environment, chosen as for MCP servers. A
 * gateway without a proxy loads nothing for it.
 * @see TLS-2 in docs/specification.md
 */

import { causeOf } from '../machines/base/fault.ts';

export type ProxyRoute =
  /** What `fetch` is given beside the request. */
  | { readonly kind: 'open'; readonly init: RequestInit }
  /** The environment's proxy cannot be used; the reason quotes no password. */
  | { readonly kind: 'unusable'; readonly why: string };

const variables = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];

export async function throughProxy(
  url: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<ProxyRoute> {
  if (!variables.some((name) => (env[name] ?? '') !== '')) return { kind: 'open', init: {} };
  const [{ proxyFor }, { sharedProxyAgent }] = await Promise.all([
    import('./mcp/env-proxy.ts'),
    import('./proxy-agent.ts'),
  ]);
  try {
    const proxy = proxyFor(new URL(url), env);
    return { kind: 'open', init: proxy === undefined ? {} : ({ dispatcher: sharedProxyAgent(proxy) } as object) };
  } catch (thrown) {
    return { kind: 'unusable', why: causeOf(thrown) };
  }
}
