/**
 * Remembers the last calls that runs have made, so that a delivery's story can name them, and the last calls of each server,
 * by any caller. In memory and bounded: what a run said to its model in full is the transcript's to keep.
 * @see INS-2 and INS-4 in docs/specification.md
 */

import { cut, type Json, spell } from '../../machines/base/json.ts';
import type { CallOutput } from '../../machines/mcp/tool-call.machine.ts';
import type { Redactor } from '../observe/redact.ts';
import type { CallQuestion, LiveCall } from './calls.ts';
import { connectionKey } from './sessions.ts';

export interface CallMemo {
  readonly id: string;
  /** The key of the run that called, where one did. */
  readonly run?: string;
  readonly caller: string;
  readonly profile: string;
  /** The registered name. */
  readonly tool: string;
  readonly server: string;
  /** `result`, or the code of why there is none. */
  readonly outcome: string;
  /** The result is the tool's own error. */
  readonly isError: boolean;
  readonly why?: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** How often it was given to a session. */
  readonly tries: number;
  /** Since when a person was asked for it, and how and when that ended. */
  readonly question?: CallQuestion;
  /** As JSON, secrets redacted; the beginning of a long one. */
  readonly args: string;
  readonly result?: string;
}

export interface CallMemory {
  keep(memo: CallMemo): void;
  /** Oldest first. */
  ofRun(run: string): readonly CallMemo[];
  /** Newest first. */
  ofServer(profile: string, server: string): readonly CallMemo[];
}

const mostOfRuns = 2_000;
const mostOfServer = 200;
/** Characters of arguments, and of a result, that are remembered. */
const longestShown = 1_000;

export function createCallMemory(): CallMemory {
  const ofRuns = createRing(mostOfRuns);
  const byServer = new Map<string, Ring>();
  return {
    keep(memo) {
      if (memo.run !== undefined) ofRuns.add(memo);
      // A tool that is not found belongs to no server.
      if (memo.server === '') return;
      const key = connectionKey(memo.profile, memo.server);
      const ring = byServer.get(key) ?? createRing(mostOfServer);
      byServer.set(key, ring);
      ring.add(memo);
    },
    ofRun: (run) =>
      ofRuns.all.filter((call) => call.run === run).sort((one, other) => one.startedAtMs - other.startedAtMs),
    ofServer: (profile, server) =>
      [...(byServer.get(connectionKey(profile, server))?.all ?? [])].sort(
        (one, other) => other.endedAtMs - one.endedAtMs,
      ),
  };
}

interface Ring {
  add(memo: CallMemo): void;
  /** In no order. */
  readonly all: readonly CallMemo[];
}

function createRing(most: number): Ring {
  const all: CallMemo[] = [];
  let next = 0;
  return {
    all,
    add(memo) {
      if (all.length < most) all.push(memo);
      else all[next] = memo;
      next = (next + 1) % most;
    },
  };
}

/** Returns the memo of a call that has ended. */
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
    // A clock that is set back meanwhile makes no call end before it began.
    endedAtMs: Math.max(startedAtMs, endedAtMs),
    tries,
    args: shortJson(redactor.value(call?.request.args ?? {})),
    ...(call?.question === undefined ? {} : { question: call.question }),
    ...(call?.result === undefined ? {} : { result: shortJson(redactor.value(call.result)) }),
    ...(fault === null ? {} : { why: redactor.text(fault.message) }),
  };
}

function shortJson(value: unknown): string {
  return cut(spell(value as Json, { limit: longestShown }), longestShown);
}
