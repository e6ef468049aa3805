/**
 * The answer of `overview.read` and `overview.watch`: types only. Aggregates, never single events, so that a watching page
 * costs the same at one event a minute and at a hundred a second. Times are ISO 8601; texts have passed the redactor.
 * @see INS-4 in docs/specification.md
 */

import type { NamedRange } from '../../machines/base/time-range.ts';
import type { CountedEvents } from '../control/contract.ts';

export interface Overview {
  readonly at: string;
  readonly range: NamedRange;
  /** No profile has a route: the page shows the first steps. */
  readonly routeless: boolean;
  /** What needs a person: the first rows, and how many there are. */
  readonly needs: Top<Need>;
  readonly events: CountedEvents;
  readonly open: OpenCounts;
  readonly routes: Top<RouteHealth>;
  readonly servers: Top<ServerHealth>;
  readonly targets: Top<TargetHealth>;
}

/** The first rows of a table in their order, and the number of all. */
export interface Top<Row> {
  readonly total: number;
  readonly rows: readonly Row[];
}

export type NeedKind = 'approval' | 'failures' | 'server' | 'target' | 'login' | 'config';

export interface Need {
  /** Unique among the needs, and the same while the need lasts. */
  readonly id: string;
  readonly kind: NeedKind;
  readonly title: string;
  readonly reason: string;
  readonly since?: string;
  /** An approval's deadline. */
  readonly until?: string;
  /** The one button that resolves it: its text, and the place of the page that it leads to, without `#/`. */
  readonly action: { readonly label: string; readonly place: string };
}

export interface OpenCounts {
  readonly running: number;
  /** How many runs are allowed at the same time. */
  readonly slots: number;
  readonly batching: number;
  /** Runs that wait for a person. */
  readonly waiting: number;
  /** Deliveries that wait for their next try. */
  readonly retrying: number;
  readonly queued: number;
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
  /** By time, each with all events and those that failed. */
  readonly trend: readonly (readonly [events: number, failed: number])[];
  readonly median_ms?: number;
  readonly last_at?: string;
}

export interface ServerHealth extends HealthRow {
  /** Of its connection. */
  readonly state: string;
  readonly tools: number;
  /** Calls that ended in the range, since the gateway started. */
  readonly calls: number;
  readonly median_ms?: number;
  readonly error?: string;
}

export interface TargetHealth extends HealthRow {
  readonly title: string;
  /** Of its connection. */
  readonly state: string;
  readonly account?: string;
  /** Deliveries that ended in the range, since the gateway started. */
  readonly sent: number;
  readonly failed: number;
  /** Deliveries that wait for a person. */
  readonly open: number;
  readonly median_ms?: number;
  readonly error?: string;
}
