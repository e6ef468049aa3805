/**
 * The routes in force: those of the configuration and the dynamic subscriptions of every profile. Checks on each request
 * whether a subscriptions file has changed, so that a new subscription works at once, without a restart.
 * @see SUB-2 and PRF-1 in docs/specification.md
 */

import type { SubscriptionsStore } from '../../actors/webhook/subscriptions.store.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import type { Route, RouteWithSecret } from '../../machines/config/route.ts';
import { bookOf, type RouteBook } from '../../machines/config/route-book.ts';
import { type CompiledRoute, compileRoute } from '../../machines/webhook/compile-route.ts';
import { findRoute, readTarget } from '../../machines/webhook/routes.ts';

export interface RouteSources {
  readonly multiplexProfiles: boolean;
  readonly configured: readonly RouteWithSecret[];
  readonly subscriptions: ReadonlyMap<ProfileName, SubscriptionsStore>;
}

interface RouteTable {
  find(path: string): CompiledRoute | undefined;
  /** False while a profile's subscriptions have never been read, so that a route may be missing. */
  isComplete(): boolean;
  /** The compiled form of a route, even if a reload has replaced the route meanwhile. */
  compiled(route: Route): CompiledRoute;
  named(profile: string, name: string): RouteWithSecret | undefined;
  replace(sources: RouteSources): void;
  /** Rises when the routes have changed since the last call. */
  version(): number;
}

export function createRouteTable(first: RouteSources): RouteTable {
  let sources = first;
  /** Routes are compiled at their first use: of ten thousand routes few are used. */
  const compiledOf = new WeakMap<Route, CompiledRoute>();
  let fresh = false;
  let configured = bookOf(sources.configured);
  /** Static routes take precedence over dynamic ones. */
  let books: RouteBook<RouteWithSecret>[] = [configured];
  let isComplete = true;
  let version = 0;
  let seen: readonly unknown[] = [];

  const compile = (entry: RouteWithSecret): CompiledRoute =>
    getOrMake(compiledOf, entry.route, () => compileRoute(entry));

  function refresh(): void {
    // Requests of one turn of the event loop use the same files.
    if (fresh) return;
    fresh = true;
    setImmediate(() => {
      fresh = false;
    });
    books = [configured];
    isComplete = true;
    for (const store of sources.subscriptions.values()) {
      const { book, isUnknown = false } = store.current();
      books.push(book);
      if (isUnknown) isComplete = false;
    }
  }

  return {
    find(path) {
      refresh();
      const target = readTarget(path);
      const found = target.kind === 'route' ? findRoute(books, target, sources.multiplexProfiles) : undefined;
      return found === undefined ? undefined : compile(found);
    },
    isComplete() {
      refresh();
      return isComplete;
    },
    compiled(route) {
      const compiled = compiledOf.get(route);
      // Every route in a context came from this table; any other must not be served without its secret.
      if (compiled === undefined) throw new TypeError(`route "${route.name}" was not compiled by this table`);
      return compiled;
    },
    named(profile, name) {
      refresh();
      return findRoute(books, { kind: 'route', profile, name }, true);
    },
    replace(next) {
      sources = next;
      fresh = false;
      configured = bookOf(sources.configured);
    },
    version() {
      refresh();
      // Books are replaced, not changed.
      if (books.length !== seen.length || books.some((book, at) => book !== seen[at])) version += 1;
      seen = books;
      return version;
    },
  };
}
