/**
 * Remembers the last calls that runs have made, so that a delivery's story can name them, and the last calls of each server,
 * by any caller. In memory and bounded: what a run said to its model in full is the transcript's to keep.
 * @see INS-2 and INS-4 in docs/specification.md
 */

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
