/**
 * Runs a route's script with the payload on its standard input. The script must be in the profile's scripts folder, with
 * links resolved. It is limited in time and output and leaves no process behind.
 * @see SCR-1 and SCR-2 in docs/specification.md
 */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { type JsonObject, stringify } from '../../machines/base/json.ts';
import type { Route } from '../../machines/config/route.ts';
import type { ScriptResult } from '../../machines/webhook/script-outcome.ts';
import { confined } from '../confine.ts';
import { isExhausted } from '../exhaustion.ts';
import { endOf, isExecutable, runCommand, scrubbedEnv } from '../process-group.ts';

interface ScriptSettings {
  /** The profile's scripts folder. */
  readonly scripts: string;
  /** The working directory of scripts. */
  readonly home: string;
}

export type RunScript = (
  input: { readonly route: Route; readonly payload: JsonObject },
  signal: AbortSignal,
) => Promise<ScriptResult>;

const maxOutputBytes = 1_048_576;
/** Characters of standard error that a reason quotes. */
const keptError = 500;

/**
 * Node 22 strips types with this flag, later versions by default. An older Node lacks the flag and fails on a typed
 * script.
 */
const typeFlags = ['--experimental-strip-types'].filter((flag) => process.allowedNodeEnvironmentFlags.has(flag));

export function createRunScript({ scripts, home }: ScriptSettings): RunScript {
  return async ({ route, payload }, signal) => {
    const file = confined(scripts, route.script ?? '');
    if (file === undefined || !isFile(file)) return { kind: 'missing' };
    let argv: readonly string[] | undefined;
    try {
      argv = interpreted(file);
    } catch (thrown) {
      return { kind: 'notBegun', why: causeOf(thrown) };
    }
    if (argv === undefined)
      return { kind: 'missing', why: 'neither executable nor with an interpreter in its first line' };
    const result = await runCommand({
      argv,
      cwd: home,
      env: scrubbedEnv({ AGENT_ROUTE: route.name, AGENT_PROFILE: route.profile }),
      stdin: stringify(payload),
      timeoutMs: route.scriptTimeoutMs,
      maxOutputBytes,
      signal,
    });
    if (result.kind === 'exited') {
      return { kind: 'exited', code: result.code, stdout: result.stdout, stderr: endOf(result.stderr, keptError) };
    }
    if (result.kind === 'timedOut')
      return { kind: 'timedOut', afterMs: route.scriptTimeoutMs, stderr: endOf(result.stderr, keptError) };
    if (result.kind === 'notBegun') return { kind: 'notBegun', why: result.cause };
    if (result.kind !== 'missing') return { kind: result.kind };
    return { kind: 'missing', why: result.cause ?? `its interpreter "${argv[0]}" is not there or may not be executed` };
  };
}

/** The interpreter, by the file's extension, else by its first line; a file without one must be executable. */
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
      return isExecutable(file) ? [file] : byFirstLine(file);
  }
}

/** Characters of the first line that count, as in the kernel. */
const maxFirstLineLength = 256;

/** `#!interpreter argument`: at most one argument, which may contain spaces, as in the kernel. */
function byFirstLine(file: string): readonly string[] | undefined {
  const [line = ''] = beginningOf(file).split('\n');
  const [, interpreter, argument = ''] = /^#!\s*(\S+)(.*)$/s.exec(line) ?? [];
  if (interpreter === undefined) return undefined;
  return argument.trim() === '' ? [interpreter, file] : [interpreter, argument.trim(), file];
}

/** Throws if the system has no descriptor left. */
function beginningOf(file: string): string {
  try {
    const opened = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(maxFirstLineLength);
      return bytes.toString('utf8', 0, readSync(opened, bytes));
    } finally {
      closeSync(opened);
    }
  } catch (thrown) {
    if (isExhausted(thrown)) throw thrown;
    return '';
  }
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}
