/** Makes undici's agents for the proxies of the environment. Loaded where a request goes through one (TLS-2). */

import type { SecureContext } from 'node:tls';
import { Pool, ProxyAgent } from 'undici';

interface Connect {
  readonly secureContext: SecureContext;
  readonly rejectUnauthorized: boolean;
}

/** The caller has its own limit, and a stream may be silent for hours; TCP's keepalive finds a dead peer. */
export const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 };

/** An agent whose connections to `proxy` and through it are made with these settings, Node's own where they are left out. */
export function proxyAgent(proxy: URL, tls: { readonly request?: Connect; readonly proxy?: Connect } = {}): ProxyAgent {
  return new ProxyAgent({
    uri: proxy.href,
    ...(tls.request === undefined ? {} : { requestTls: tls.request }),
    ...(tls.proxy === undefined ? {} : { proxyTls: tls.proxy }),
    ...noTimeouts,
    // Plain requests go through a proxy as such: many refuse a tunnel to port 80.
    proxyTunnel: false,
    // Without this, the limits are not passed on to plain requests.
    factory: (origin, options) => new Pool(origin, { ...options, ...noTimeouts }),
  });
}

const shared = new Map<string, ProxyAgent>();

/** One agent for all requests to platforms and models through a proxy. */
export function sharedProxyAgent(proxy: URL): ProxyAgent {
  const agent = shared.get(proxy.href) ?? proxyAgent(proxy);
  shared.set(proxy.href, agent);
  return agent;
}
