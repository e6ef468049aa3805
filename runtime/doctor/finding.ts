/**
 * A finding of the doctor: level, place, cause and fix. Some findings can be fixed without harm by the doctor; those
 * carry the fix.
 * @see CLI-2 in docs/specification.md
 */

import type { LoadedHome } from '../../actors/config/load-config.ts';
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import type { HomePaths } from '../../machines/config/profile.ts';
import type { GatewayStatus } from '../control/contract/gateway.ts';
import type { Method, Params, Result } from '../control/contract.ts';
import { createSourceReader } from '../webhook/route-sources.ts';
import type { RouteSources } from '../webhook/route-table.ts';

/** Stable codes, which scripts may match on; docs/doctor.md describes each. */
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
  'restart-needed',
  'runs-held',
  'not-checked',
  'subscription-finding',
  'cron-finding',
  'secret-weak',
  'secret-open',
  'unsigned-route',
  'port-taken',
  'port-refused',
  'not-listening',
  'bound-widely',
  'store-fault',
  'database-loses',
  'database-waits',
  'disk-low',
  'disk-remote',
  'clock-skew',
  'node-shared',
  'clock-unknown',
  'command-missing',
  'server-unreachable',
  'server-login',
  'server-tools',
  'server-waiting',
  'target-unreachable',
  'not-asked',
] as const;
type FindingCode = (typeof findingCodes)[number];

export type Finding =
  /** Checked, with no finding. */
  | { readonly level: 'good'; readonly what: string }
  | {
      /** A note needs no action; a warning may become a fault; `wrong` stops the gateway or a part of it. */
      readonly level: 'note' | 'warning' | 'wrong';
      readonly code: FindingCode;
      readonly place: string;
      readonly what: string;
      readonly cure: string;
      readonly fix?: () => void | Promise<void>;
    };

export type Trouble = Exclude<Finding, { readonly level: 'good' }>;

/** The input of the checks. */
export interface Examined {
  readonly home: LoadedHome;
  /** Findings of the configuration, as the environment of the running gateway has it, if one runs. */
  readonly diagnostics: readonly Diagnostic[];
  readonly paths: HomePaths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Contacts only this machine. */
  readonly offline: boolean;
  /** The running gateway; undefined if none answers. */
  readonly gateway: RunningGateway | undefined;
}

export interface RunningGateway {
  readonly status: GatewayStatus;
  /** Undefined if the gateway refuses, or has no such method. */
  ask<M extends Method>(method: M, params?: Params<M>): Promise<Result<M> | undefined>;
}

export function good(what: string): Finding {
  return { level: 'good', what };
}

/** The routes of the home's files; what is read is not kept. */
export function routesIn(home: LoadedHome): RouteSources {
  return createSourceReader({ log: { log: () => {}, warnOnce: () => {} }, learn: () => {} }).read(home);
}

/** A path as people write it: relative to the home if it is below it. */
export function placeIn(home: string, path: string): string {
  return path.startsWith(`${home}/`) ? path.slice(home.length + 1) : path;
}
