/**
 * The live data of the servers' requests, one row each: params, answer, and the times of admitted model requests per
 * server. Spawns the chart and resolves when the server has its answer.
 * @see SRV-1 and SRV-2 in docs/specification.md
 */

import type { AskingCall } from '../../actors/mcp/open-calls.ts';
import type { RequestAnswer, RequestHandlers } from '../../actors/mcp/open-session.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import type { ServerRequestInput, serverRequestMachine } from '../../machines/mcp/server-request.machine.ts';
import { maxUnfilled } from '../../machines/mcp/server-request.ts';

export interface LiveServerRequest {
  /** The profile and the server. */
  readonly of: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** The unfinished calls that the request may belong to; undefined if it belongs to none. */
  readonly during: Set<string> | undefined;
  readonly answer: (answer: RequestAnswer) => void;
  /** Resumes the timeouts of the calls. */
  readonly release: () => void;
  /** The values of the person, or the answer of the model. */
  made: JsonObject | undefined;
  /** What a person sees of a form; undefined until it is admitted, and if too many questions are open. */
  form: { readonly message: string; readonly requestedSchema: Json } | undefined;
  /** The approval that a form waits for. */
  question: string | undefined;
  /** The policy's limits for a model request. */
  admitted: { readonly model?: string; readonly maxTokens: number } | undefined;
}

export interface ServerRequests {
  handlersOf(profile: string, server: string): RequestHandlers;
  get(id: string): LiveServerRequest | undefined;
  /** The times of a server's admitted model requests in the last minute, by the steady clock. */
  recent(profile: string, server: string): number[];
  waiting(profile: string, server: string): number;
  /** How many forms of its server without a call wait for a person; 0 if the request belongs to a call. */
  unbidden(id: string): number;
  /**
   * How many forms were shown during the request's calls and not filled in; with several calls the smallest number, and 0
   * for a request without a call.
   */
  unfilled(id: string): number;
  answered(id: string, answer: RequestAnswer): void;
  /** Cancels the requests that belong only to this call, because it has ended. */
  callEnded(call: string): void;
  /** Answers a request whose chart crashed, so that the server does not wait for ever. */
  crashed(id: string): void;
}

interface Asked {
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  readonly calls: readonly AskingCall[];
}

const windowMs = 60_000;

/** @param withdraw withdraws the question of a form */
export function createServerRequests(
  pool: () => ChartPool<typeof serverRequestMachine>,
  steadyMs: () => number,
  withdraw: (approval: string) => void = () => {},
): ServerRequests {
  const rows = new Map<string, LiveServerRequest>();
  const times = new Map<string, number[]>();
  /** By call, the forms that a person was shown and did not fill in. */
  const unfilled = new Map<string, number>();
  let last = 0;

  /**
   * The calls that a form may be for: those with fewer unfilled forms than the limit, if any. The others' timeouts are
   * not paused, so a server cannot hold a call by asking during other calls.
   */
  function mayBeFor(calls: readonly AskingCall[]): readonly AskingCall[] {
    const eligible = calls.filter(({ id }) => (unfilled.get(id ?? '') ?? 0) < maxUnfilled);
    return eligible.length > 0 ? eligible : calls;
  }

  function start(input: Omit<ServerRequestInput, 'id'>, { params, signal, calls }: Asked): Promise<RequestAnswer> {
    return new Promise((resolve) => {
      last += 1;
      const id = `q${last}`;
      const cancel = (): void => void pool().get(id)?.send({ type: 'request.cancel' });
      const answer = (given: RequestAnswer): void => {
        signal.removeEventListener('abort', cancel);
        resolve(given);
      };
      const isForm = input.kind === 'elicitation';
      const asking = isForm ? mayBeFor(calls) : calls;
      const during = new Set(asking.flatMap((call) => call.id ?? []));
      // Only a wait for a person pauses the timeouts.
      const holds = isForm ? asking.map((call) => call.hold()) : [];
      rows.set(id, {
        during: during.size === 0 ? undefined : during,
        of: keyOf(input.profile, input.server),
        params,
        signal,
        answer,
        release: () => {
          for (const release of holds) release();
        },
        made: undefined,
        form: undefined,
        question: undefined,
        admitted: undefined,
      });
      if (pool().spawn(id, { ...input, id }) === undefined) {
        answered(id, { kind: 'refused', reason: 'the gateway stops' });
        return;
      }
      // A server may cancel its request immediately.
      if (signal.aborted) cancel();
      else signal.addEventListener('abort', cancel, { once: true });
    });
  }

  function answered(id: string, answer: RequestAnswer): void {
    const row = rows.get(id);
    rows.delete(id);
    row?.release();
    if (row?.form !== undefined && row.made === undefined)
      for (const call of row.during ?? []) unfilled.set(call, (unfilled.get(call) ?? 0) + 1);
    row?.answer(answer);
  }

  return {
    handlersOf: (profile, server) => ({
      elicit: (params, signal, calls) => start({ profile, server, kind: 'elicitation' }, { params, signal, calls }),
      sample: (params, signal, calls) => start({ profile, server, kind: 'sampling' }, { params, signal, calls }),
    }),
    get: (id) => rows.get(id),
    recent(profile, server) {
      const key = keyOf(profile, server);
      const sinceMs = steadyMs() - windowMs;
      const kept = (times.get(key) ?? []).filter((atMs) => atMs > sinceMs);
      times.set(key, kept);
      return kept;
    },
    waiting(profile, server) {
      let count = 0;
      for (const { of, question } of rows.values())
        if (question !== undefined && of === keyOf(profile, server)) count += 1;
      return count;
    },
    unbidden(id) {
      const row = rows.get(id);
      if (row === undefined || row.during !== undefined) return 0;
      return [...rows.values()].filter(
        ({ of, during, question }) => of === row.of && during === undefined && question !== undefined,
      ).length;
    },
    unfilled(id) {
      const calls = [...(rows.get(id)?.during ?? [])];
      return calls.length === 0 ? 0 : Math.min(...calls.map((call) => unfilled.get(call) ?? 0));
    },
    answered,
    callEnded(call) {
      unfilled.delete(call);
      for (const [id, { during }] of rows) {
        if (during?.delete(call) === true && during.size === 0) pool().get(id)?.send({ type: 'request.cancel' });
      }
    },
    crashed(id) {
      const question = rows.get(id)?.question;
      if (question !== undefined) withdraw(question);
      answered(id, { kind: 'refused', reason: 'the request crashed in the gateway; see its log' });
    },
  };
}

function keyOf(profile: string, server: string): string {
  return `${profile}/${server}`;
}
