/**
 * Remembers the last calls that runs have made, so that a delivery's story can name them. In memory and bounded: what a
 * run said to its model in full is the transcript's to keep.
 * @see INS-2 in docs/specification.md
 */

import { cut, type Json, spell } from '../../machines/base/json.ts';
import type { CallOutput } from '../../machines/mcp/tool-call.machine.ts';
import type { Redactor } from '../observe/redact.ts';
import type { CallQuestion, LiveCall } from './calls.ts';

export interface CallMemo {
  readonly id: string;
  /** The key of the run that called. */
  readonly run: string;
  /** The registered name. */
  readonly tool: string;
  readonly server: string;
  /** `result`, or the code of why there is none. */
  readonly outcome: string;
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
}

const mostCalls = 2_000;
/** Characters of arguments, and of a result, that are remembered. */
const longestShown = 1_000;

export function createCallMemory(): CallMemory {
  const calls: CallMemo[] = [];
  let next = 0;
  return {
    keep(memo) {
      if (calls.length < mostCalls) calls.push(memo);
      else calls[next] = memo;
      next = (next + 1) % mostCalls;
    },
    ofRun: (run) => calls.filter((call) => call.run === run).sort((one, other) => one.startedAtMs - other.startedAtMs),
  };
}

/** Returns the memo of a call of a run that has ended. */
export function memoOf(
  { id, name, server, fault, tries }: CallOutput,
  run: string,
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
    run,
    tool: name,
    server: server ?? '',
    outcome: fault?.code ?? 'result',
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
