/**
 * The routes in force: those of the configuration and the dynamic subscriptions of every profile, compiled. Asks on each
 * request whether a subscriptions file has changed, so that a new subscription answers at once and without a restart.
 * @see SUB-2 and PRF-1 in docs/specification.md
 */

import type { SubscriptionsStore } from '../actors/webhook/subscriptions.store.ts';
import type { ProfileName } from '../machines/base/names.ts';
import type { Route, RouteWithSecret } from '../machines/config/route.ts';
import { type CompiledRoute, compileRoute } from '../machines/webhook/compile-route.ts';
import { bookOf, findRoute, type RouteBook, readTarget } from '../machines/webhook/routes.ts';

export interface RouteSources {
  readonly multiplexProfiles: boolean;
  /** The routes of every profile's configuration. */
  readonly configured: readonly RouteWithSecret[];
  readonly subscriptions: ReadonlyMap<ProfileName, SubscriptionsStore>;
}

export interface RouteDesk {
  find(path: string): CompiledRoute | undefined;
  /** The compiled form of a route, also of one that a reload has replaced meanwhile. */
  compiled(route: Route): CompiledRoute;
  all(): readonly CompiledRoute[];
  replace(sources: RouteSources): void;
}

export function createRouteDesk(first: RouteSources): RouteDesk {
  let sources = first;
  const compiledOf = new WeakMap<Route, CompiledRoute>();
  let fresh = false;
  let configured = compileAll(sources.configured);
  let dynamic: readonly CompiledRoute[] = [];
  let seen: readonly (readonly RouteWithSecret[])[] = [];
  let book: RouteBook<CompiledRoute> = bookOf(configured, dynamic);

  function compileAll(routes: readonly RouteWithSecret[]): CompiledRoute[] {
    return routes.map((entry) => {
      const compiled = compileRoute(entry);
      compiledOf.set(entry.route, compiled);
      return compiled;
    });
  }

  /** A store returns the same list while its file is unchanged, so that comparing lists tells. */
  function refresh(): void {
    // Requests that arrive in one turn of the loop see the same files.
    if (fresh) return;
    fresh = true;
    setImmediate(() => {
      fresh = false;
    });
    let changed = false;
    const now: (readonly RouteWithSecret[])[] = [];
    for (const store of sources.subscriptions.values()) {
      const routes = store.current().routes;
      if (seen[now.length] !== routes) changed = true;
      now.push(routes);
    }
    if (!changed && now.length === seen.length) return;
    seen = now;
    dynamic = compileAll(now.flat());
    book = bookOf(configured, dynamic);
  }

  return {
    find(path) {
      refresh();
      const target = readTarget(path);
      return target.kind === 'route' ? findRoute(book, target, sources.multiplexProfiles) : undefined;
    },
    compiled(route) {
      const compiled = compiledOf.get(route);
      // Every route in a context came from this desk; one that did not must not be served without its secret.
      if (compiled === undefined) throw new TypeError(`route "${route.name}" was not compiled by this desk`);
      return compiled;
    },
    all() {
      refresh();
      return [...configured, ...dynamic];
    },
    replace(next) {
      sources = next;
      fresh = false;
      seen = [];
      configured = compileAll(next.configured);
      dynamic = [];
      book = bookOf(configured, dynamic);
      refresh();
    },
  };
}
