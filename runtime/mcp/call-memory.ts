/**
 * Stores the last calls of runs, so that a delivery's timeline can list them, and the last calls of each server by any
 * caller. In memory and bounded; a run's complete calls are in its transcript.
 * @see INS-2 and INS-4 in docs/specification.md
 */

import { getOrMake } from '../../machines/base/get-or-make.ts';
import { cut, type Json, stringify } from '../../machines/base/json.ts';
import type { CallOutput } from '../../machines/mcp/tool-call.machine.ts';
import type { ServerCall } from '../control/contract/servers.ts';
import type { Redactor } from '../observe/redact.ts';
import { createRing, type Ring } from '../system/ring.ts';
import type { CallQuestion, LiveCall } from './calls.ts';
import { connectionKey } from './sessions.ts';

export interface CallMemo extends Pick<ServerCall, 'id' | 'tool' | 'caller' | 'outcome' | 'why' | 'tries'> {
  /** The key of the calling run, if any. */
  readonly run?: string;
  readonly profile: string;
  readonly server: string;
  /** The tool reported an error itself. */
  readonly isError: boolean;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The question to a person: its time, verdict and end. */
  readonly question?: CallQuestion;
  /** JSON with secrets redacted, truncated if long. */
  readonly args: string;
  readonly result?: string;
}

interface CallMemory {
  keep(memo: CallMemo): void;
  /** Oldest first. */
  ofRun(run: string): readonly CallMemo[];
  /** Newest first. */
  ofServer(profile: string, server: string): readonly CallMemo[];
  /** Drops the calls of a server, except those of runs. */
  forget(profile: string, server: string): void;
}

const maxOfRuns = 2_000;
const maxOfServer = 200;
/** Stored characters of arguments, and of a result. */
const maxShownLength = 1_000;

export function createCallMemory(): CallMemory {
  const ofRuns = createRing<CallMemo>(maxOfRuns);
  const byServer = new Map<string, Ring<CallMemo>>();
  return {
    keep(memo) {
      if (memo.run !== undefined) ofRuns.push(memo);
      // An unknown tool has no server.
      if (memo.server === '') return;
      getOrMake(byServer, connectionKey(memo.profile, memo.server), () => createRing(maxOfServer)).push(memo);
    },
    ofRun: (run) =>
      ofRuns
        .all()
        .filter((call) => call.run === run)
        .sort((one, other) => one.startedAtMs - other.startedAtMs),
    ofServer: (profile, server) =>
      (byServer.get(connectionKey(profile, server))?.all() ?? []).sort((one, other) => other.endedAtMs - one.endedAtMs),
    forget: (profile, server) => void byServer.delete(connectionKey(profile, server)),
  };
}

export function memoOf(
  { id, name, profile, server, run, fault, tries }: CallOutput,
  {
    startedAtMs,
    endedAtMs,
    call,
    redactor,
  }: {
    readonly startedAtMs: number;
    readonly endedAtMs: number;
    readonly call: LiveCall | undefined;
    readonly redactor: Redactor;
  },
): CallMemo {
  return {
    id,
    ...(run === undefined ? {} : { run }),
    profile,
    caller: call?.request.caller ?? '',
    tool: name,
    server: server ?? '',
    outcome: fault?.code ?? 'result',
    isError: call?.result?.isError === true,
    startedAtMs,
    // The end is never before the start, even if the clock was set back meanwhile.
    endedAtMs: Math.max(startedAtMs, endedAtMs),
    tries,
    args: shortJson(redactor.value(call?.request.args ?? {})),
    ...(call?.question === undefined ? {} : { question: call.question }),
    ...(call?.result === undefined ? {} : { result: shortJson(redactor.value(call.result)) }),
    ...(fault === null ? {} : { why: redactor.text(fault.message) }),
  };
}

function shortJson(value: unknown): string {
  return cut(stringify(value as Json, { limit: maxShownLength }), maxShownLength);
}
