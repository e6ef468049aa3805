/**
 * Keeps a server from directing requests inside: redirects, metadata, registration and token endpoints of a server on the
 * public internet must not be on private, loopback or link-local addresses. A server on such an address itself may use
 * them. A name is resolved once, so that a later DNS answer changes nothing, and a server's name that had a public
 * address counts as public as long as this process runs.
 * @see SEC-5 and OAU-1 in docs/specification.md
 */

import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress } from '../agent/public-address.ts';
import type { Reach } from '../mcp/http-fetch.ts';
import { PrivateHopFailure } from '../mcp/private-hop.ts';

export interface PublicReachPorts {
  readonly resolve: (host: string) => Promise<readonly LookupAddress[]>;
  readonly isPublic: (address: string) => boolean;
  /**
   * Hosts of entries that had a public address. The owner of a name decides when it changes: if a login judged the server
   * by a newer answer than its session, it could be directed inside.
   */
  readonly publicHosts: Set<string>;
}

const defaultPorts: PublicReachPorts = {
  resolve: (host) => lookup(host, { all: true }),
  isPublic: isPublicAddress,
  publicHosts: new Set(),
};

export function createPublicReach(own: URL, ports: Partial<PublicReachPorts> = {}): Reach {
  const { resolve, isPublic, publicHosts } = { ...defaultPorts, ...ports };
  const known = new Map<string, readonly LookupAddress[]>();
  /**
   * Concurrent requests share one lookup: a second answer would replace the addresses that the first request was checked
   * against.
   */
  const asked = new Map<string, Promise<readonly LookupAddress[]>>();
  let ownIsPublic: boolean | undefined;

  const resolveOnce = async (host: string): Promise<readonly LookupAddress[]> => {
    const family = isIP(host);
    const found = family === 0 ? await resolve(host) : [{ address: host, family }];
    known.set(host, found);
    return found;
  };
  const addressesOf = async (host: string): Promise<readonly LookupAddress[]> => {
    const standing = known.get(host);
    if (standing !== undefined) return standing;
    const asking = asked.get(host) ?? resolveOnce(host).finally(() => asked.delete(host));
    asked.set(host, asking);
    return asking;
  };
  const judgeOwn = async (proxied: boolean): Promise<boolean> => {
    const host = hostOf(own);
    if (publicHosts.has(host) || (proxied && isIP(host) === 0)) return true;
    // With addresses of both kinds, a third party could choose which one counts, so one public address is enough.
    const found = await addressesOf(host);
    if (!found.some(({ address }) => isPublic(address))) return false;
    publicHosts.add(host);
    return true;
  };

  return {
    /** @param proxied the proxy resolves the name, so its addresses are unknown here */
    async check(url, proxied) {
      const host = hostOf(url);
      // Another port of the server's own host is another origin, which may use another of its addresses.
      if (url.origin === own.origin) {
        ownIsPublic ??= await judgeOwn(proxied);
        if (proxied && isIP(host) === 0) return;
        const found = await addressesOf(host);
        if (!ownIsPublic || found.length === 0 || found.some(({ address }) => isPublic(address))) return;
        const what = `${host} was on the public internet and now has private addresses only`;
        throw new PrivateHopFailure(`${what}; put an address of its own in url or restart the gateway if it is yours`);
      }
      if (proxied && isIP(host) === 0) return;
      const found = await addressesOf(host);
      // A renewal may send no earlier request to the own origin.
      ownIsPublic ??= await judgeOwn(false).catch(() => true);
      if (!ownIsPublic) return;
      if (found.length > 0 && found.every(({ address }) => isPublic(address))) return;
      const what = `${host} is not on the public internet, and a server that is may not lead there`;
      throw new PrivateHopFailure(`${what}; put an address of its own in url if it is yours`);
    },
    /** Returns the addresses that were checked; for a public server only its public ones. */
    lookup: (host, options, callback) => {
      const found = (known.get(host) ?? []).filter(({ address }) => ownIsPublic !== true || isPublic(address));
      const [first] = found;
      if (first === undefined) callback(new Error(`${host} was not looked up`), '', 0);
      else if (options.all === true) callback(null, [...found]);
      else callback(null, first.address, first.family);
    },
  };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}
