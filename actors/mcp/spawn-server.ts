/**
 * Starts the command of a stdio server in its own process group, with the allowed environment variables and its own ones.
 * Distinguishes a missing command from one that the system refuses to start.
 * @see LIF-7, LIF-9 and LIF-10 in docs/specification.md
 */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StdioPlan } from '../../machines/mcp/server-settings.ts';
import { findCommand, isFolder, scrubbedEnv, spawnWatched, type Watched } from '../process-group.ts';
import { ConnectError } from './connect-errors.ts';

interface SpawnRequest {
  readonly server: string;
  readonly plan: StdioPlan;
  readonly cwd: string;
}

/** Throws a ConnectError; later failures come as the child's `error` event. */
export function spawnServer({ server, plan, cwd }: SpawnRequest): Watched {
  const env = scrubbedEnv(plan.env);
  if (!isFolder(cwd)) {
    const message = `mcp server "${server}": ${cwd} is not a folder; its command starts there`;
    throw new ConnectError({ kind: 'spawn', code: 'ENOTDIR', command: plan.command }, message);
  }
  const command = findCommand(plan.command, env.PATH ?? '', cwd);
  if (command === undefined) {
    const file = resolve(cwd, plan.command);
    if (plan.command.includes('/') && existsSync(file)) throw notStarted(server, plan.command, whyNot(file));
    const message = `mcp server "${server}": command not found in the gateway's PATH: ${plan.command}; install it, or give its full path in command`;
    throw new ConnectError({ kind: 'spawn', code: 'ENOENT', command: plan.command }, message);
  }
  try {
    return spawnWatched(command, plan.args, { cwd, env });
  } catch (thrown) {
    throw notStarted(server, plan.command, thrown);
  }
}

/** The system's code for a file that exists but cannot be executed. */
function whyNot(file: string): { readonly code: string } {
  return { code: isFolder(file) ? 'EISDIR' : 'EACCES' };
}

/** Node's error quotes the refused argument or environment value, so only its code is used. */
export function notStarted(server: string, command: string, thrown: unknown): ConnectError {
  const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
  const message = `mcp server "${server}": the system does not start its command (${code}); check command, args and env`;
  return new ConnectError({ kind: 'spawn', code, command }, message);
}
