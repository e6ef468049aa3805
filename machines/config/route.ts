/**
 * What a route is once its configuration has been read: plain JSON, no secret inside, every default filled in. The same
 * shape serves routes of `config.yaml` and dynamic subscriptions.
 * @see RTE-1, RTE-2 and SUB-1 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { ProfileName, RouteName } from '../base/names.ts';

/** A condition of `filters` as it is written (FIL-1); `filter.ts` compiles it. */
export type ConditionSource = JsonObject;

export interface CoalesceSettings {
  /** A dotted field or a template (COA-1). */
  readonly key: string;
  readonly windowMs: number;
  readonly maxWaitMs: number;
}

export interface Route {
  readonly name: RouteName;
  readonly source: 'static' | 'dynamic';
  /** The only profile whose prefix reaches this route; the default profile where none is named (PRF-1). */
  readonly profile: ProfileName;
  readonly enabled: boolean;
  /** Empty accepts every event type. */
  readonly events: readonly string[];
  /** Absent: the whole payload is the prompt. */
  readonly prompt?: string;
  readonly filters: readonly ConditionSource[];
  readonly script?: string;
  readonly scriptTimeoutMs: number;
  readonly skills: readonly string[];
  /** Replaces the default toolset when present (DIS-5). */
  readonly toolsets?: readonly string[];
  /** The target as configured: a neutral name or a platform's own (DLV-5). */
  readonly deliver: string;
  readonly deliverExtra: JsonObject;
  readonly deliverOnly: boolean;
  readonly cronJob?: string;
  readonly coalesce?: CoalesceSettings;
  /** Runs of this route at the same time; absent: only the global bound holds. */
  readonly concurrency?: number;
  readonly description?: string;
  readonly createdAt?: string;
}

/** How a route's requests are authenticated. Kept apart from the route so that no context can hold it. */
export type RouteSecret = { readonly kind: 'shared'; readonly secret: string } | { readonly kind: 'insecure' };

export interface RouteWithSecret {
  readonly route: Route;
  readonly secret: RouteSecret;
}
