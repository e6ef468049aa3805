/**
 * Starts the command of a stdio server in a process group of its own, with the few variables that it may see and its own,
 * and tells a command that is not there from one that the system will not start. Knows nothing of what it says.
 * @see LIF-7, LIF-9 and LIF-10 in docs/specification.md
 */

import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StdioPlan } from '../../machines/mcp/server-settings.ts';
import { findCommand, isFolder, scrubbedEnv, spawnWatched } from '../process-group.ts';
import { SpawnFailure } from './connect-errors.ts';

export interface SpawnRequest {
  readonly server: string;
  readonly plan: StdioPlan;
  readonly cwd: string;
}

/** Throws a SpawnFailure; what the system refuses later comes as the child's `error`. */
export function spawnServer({ server, plan, cwd }: SpawnRequest): ChildProcess {
  const env = scrubbedEnv(plan.env);
  if (!isFolder(cwd)) {
    const message = `mcp server "${server}": ${cwd} is not a folder; its command starts there`;
    throw new SpawnFailure(message, 'ENOTDIR', plan.command);
  }
  const command = findCommand(plan.command, env.PATH ?? '', cwd);
  if (command === undefined) {
    const file = resolve(cwd, plan.command);
    if (plan.command.includes('/') && existsSync(file)) throw notStarted(server, plan.command, whyNot(file));
    const message = `mcp server "${server}": command not found: ${plan.command}; install it, or give its full path in command`;
    throw new SpawnFailure(message, 'ENOENT', plan.command);
  }
  try {
    return spawnWatched(command, plan.args, { cwd, env });
  } catch (thrown) {
    throw notStarted(server, plan.command, thrown);
  }
}

/** What the system would say of a file that is there and cannot be executed. */
function whyNot(file: string): { readonly code: string } {
  return { code: isFolder(file) ? 'EISDIR' : 'EACCES' };
}

/** Node quotes the argument or the environment value that it refuses, so its code has to do. */
export function notStarted(server: string, command: string, thrown: unknown): SpawnFailure {
  const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
  const message = `mcp server "${server}": the system does not start its command (${code}); check command, args and env`;
  return new SpawnFailure(message, code, command);
}
