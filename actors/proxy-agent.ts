/** Makes undici's agents for the proxies of the environment. Imported on demand, when a request uses one (TLS-2). */

import type { SecureContext } from 'node:tls';
import { Pool, ProxyAgent } from 'undici';

interface Connect {
  readonly secureContext: SecureContext;
  readonly rejectUnauthorized: boolean;
}

/** The caller has its own limit, and a stream may be silent for hours; TCP keepalive detects a dead peer. */
export const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 };

/** An agent whose connections to `proxy` and through it use these TLS settings, by default Node's own. */
export function proxyAgent(proxy: URL, tls: { readonly request?: Connect; readonly proxy?: Connect } = {}): ProxyAgent {
  return new ProxyAgent({
    uri: proxy.href,
    ...(tls.request === undefined ? {} : { requestTls: tls.request }),
    ...(tls.proxy === undefined ? {} : { proxyTls: tls.proxy }),
    ...noTimeouts,
    // Plain HTTP requests use the proxy without a tunnel: many proxies refuse one to port 80.
    proxyTunnel: false,
    // Without this, the timeouts do not apply to plain requests.
    factory: (origin, options) => new Pool(origin, { ...options, ...noTimeouts }),
  });
}

const shared = new Map<string, ProxyAgent>();

/** One shared agent per proxy for all requests to platforms and models. */
export function sharedProxyAgent(proxy: URL): ProxyAgent {
  const agent = shared.get(proxy.href) ?? proxyAgent(proxy);
  shared.set(proxy.href, agent);
  return agent;
}
