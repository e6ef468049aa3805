/**
 * The type of a command of the control socket, a handler with the result of its method in the contract, and the checks of
 * parameters that handlers share. A command that `isOfHome` may run without a daemon.
 * @see CLI-3 and CLI-5 in docs/specification.md
 */

import type { HomeSource } from '../../actors/config/load-config.ts';
import { cutWithMark, isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { AuditLog } from '../observe/audit.ts';
import type { Nodes } from './contract/gateway.ts';
import { refuse } from './contract/refusal.ts';
import type { Method, Result } from './contract.ts';
import type { RoutedHome } from './home-view.ts';
import type { DaemonView } from './view.ts';

const maxShownLength = 80;

export interface CommandHost {
  readonly source: HomeSource;
  readonly version?: string;
  /** Absent if the command line runs a command of the home by itself. */
  readonly daemon?: DaemonView;
  /** The home that the daemon has in force; absent without a daemon. */
  readonly inForce?: () => RoutedHome;
  /** Absent if changes are not recorded. */
  readonly audit?: AuditLog;
  /** Absent unless the journal is shared. */
  readonly nodes?: Nodes;
  /** Finds the command of a method; by default in the complete table. */
  readonly commandOf?: (method: string) => Command | undefined;
}

/** The connection of the caller, for subscriptions. */
export interface CommandPeer {
  /** Params that are a string are already JSON. */
  notify(method: string, params: object | string): void;
  /** Calls back once when the peer has left, at once if it has; returns a function that cancels this. */
  onEnd(end: () => void): () => void;
}

export type Command<Answer = unknown> = (
  host: CommandHost,
  params: JsonObject,
  peer: CommandPeer,
) => Answer | Promise<Answer>;

export type Commands = { readonly [M in Method]: Command<Result<M>> };

export function ofDaemon<Answer>(
  run: (daemon: DaemonView, params: JsonObject) => Answer | Promise<Answer>,
): Command<Answer> {
  return (host, params) => run(daemonOf(host), params);
}

export function daemonOf({ daemon }: CommandHost): DaemonView {
  return daemon ?? refuse('gateway-not-running', 'the gateway is not running');
}

/** A string parameter; undefined if it is empty or missing. Throws a Refusal if it is of another type. */
export function optionalText(params: JsonObject, name: string): string | undefined {
  return givenText(params, name) || undefined;
}

/** As `optionalText`, but an empty text is one. */
export function givenText(params: JsonObject, name: string): string | undefined {
  const value = params[name] ?? undefined;
  return value === undefined || typeof value === 'string' ? value : invalidParameter(params, name, 'a text');
}

/** Throws a Refusal if the parameter is not a string, or empty. */
export function textOf(params: JsonObject, name: string): string {
  return optionalText(params, name) ?? refuse('params-missing', `the parameter "${name}" is missing`);
}

/** Refuses a parameter by its name, what is allowed, and what was given: of an object or list its kind alone. */
export function invalidParameter(params: JsonObject, name: string, allowed: string): never {
  const value = params[name] ?? null;
  const kind = Array.isArray(value) ? 'a list' : 'an object';
  const given = isJsonObject(value) || Array.isArray(value) ? kind : cutWithMark(JSON.stringify(value), maxShownLength);
  return refuse('params-missing', `the parameter "${name}" must be ${allowed}, not ${given}`);
}
