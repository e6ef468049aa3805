/**
 * The state of each route, from its events of the last 24 hours and its deliveries that wait for another attempt.
 * @see INS-4 in docs/specification.md
 */

import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { readRange } from '../../machines/base/time-range.ts';
import type { CountedRoute, RouteMark, RouteRow } from './contract.ts';
import type { DaemonView } from './view.ts';

export type Standings = (row: Pick<RouteRow, 'name' | 'profile' | 'enabled'>) => RouteStanding;
export type RouteStanding = Pick<RouteRow, 'mark' | 'last_event_at' | 'last_hour' | 'last_24h'>;

/** A route is failing if this many of its last events all failed, or this share of those of the last ten minutes. */
const lastEvents = 5;
const failingShare = 0.5;
const recentMs = 600_000;
const mostWaiting = 500;

export async function routeStandings(daemon: DaemonView, nowMs = Date.now()): Promise<Standings> {
  const rangeOf = (text: string) => readRange(text, nowMs) ?? { fromMs: 0 };
  const [day, hour, recent, waiting] = await Promise.all([
    daemon.countEvents(rangeOf('24h')),
    daemon.countEvents(rangeOf('1h')),
    daemon.countEvents({ fromMs: nowMs - recentMs }),
    daemon.sendings.list({ status: 'waitingToRetry', limit: mostWaiting }).catch(() => []),
  ]);
  const retrying = new Set(waiting.map(keyOf));
  const failing = new Set<string>();
  for (const counted of recent.routes) if (share(counted) >= failingShare) failing.add(keyOf(counted));
  for (const counted of day.routes) {
    const key = keyOf(counted);
    if (counted.counts.failed < lastEvents || failing.has(key)) continue;
    const { route, profile } = counted;
    const rows = await daemon.deliveries({ route, profile, limit: lastEvents, since: day.all.from });
    const allFailed = rows.length === lastEvents && rows.every(({ status }) => outcomeOfStatus(status) === 'failed');
    if (allFailed) failing.add(key);
  }
  const dayOf = new Map(day.routes.map((one) => [keyOf(one), one]));
  const hourOf = new Map(hour.routes.map((one) => [keyOf(one), one]));
  return ({ name, profile = 'default', enabled }) => {
    const key = keyOf({ route: name, profile });
    const counted = dayOf.get(key);
    return {
      mark: markOf({ enabled, failing: failing.has(key), retrying: retrying.has(key), counted }),
      ...(counted === undefined ? {} : { last_event_at: counted.last_at }),
      last_hour: hourOf.get(key)?.total ?? 0,
      last_24h: { total: counted?.total ?? 0, failed: counted?.counts.failed ?? 0 },
    };
  };
}

interface Signs {
  readonly enabled: boolean | undefined;
  readonly failing: boolean;
  readonly retrying: boolean;
  readonly counted: CountedRoute | undefined;
}

function markOf({ enabled, failing, retrying, counted }: Signs): RouteMark {
  if (enabled === false) return 'disabled';
  if (failing) return 'failing';
  if (retrying) return 'retrying';
  return counted === undefined ? 'quiet' : 'healthy';
}

function share({ total, counts }: CountedRoute): number {
  return total === 0 ? 0 : counts.failed / total;
}

function keyOf({ route, profile }: { readonly route: string; readonly profile: string }): string {
  return `${profile}/${route}`;
}
