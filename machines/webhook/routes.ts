/**
 * Finds the route of a path: by name and profile prefix, static before dynamic. A look-up costs the same with one route and
 * with ten thousand.
 * @see RTE-3, PRF-1 and SUB-2 in docs/specification.md
 */

import { defaultProfile, profileName } from '../base/names.ts';
import type { RouteBook } from '../config/route-book.ts';

type Target =
  | { readonly kind: 'route'; readonly profile?: string; readonly name: string }
  | { readonly kind: 'health' }
  | { readonly kind: 'none' };

const none: Target = { kind: 'none' };
const health: Target = { kind: 'health' };
const plain = '/webhooks/';

/**
 * Parses a path as it was sent; percent-encoded names are decoded, an invalid encoding names nothing. One trailing slash is
 * ignored, as most servers do: it is easily typed at a provider.
 */
export function readTarget(sent: string): Target {
  if (sent === '/health') return health;
  const path = sent.endsWith('/') ? sent.slice(0, -1) : sent;
  if (path.startsWith(plain)) {
    const name = decoded(path.slice(plain.length));
    return name === undefined ? none : { kind: 'route', name };
  }
  const parts = path.split('/');
  if (parts.length !== 5 || parts[0] !== '' || parts[1] !== 'p' || parts[3] !== 'webhooks') return none;
  const profile = profileName(decoded(parts[2]) ?? '');
  const name = decoded(parts[4]);
  return profile === undefined || name === undefined ? none : { kind: 'route', profile, name };
}

/**
 * Finds the route of a target in the first book that has it: static routes take precedence over dynamic ones. A plain path
 * reaches only routes of the default profile; a prefix reaches routes bound to that profile, and only if profiles are
 * multiplexed. `/p/default/` is the default profile's own prefix.
 */
export function findRoute<Entry>(
  books: readonly RouteBook<Entry>[],
  target: Extract<Target, { kind: 'route' }>,
  multiplexProfiles: boolean,
): Entry | undefined {
  if (target.profile !== undefined && !multiplexProfiles) return undefined;
  for (const book of books) {
    const found = book.get(target.profile ?? defaultProfile)?.get(target.name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function decoded(part: string | undefined): string | undefined {
  if (part === undefined || part === '' || part.includes('/')) return undefined;
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part) || undefined;
  } catch {
    return undefined;
  }
}
