/**
 * The health of routes, servers and targets as rows of a table: failing ones first, then by name, so that rows keep their
 * places while counts change.
 * @see INS-4 in docs/specification.md
 */

import { defined } from '../../machines/base/json.ts';
import { sourceWords } from '../../machines/config/sources.ts';
import type { Recent } from '../observe/recent-counts.ts';
import type { TargetRow } from './contract/deliveries.ts';
import type { CountedRoute, EventBucket } from './contract/events.ts';
import type { Health, RouteHealth, ServerHealth, TargetHealth, Top } from './contract/overview.ts';
import type { RouteDetail } from './contract/routes.ts';
import type { ServerRow } from './contract/servers.ts';
import { isFailing } from './overview-needs.ts';

/** As many as a panel shows. */
const maxRows = 6;

const ranks: Readonly<Record<Health, number>> = { failing: 0, waiting: 1, retrying: 1, healthy: 2, quiet: 2, off: 2 };

export function topOf<Row extends { readonly name: string; readonly health: Health }>(rows: readonly Row[]): Top<Row> {
  const sorted = [...rows].sort(
    (one, other) => ranks[one.health] - ranks[other.health] || (one.name < other.name ? -1 : 1),
  );
  return { total: rows.length, rows: sorted.slice(0, maxRows) };
}

/** Bars of a route's events: three buckets of the range each. */
const bucketsPerBar = 3;

type Definition = Pick<RouteDetail['definition'], 'enabled' | 'sender' | 'signature'> & {
  readonly name: string;
  readonly profile: string;
};

interface RouteSigns {
  /** By the rule of `webhook list`, which does not depend on the range. */
  readonly failing: boolean;
  /** No run of it begins. */
  readonly held: boolean;
  /** Deliveries of the route that wait for their next try. */
  readonly retrying: number;
}

/** @param counted over the range; undefined where the route has no event in it */
export function routeHealth(route: Definition, counted: CountedRoute | undefined, signs: RouteSigns): RouteHealth {
  const { total: events = 0, counts, median_ms, last_at, buckets = [] } = counted ?? {};
  const failed = counts?.failed ?? 0;
  return defined({
    name: route.name,
    profile: route.profile,
    health: healthOfRoute(route.enabled, events, signs),
    source: sourceWords(route),
    events,
    failed,
    trend: trendOf(buckets),
    median_ms,
    last_at,
  });
}

function trendOf(buckets: readonly EventBucket[]): RouteHealth['trend'] {
  const bars: (readonly [number, number])[] = [];
  for (let from = 0; from < buckets.length; from += bucketsPerBar) {
    const joined = buckets.slice(from, from + bucketsPerBar);
    const sum = (pick: (bucket: EventBucket) => number): number => joined.reduce((all, one) => all + pick(one), 0);
    bars.push([sum((one) => one.delivered + one.ignored + one.open + one.failed), sum((one) => one.failed)]);
  }
  return bars;
}

function healthOfRoute(enabled: boolean, events: number, { failing, held, retrying }: RouteSigns): Health {
  if (!enabled) return 'off';
  if (failing) return 'failing';
  if (held) return 'waiting';
  if (retrying > 0) return 'retrying';
  return events === 0 ? 'quiet' : 'healthy';
}

const serverHealths: Readonly<Record<string, Health>> = {
  needsLogin: 'waiting',
  backingOff: 'retrying',
  disabled: 'off',
  stopped: 'off',
};

export function serverHealth(row: ServerRow, { count, median_ms }: Recent): ServerHealth {
  const { name, profile, state, tools, error } = row;
  return defined({
    name,
    profile,
    health: isFailing(row) ? 'failing' : (serverHealths[state] ?? 'healthy'),
    state,
    tools,
    calls: count,
    median_ms,
    error,
  });
}

/** @param open deliveries to the target that wait for a person */
export function targetHealth(row: TargetRow, open: number, { count, failed, median_ms }: Recent): TargetHealth {
  const { name, title, profile, state, account, error } = row;
  return defined({
    name,
    profile,
    title,
    health: state === 'failed' || open > 0 ? 'failing' : state === 'disabled' ? 'off' : 'healthy',
    state,
    sent: count - failed,
    failed,
    open,
    account,
    median_ms,
    error,
  });
}
