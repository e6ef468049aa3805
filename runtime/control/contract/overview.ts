/** The page's overview. */

import type { NamedRange } from '../../../machines/base/time-range.ts';
import type { TargetRow } from './deliveries.ts';
import type { CountedEvents } from './events.ts';
import type { ServerRow } from './servers.ts';

export interface OverviewChoice {
  readonly range: NamedRange;
  /** Absent: all profiles. */
  readonly profile?: string;
}

export interface OverviewService {
  read(choice: OverviewChoice): Promise<Overview>;
  /** Calls back with the overview, at once and after each change, until the returned function is called. */
  watch(choice: OverviewChoice, heard: (overview: Overview) => void): () => void;
}

/** The aggregates of the page's overview: they cost the same at one event a minute and at a hundred a second. */
export interface Overview {
  readonly at: string;
  readonly range: NamedRange;
  /** No profile has a route: the page shows the first steps. */
  readonly routeless: boolean;
  /** What needs a person: the first rows, and their number. */
  readonly needs: Top<Need>;
  readonly events: CountedEvents;
  readonly open: OpenCounts;
  readonly routes: Top<RouteHealth>;
  readonly servers: Top<ServerHealth>;
  readonly targets: Top<TargetHealth>;
}

/** The first rows of a table in order, and the number of all rows. */
export interface Top<Row> {
  readonly total: number;
  readonly rows: readonly Row[];
}

type NeedKind = 'approval' | 'failures' | 'unconfirmed' | 'route' | 'server' | 'target' | 'login' | 'config' | 'held';

export interface Need {
  /** Unique among the needs, and stable while the need lasts. */
  readonly id: string;
  readonly kind: NeedKind;
  readonly title: string;
  readonly reason: string;
  readonly since?: string;
  /** An approval's deadline. */
  readonly until?: string;
  /** The button that resolves it: its text, and its target on the page, without `#/`. */
  readonly action: { readonly label: string; readonly place: string };
}

export interface OpenCounts {
  readonly running: number;
  /** How many runs are allowed at the same time. */
  readonly slots: number;
  readonly batching: number;
  /** Runs that wait for a person. */
  readonly waiting: number;
  /** Deliveries that wait for their next attempt. */
  readonly retrying: number;
  /** Runs in memory that wait for a slot. */
  readonly queued: number;
  /** More of them wait on disk alone. */
  readonly more_queued?: true;
  /** Deliveries under way, or waiting for their turn at their target. */
  readonly delivering: number;
}

export type Health = 'failing' | 'waiting' | 'retrying' | 'healthy' | 'quiet' | 'off';

interface HealthRow {
  readonly name: string;
  readonly profile: string;
  readonly health: Health;
}

export interface RouteHealth extends HealthRow {
  /** The provider's name, or how an event is signed. */
  readonly source: string;
  readonly events: number;
  readonly failed: number;
  /** By time: the number of events and of failed ones. */
  readonly trend: readonly (readonly [events: number, failed: number])[];
  readonly median_ms?: number;
  readonly last_at?: string;
}

export interface ServerHealth extends HealthRow, Pick<ServerRow, 'state' | 'tools' | 'median_ms' | 'error'> {
  /** Calls that ended in the range, counted since the gateway started. */
  readonly calls: number;
}

export interface TargetHealth extends HealthRow, Pick<TargetRow, 'title' | 'state' | 'account' | 'error'> {
  /** Deliveries that arrived in the range, and attempts that failed, counted since the gateway started. */
  readonly sent: number;
  readonly failed: number;
  /** Deliveries that wait for a person. */
  readonly open: number;
  readonly median_ms?: number;
}
