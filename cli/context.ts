/** What a command is given: its words, the gateway, the home, and where to write. */

import { defaultProfile, type ProfileName, profileName } from '../machines/base/names.ts';
import type { Ask } from '../runtime/control/contract.ts';

/** 130 is 128 and the number of SIGINT, as shells have it. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 130;

/** Where a command reaches its gateway. */
export interface GatewayPlace {
  readonly socket: string;
  /** Undefined in a run, whose program has a socket alone (SEC-4). */
  readonly home: string | undefined;
  /** Another gateway of the same database, which is asked through this one; absent: this one is meant. */
  readonly node?: string;
}

export interface CommandContext {
  readonly args: readonly string[];
  readonly flags: Readonly<Record<string, string | true>>;
  readonly gateway: GatewayPlace;
  /** Throws HomeRefused in a run. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Output;
  /** Asks the daemon, or runs a command of the home here where no daemon runs. */
  readonly ask: Ask;
}

export interface Output {
  readonly isTerminal: boolean;
  readonly coloured: boolean;
  readonly columns: number;
  /** Writes to standard output. */
  print(text: string): void;
  /** Writes to standard error. */
  complain(text: string): void;
}

/** The text of a flag; undefined where it is not given. */
export function textFlag(context: CommandContext, name: string): string | undefined {
  const value = context.flags[name];
  return typeof value === 'string' ? value : undefined;
}

export function hasFlag(context: CommandContext, name: string): boolean {
  return context.flags[name] !== undefined;
}

/** The values of a flag that may be repeated. */
export function listFlag(context: CommandContext, name: string): readonly string[] {
  return textFlag(context, name)?.split('\n') ?? [];
}

/** The profile that is meant; its form was checked with the words. */
export function profileFlag(context: CommandContext): ProfileName {
  return profileName(textFlag(context, 'profile') ?? defaultProfile) ?? defaultProfile;
}
