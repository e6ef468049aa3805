/**
 * Runs a route's script with the payload on its standard input. The script lies in the profile's scripts folder, wherever
 * its links lead; it is bounded in time and output and leaves nothing behind.
 * @see SCR-1 and SCR-2 in docs/specification.md
 */

import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { type JsonObject, spell } from '../../machines/base/json.ts';
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

/** Scripts of all routes that run at once; each is three processes. A script's time begins with its place. */
const mostAtOnce = 16;

interface Waiting {
  readonly route: string;
  begin(): void;
}

/** First come, first served, but for those whose route has its share. */
const waiting = new Set<Waiting>();
/** How many scripts of each route run. */
const running = new Map<string, number>();

/** Node 22 strips types when asked, later ones by themselves; an older one refuses the script, which ignores the request. */
const typeFlags = ['--experimental-strip-types'].filter((flag) => process.allowedNodeEnvironmentFlags.has(flag));

export function createRunScript({ scripts, home }: ScriptSettings): RunScript {
  return async ({ route, payload }, signal) => {
    const file = confined(scripts, route.script ?? '');
    if (file === undefined || !isFile(file)) return { kind: 'missing' };
    const argv = interpreted(file);
    if (argv === undefined)
      return { kind: 'missing', why: 'neither executable nor with an interpreter in its first line' };
    const result = await inTurn(`${route.profile}/${route.name}`, signal, () =>
      runCommand({
        argv,
        cwd: home,
        env: scrubbedEnv({ AGENT_ROUTE: route.name, AGENT_PROFILE: route.profile }),
        stdin: spell(payload),
        timeoutMs: route.scriptTimeoutMs,
        maxOutputBytes,
        signal,
      }),
    );
    if (result === undefined) return { kind: 'aborted' };
    if (result.kind === 'exited') return { kind: 'exited', code: result.code, stdout: result.stdout };
    if (result.kind !== 'missing') return { kind: result.kind };
    return { kind: 'missing', why: result.cause ?? `its interpreter "${argv[0]}" is not there or may not be executed` };
  };
}

/** Whether a route may begin one more: it leaves the others at least as many places as it has. */
function hasShare(route: string): boolean {
  let taken = 0;
  for (const count of running.values()) taken += count;
  return (running.get(route) ?? 0) < mostAtOnce - taken;
}

/** Begins work when its route has a place for it; resolves with undefined where the signal aborts before. */
async function inTurn<Value>(
  route: string,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value | undefined> {
  if (!(await havePlace(route, signal))) return undefined;
  try {
    return await work();
  } finally {
    const left = (running.get(route) ?? 0) - 1;
    if (left > 0) running.set(route, left);
    else running.delete(route);
    for (const next of waiting) if (hasShare(next.route)) next.begin();
  }
}

/** Takes a place and resolves with true, or with false where the signal aborts before there is one. */
function havePlace(route: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const begin = (): void => {
      waiting.delete(mine);
      signal.removeEventListener('abort', leave);
      running.set(route, (running.get(route) ?? 0) + 1);
      resolve(true);
    };
    const leave = (): void => {
      waiting.delete(mine);
      resolve(false);
    };
    const mine = { route, begin };
    if (signal.aborted) leave();
    else if (hasShare(route)) begin();
    else {
      waiting.add(mine);
      signal.addEventListener('abort', leave, { once: true });
    }
  });
}

/** The interpreter by the file's extension, else by its first line; a file without one must be executable. */
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

/** Characters of a first line that count, as the kernel reads it. */
const longestFirstLine = 256;

/** `#!interpreter argument`: at most one argument, which may hold spaces, as the kernel reads it. */
function byFirstLine(file: string): readonly string[] | undefined {
  const [line = ''] = beginningOf(file).split('\n');
  const [, interpreter, argument = ''] = /^#!\s*(\S+)(.*)$/s.exec(line) ?? [];
  if (interpreter === undefined) return undefined;
  return argument.trim() === '' ? [interpreter, file] : [interpreter, argument.trim(), file];
}

function beginningOf(file: string): string {
  try {
    const opened = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(longestFirstLine);
      return bytes.toString('utf8', 0, readSync(opened, bytes));
    } finally {
      closeSync(opened);
    }
  } catch {
    return '';
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
