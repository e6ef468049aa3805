/**
 * Chooses the environment's proxy for a request: the lower-case variable before the upper-case one, as in curl; never for
 * loopback, and not if NO_PROXY excludes the host. Opens no connection.
 * @see TLS-2 in docs/specification.md
 */

import { BlockList, isIP } from 'node:net';
import { isLoopback } from '../../machines/base/loopback.ts';
import { settingError } from './connect-errors.ts';

export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/**
 * Undefined means a direct connection. Throws a ConnectError that does not quote the proxy, which may contain a
 * password.
 */
export function proxyFor(url: URL, env: ProxyEnv): URL | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  if (isLoopback(host) || entriesOf(env).some((entry) => spares(entry, host, port))) return undefined;
  const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const found = [name, name.toUpperCase()].find((each) => (env[each] ?? '').trim() !== '');
  return found === undefined ? undefined : readProxy(found, env[found] ?? '');
}

function readProxy(name: string, value: string): URL {
  const text = value.trim();
  const whole = text.includes('://') ? text : `http://${text}`;
  const proxy = URL.canParse(whole) ? new URL(whole) : undefined;
  if (proxy === undefined) throw settingError(`${name}: is no URL; check the environment`, 'proxy-invalid');
  if (proxy.protocol === 'http:' || proxy.protocol === 'https:') return proxy;
  const what = `names a proxy that speaks ${proxy.protocol.slice(0, -1)}`;
  throw settingError(`${name}: ${what}; only http and https proxies are known`, 'proxy-invalid');
}

function entriesOf(env: ProxyEnv): string[] {
  const list = env.no_proxy || env.NO_PROXY || '';
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
}

/** An entry is `*`, a host with its subdomains, an address or a network. A host or an address may have a port. */
function spares(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return inNetwork(entry, host);
  const [, name = entry, itsPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  if (itsPort !== undefined && itsPort !== port) return false;
  const bare = name.replace(/^\[|\]$/g, '').replace(/^\*?\./, '');
  return bare !== '' && (host === bare || host.endsWith(`.${bare}`));
}

function inNetwork(entry: string, host: string): boolean {
  const [network = '', bits = ''] = entry.split('/');
  const family = isIP(host);
  if (family === 0 || family !== isIP(network) || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) {
    return false;
  }
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), type);
  return list.check(host, type);
}
