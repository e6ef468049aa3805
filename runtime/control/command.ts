/**
 * What a command of the control socket is: a handler whose result is that of its method in the contract, and the checks of
 * parameters that handlers share.
 * @see CLI-3 and CLI-5 in docs/specification.md
 */

import type { HomeSource } from '../../actors/config/load-config.ts';
import type { FaultCode } from '../../machines/base/fault-catalogue.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { AuditLog } from './audit.ts';
import type { Method, Nodes, Result } from './contract.ts';
import type { HomeDesk } from './home-view.ts';
import { Refusal } from './refusal.ts';
import type { DaemonView } from './view.ts';

export interface CommandHost {
  readonly source: HomeSource;
  /** Of this program. */
  readonly version?: string;
  /** Absent where the command line runs a command of the home by itself. */
  readonly daemon?: DaemonView;
  /** The home that the daemon has in force; absent likewise. */
  readonly desk?: () => HomeDesk;
  /** Absent where nothing is written down. */
  readonly audit?: AuditLog;
  /** Absent where the journal is this gateway's alone. */
  readonly nodes?: Nodes;
  /** Finds the command of a method; in the whole table unless given. */
  readonly commandOf?: (method: string) => Command | undefined;
}

/** The one who asked, for subscriptions. */
export interface CommandPeer {
  /** Params that are a text are JSON already. */
  notify(method: string, params: object | string): void;
  /** Calls back once who asked has left; returns what takes that back. */
  onEnd(end: () => void): () => void;
}

export interface Command<Answer = unknown> {
  /** Commands of the home need no daemon and can be run by the command line itself. */
  readonly access: 'home' | 'daemon';
  readonly run: (params: JsonObject, host: CommandHost, peer: CommandPeer) => Promise<Answer>;
}

/** The commands of all methods, each with the result that the contract names. */
export type Commands = { readonly [M in Method]: Command<Result<M>> };

export function ofHome<Answer>(
  run: (host: CommandHost, params: JsonObject) => Answer | Promise<Answer>,
): Command<Answer> {
  return { access: 'home', run: async (params, host) => run(host, params) };
}

export function ofDaemon<Answer>(
  run: (daemon: DaemonView, params: JsonObject) => Answer | Promise<Answer>,
): Command<Answer> {
  return { access: 'daemon', run: async (params, host) => run(daemonOf(host), params) };
}

export function daemonOf({ daemon }: CommandHost): DaemonView {
  return daemon ?? refuse('gateway-not-running', 'the gateway is not running; start it with `agent gateway`');
}

/** A parameter that is a text; undefined where it is empty, of another type or missing. */
export function optionalText(params: JsonObject, name: string): string | undefined {
  const value = params[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Throws a Refusal where the parameter is no text, or an empty one. */
export function textOf(params: JsonObject, name: string): string {
  return optionalText(params, name) ?? refuse('params-missing', `the parameter "${name}" is missing`);
}

export function refuse(code: FaultCode, message: string): never {
  throw new Refusal(code, message);
}
