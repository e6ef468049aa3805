/**
 * Keeps what a server says from leading inside: redirects, metadata, registration and token endpoints of a server on the
 * public internet may not lie on private, loopback or link-local addresses. A server that is itself on such an address may
 * lead there. A name is resolved once and kept, so that it cannot answer differently a moment later, and the name of a server
 * that had a public address is public for as long as this process lives.
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
   * Hosts of entries that had a public address. The owner of a name decides when it changes: a login that judged the
   * server by a newer answer than its session could be led inside.
   */
  readonly publicHosts: Set<string>;
}

const usualPorts: PublicReachPorts = {
  resolve: (host) => lookup(host, { all: true }),
  isPublic: isPublicAddress,
  publicHosts: new Set(),
};

export function createPublicReach(own: URL, ports: Partial<PublicReachPorts> = {}): Reach {
  const { resolve, isPublic, publicHosts } = { ...usualPorts, ...ports };
  const known = new Map<string, readonly LookupAddress[]>();
  /** Requests at the same time share one question: a second answer would replace the addresses that the first was judged by. */
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
    // One address of each kind would let a third party choose which of them counts.
    const found = await addressesOf(host);
    if (!found.some(({ address }) => isPublic(address))) return false;
    publicHosts.add(host);
    return true;
  };

  return {
    /** @param proxied the proxy resolves the name, and nothing is known of it here */
    async check(url, proxied) {
      const host = hostOf(url);
      // Another port of the server's own host is another origin, which may lie at another of its addresses.
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
      // A renewal asks nobody else before it.
      ownIsPublic ??= await judgeOwn(false).catch(() => true);
      if (!ownIsPublic) return;
      if (found.length > 0 && found.every(({ address }) => isPublic(address))) return;
      const what = `${host} is not on the public internet, and a server that is may not lead there`;
      throw new PrivateHopFailure(`${what}; put an address of its own in url if it is yours`);
    },
    /** Answers with the addresses that were checked; of a public server with its public ones. */
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
