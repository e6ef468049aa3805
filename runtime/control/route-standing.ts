/**
 * The state of each route, from its events of the last 24 hours and its deliveries that wait for another attempt.
 * @see INS-4 in docs/specification.md
 */

import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { cellMs, readRange } from '../../machines/base/time-range.ts';
import { normaliseReason } from '../../machines/dispatch/failure-groups.ts';
import type { RouteCounts } from '../dispatch/event-stats.ts';
import type { HistoryRow } from './contract/events.ts';
import type { RouteMark, RouteRow } from './contract/routes.ts';
import type { DaemonView } from './view.ts';

type Standings = (row: Pick<RouteRow, 'name' | 'profile' | 'enabled' | 'held'>) => RouteStanding;
type RouteStanding = Pick<RouteRow, 'mark' | 'last_event_at' | 'last_hour' | 'last_24h'>;

/** A route is failing if this many of its last events all failed, or this share of those of the last ten minutes. */
const lastEvents = 5;
const failingShare = 0.5;
const recentMs = 600_000;
const maxWaiting = 500;
/** Events among which the commonest reason of a failing route is found. */
const reasonEvents = 20;

export async function routeStandings(daemon: DaemonView, nowMs = Date.now()): Promise<Standings> {
  const rangeOf = (text: string) => readRange(text, nowMs) ?? { fromMs: 0 };
  const range = rangeOf('24h');
  const { routes: day, countedFromMs } = await daemon.countRoutes(range);
  // What else is asked is of the same day, so that the time of one reading is enough.
  const countRoutes: DaemonView['countRoutes'] = (one, of) => daemon.countRoutes(one, of, 0);
  const [hour, found, waiting] = await Promise.all([
    countRoutes(rangeOf('1h')),
    failingRoutes({ countRoutes, deliveries: daemon.deliveries }, nowMs),
    daemon.deliveryService.list({ status: 'waitingToRetry', limit: maxWaiting }).catch(() => []),
  ]);
  const retrying = new Set(waiting.map(keyOf));
  const failing = new Set(found.map(keyOf));
  const dayOf = new Map(day.map((one) => [keyOf(one), one]));
  const hourOf = new Map(hour.routes.map((one) => [keyOf(one), one]));
  const partly = countedFromMs > range.fromMs ? { counted_from: new Date(countedFromMs).toISOString() } : {};
  return ({ name, profile = 'default', enabled, held }) => {
    const key = keyOf({ route: name, profile });
    const counted = dayOf.get(key);
    return {
      mark: markOf({ enabled, held, failing: failing.has(key), retrying: retrying.has(key), counted }),
      ...(counted === undefined ? {} : { last_event_at: counted.last_at }),
      last_hour: hourOf.get(key)?.total ?? 0,
      last_24h: { total: counted?.total ?? 0, failed: counted?.counts.failed ?? 0, ...partly },
    };
  };
}

export interface FailingRoute {
  readonly route: string;
  readonly profile: string;
  /** "2 of 3 events in ten minutes", or "the last 5 events". */
  readonly share: string;
  /** The newest failed event with the commonest reason. */
  readonly example: Pick<HistoryRow, 'status' | 'reason'>;
}

/** Returns the routes of which half of the events of the last ten minutes failed, or the last five. */
export async function failingRoutes(
  { countRoutes, deliveries }: Pick<DaemonView, 'countRoutes' | 'deliveries'>,
  nowMs: number,
  of?: string,
): Promise<readonly FailingRoute[]> {
  const range = readRange('24h', nowMs) ?? { fromMs: 0 };
  const since = new Date(range.fromMs).toISOString();
  const [day, recent] = await Promise.all([
    countRoutes(range, of),
    // From the edge of a cell, so that counts which are known are used again.
    countRoutes({ fromMs: Math.floor((nowMs - recentMs) / cellMs) * cellMs }, of),
  ]);
  const found: FailingRoute[] = [];
  const recentOf = new Map(recent.routes.map((one) => [keyOf(one), one]));
  for (const { route, profile, counts } of day.routes) {
    const now = recentOf.get(keyOf({ route, profile }));
    const isRecent = now !== undefined && now.counts.failed >= now.total * failingShare;
    if (!isRecent && counts.failed < lastEvents) continue;
    const rows = await deliveries({ route, profile, limit: reasonEvents, since });
    const isFailed = ({ status }: HistoryRow): boolean => outcomeOfStatus(status) === 'failed';
    const last = rows.slice(0, lastEvents);
    if (!isRecent && !(last.length === lastEvents && last.every(isFailed))) continue;
    const failed = rows.filter(isFailed);
    const accepted = failed.filter(({ status }) => status !== 'refused');
    const example = commonest(accepted.length > 0 ? accepted : failed);
    if (example === undefined) continue;
    const share = isRecent
      ? `${now.counts.failed} of ${now.total} ${now.total === 1 ? 'event' : 'events'} in ten minutes`
      : `the last ${lastEvents} events`;
    found.push({ route, profile, share, example });
  }
  return found;
}

/** Returns the newest row with the reason that most rows have, ignoring what differs between events. */
function commonest(rows: readonly HistoryRow[]): HistoryRow | undefined {
  const counts = new Map<string, number>();
  const causeOf = ({ status, reason = status }: HistoryRow): string => normaliseReason(reason);
  for (const row of rows) counts.set(causeOf(row), (counts.get(causeOf(row)) ?? 0) + 1);
  const max = Math.max(...counts.values());
  return rows.find((row) => counts.get(causeOf(row)) === max);
}

interface Signs {
  readonly enabled: boolean | undefined;
  readonly held: string | undefined;
  readonly failing: boolean;
  readonly retrying: boolean;
  readonly counted: RouteCounts | undefined;
}

function markOf({ enabled, held, failing, retrying, counted }: Signs): RouteMark {
  if (enabled === false) return 'disabled';
  if (failing) return 'failing';
  if (held !== undefined) return 'held';
  if (retrying) return 'retrying';
  return counted === undefined ? 'quiet' : 'healthy';
}

function keyOf({ route, profile }: { readonly route: string; readonly profile: string }): string {
  return `${profile}/${route}`;
}
