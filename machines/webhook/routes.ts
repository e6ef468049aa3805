/**
 * Finds the route that a path names: by name, by profile prefix, static over dynamic. Looking up costs the same with one
 * route and with ten thousand. Knows no secret and no file.
 * @see RTE-3, PRF-1 and SUB-2 in docs/specification.md
 */

import { defaultProfile, profileName } from '../base/names.ts';
import type { Route } from '../config/route.ts';

export type Target =
  | { readonly kind: 'route'; readonly profile?: string; readonly name: string }
  | { readonly kind: 'health' }
  | { readonly kind: 'none' };

/** Routes by profile and name. */
export type RouteBook<Entry> = ReadonlyMap<string, Entry>;

const none: Target = { kind: 'none' };
const health: Target = { kind: 'health' };
const plain = '/webhooks/';

/** Reads a path as it was sent; percent-encoded names decode, a broken encoding names nothing. */
export function readTarget(path: string): Target {
  if (path === '/health') return health;
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

/** Static routes win over dynamic ones of the same profile and name; among equals the first wins. */
export function bookOf<Entry extends { readonly route: Route }>(
  configured: readonly Entry[],
  dynamic: readonly Entry[],
): RouteBook<Entry> {
  const book = new Map<string, Entry>();
  for (const entry of [...configured, ...dynamic]) {
    const key = keyOf(entry.route.profile, entry.route.name);
    if (!book.has(key)) book.set(key, entry);
  }
  return book;
}

/**
 * Finds the route of a target. A plain path reaches routes of the default profile only; a prefix reaches routes bound to
 * that profile, and only where profiles are multiplexed. `/p/default/` is the default profile's own prefix.
 */
export function findRoute<Entry>(
  book: RouteBook<Entry>,
  target: Extract<Target, { kind: 'route' }>,
  multiplexProfiles: boolean,
): Entry | undefined {
  if (target.profile === undefined) return book.get(keyOf(defaultProfile, target.name));
  return multiplexProfiles ? book.get(keyOf(target.profile, target.name)) : undefined;
}

/** A valid profile name holds no slash, so that the first one tells the pair apart. */
function keyOf(profile: string, name: string): string {
  return `${profile}/${name}`;
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
