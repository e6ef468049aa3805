/**
 * Runs a route's script with the payload on its standard input. The script lies in the profile's scripts folder, wherever
 * its links lead; it is bounded in time and output and leaves nothing behind.
 * @see SCR-1 and SCR-2 in docs/specification.md
 */

import { accessSync, constants, statSync } from 'node:fs';
import { extname } from 'node:path';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Route } from '../../machines/config/route.ts';
import type { ScriptResult } from '../../machines/webhook/script-outcome.ts';
import { confined } from '../confine.ts';
import { runCommand, scrubbedEnv } from '../process-group.ts';

export interface ScriptSettings {
  /** The profile's scripts folder. */
  readonly scripts: string;
  /** Where scripts run. */
  readonly home: string;
}

export type RunScript = (
  input: { readonly route: Route; readonly payload: JsonObject },
  signal: AbortSignal,
) => Promise<ScriptResult>;

const maxOutputBytes = 1_048_576;

/** Node 22 strips types when asked, later ones by themselves; an older one refuses the script, which ignores the request. */
const typeFlags = ['--experimental-strip-types'].filter((flag) => process.allowedNodeEnvironmentFlags.has(flag));

export function createRunScript({ scripts, home }: ScriptSettings): RunScript {
  return async ({ route, payload }, signal) => {
    const file = confined(scripts, route.script ?? '');
    const argv = file === undefined || !isFile(file) ? undefined : interpreted(file);
    if (argv === undefined) return { kind: 'missing' };
    const result = await runCommand({
      argv,
      cwd: home,
      env: scrubbedEnv({ AGENT_ROUTE: route.name, AGENT_PROFILE: route.profile }),
      stdin: JSON.stringify(payload),
      timeoutMs: route.scriptTimeoutMs,
      maxOutputBytes,
      signal,
    });
    return result.kind === 'exited'
      ? { kind: 'exited', code: result.code, stdout: result.stdout }
      : { kind: result.kind };
  };
}

/** The interpreter by the file's extension; other files must be executable and name theirs in their first line. */
function interpreted(file: string): readonly string[] | undefined {
  switch (extname(file)) {
    case '.sh':
    case '.bash':
      return ['bash', file];
    case '.js':
    case '.mjs':
      return [process.execPath, file];
    case '.ts':
      return [process.execPath, ...typeFlags, file];
    case '.py':
      return ['python3', file];
    default:
      return isExecutable(file) ? [file] : undefined;
  }
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
