/**
 * Chooses the variable in `.env` for a secret of a server's entry, so that the entry reads its own value and no other reader
 * of the configuration gets it.
 * @see CLI-5 and INT-1 in docs/specification.md
 */

import { isReservedVariable } from '../config/program-variables.ts';
import { variableName } from './secret-places.ts';

export interface Variables {
  /** The variables of `.env`, including planned ones. */
  readonly held: Map<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether another entry reads a variable, even one that is set only for the gateway. */
  readonly isReferred: (variable: string) => boolean;
}

/** Returns a name that only this server's entry refers to: neither the gateway nor another entry reads it. */
export function ownVariable(wanted: string, server: string): string {
  const prefix = variableName(server);
  return `MCP_${wanted.startsWith(`${prefix}_`) ? wanted : `${prefix}_${wanted}`}`;
}

/** Returns the wanted variable, or the first numbered one that has this value in `.env` or is unused. */
export function variableFor(wanted: string, value: string, { held, env, isReferred }: Variables): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}_${number}`;
    const standing = held.get(name) ?? (isReferred(name) ? undefined : env[name]);
    if (isReservedVariable(name) || (standing === undefined ? isReferred(name) : standing !== value)) continue;
    held.set(name, value);
    return name;
  }
}
