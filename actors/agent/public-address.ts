/**
 * Whether an address is on the public internet, and so may be fetched at the request of untrusted text. Refuses every
 * special-purpose range, and for IPv6 everything outside the allocated unicast space. Does not resolve names.
 * @see [RFC 6890](https://www.rfc-editor.org/rfc/rfc6890.html)
 * @see DIS-5 in docs/specification.md
 */

import { BlockList, isIP } from 'node:net';

const notPublic4 = listOf('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);
const given6 = listOf('ipv6', ['2000::/3']);
/** Protocol assignments with Teredo, documentation, 6to4 (embeds an IPv4 address), and SRv6 segments. */
const notPublic6 = listOf('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublic4.check(address, 'ipv4');
    case 6: {
      // A zone id refers to a link of this machine.
      if (address.includes('%')) return false;
      return given6.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6');
    }
    default:
      return false;
  }
}

function listOf(type: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    list.addSubnet(address, Number(bits), type);
  }
  return list;
}
