/**
 * Remembers the last calls that runs have made, so that a delivery's story can name them. In memory and bounded: what a
 * run said to its model in full is the transcript's to keep.
 * @see INS-2 in docs/specification.md
 */

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
}

export interface CallMemory {
  keep(memo: CallMemo): void;
  /** Oldest first. */
  ofRun(run: string): readonly CallMemo[];
}

const mostCalls = 2_000;

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
