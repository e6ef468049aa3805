/**
 * What the doctor finds: how bad, where, what, and how to fix it. Some findings can be fixed without harm by the doctor
 * itself; those bring the fix with them.
 * @see CLI-2 in docs/specification.md
 */

import type { LoadedHome } from '../../actors/config/load-config.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { HomePaths } from '../../machines/config/profile.ts';

/** What is looked at; the order of the report. */
export const areas = [
  'engine',
  'home',
  'lock',
  'config',
  'secrets',
  'port',
  'store',
  'clock',
  'agent',
  'servers',
  'targets',
] as const;
export type Area = (typeof areas)[number];

/** Stable codes, which scripts may match on; docs/doctor.md tells each. */
export const findingCodes = [
  'node-old',
  'native-missing',
  'front-fallback',
  'home-missing',
  'path-open',
  'path-foreign',
  'path-unwritable',
  'script-writable',
  'lock-stale',
  'lock-hung',
  'socket-stale',
  'config-finding',
  'config-refused',
  'subscription-finding',
  'secret-weak',
  'secret-open',
  'unsigned-route',
  'port-taken',
  'port-refused',
  'not-listening',
  'bound-widely',
  'store-fault',
  'database-loses',
  'disk-low',
  'clock-skew',
  'clock-unknown',
  'command-missing',
  'server-unreachable',
  'server-login',
  'server-tools',
  'server-waiting',
  'target-unreachable',
  'not-asked',
] as const;
export type FindingCode = (typeof findingCodes)[number];

export type Finding =
  /** Looked at, and nothing is wrong. */
  | { readonly level: 'good'; readonly area: Area; readonly what: string }
  | {
      /** A note wants nothing; a warning may become wrong; what is wrong stops the gateway or a part of it. */
      readonly level: 'note' | 'warning' | 'wrong';
      readonly area: Area;
      readonly code: FindingCode;
      readonly place: string;
      readonly what: string;
      readonly cure: string;
      readonly mend?: () => void | Promise<void>;
    };

export type Trouble = Exclude<Finding, { readonly level: 'good' }>;

/** What the checks look at. */
export interface Examined {
  readonly home: LoadedHome;
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of this program. */
  readonly version: string;
  /** Asks nothing beyond this machine. */
  readonly offline: boolean;
  /** The running gateway; undefined where none answers. */
  readonly gateway: RunningGateway | undefined;
}

export interface RunningGateway {
  readonly status: JsonObject;
  /** Undefined where it refuses or knows no such method. */
  ask(method: string, params?: JsonObject): Promise<Json | undefined>;
}

export function good(area: Area, what: string): Finding {
  return { level: 'good', area, what };
}

/** A path as people write it: below the home by its own name. */
export function placeIn(home: string, path: string): string {
  return path.startsWith(`${home}/`) ? path.slice(home.length + 1) : path;
}
