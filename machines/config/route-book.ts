/**
 * Routes by profile and name, so that a look-up costs the same with one route and with ten thousand. The first of several
 * with the same profile and name counts.
 * @see RTE-3 and PRF-1 in docs/specification.md
 */

import { getOrMake } from '../base/get-or-make.ts';
import type { Route } from './route.ts';

export type RouteBook<Entry> = ReadonlyMap<string, ReadonlyMap<string, Entry>>;
/** A route book being filled one route at a time, so that the caller can pause. */
export type GrowingBook<Entry> = Map<string, Map<string, Entry>>;

export function bookOf<Entry extends { readonly route: Route }>(entries: readonly Entry[]): RouteBook<Entry> {
  const book: GrowingBook<Entry> = new Map();
  for (const entry of entries) enterRoute(book, entry);
  return book;
}

export function enterRoute<Entry extends { readonly route: Route }>(book: GrowingBook<Entry>, entry: Entry): void {
  const { profile, name } = entry.route;
  const named = getOrMake(book, profile, () => new Map());
  if (!named.has(name)) named.set(name, entry);
}
