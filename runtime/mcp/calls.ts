/**
 * The live data of the calls in progress, one row each: arguments, result and the pending promise. Starts a call in its
 * pool and resolves when it has settled.
 * @see LIF-11, LIF-13 and CON-4 in docs/specification.md
 */

import { setMaxListeners } from 'node:events';
import type { Progress } from '../../actors/mcp/direct-calls.ts';
import type { ServerTool } from '../../machines/agent/toolset.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import { type CallFault, gatewayIsNotUp } from '../../machines/mcp/call-faults.ts';
import type { OfferMethod } from '../../machines/mcp/offers.ts';
import type { CallOutput, toolCallMachine } from '../../machines/mcp/tool-call.machine.ts';
import type { ShapedResult } from '../../machines/mcp/tool-result.ts';
import type { ApprovalQuestion } from './approvals.ts';
import type { RegisteredTool } from './registry.ts';
import { connectionKey } from './sessions.ts';

export interface CallRequest {
  readonly profile: string;
  readonly name: string;
  readonly args: JsonObject;
  /** For a utility tool: sends this request itself, with the answer as the `structuredContent` of the result. */
  readonly method?: OfferMethod;
  readonly caller: string;
  /** The name of the calling program, if several of its kind run side by side. */
  readonly program?: string;
  /** Limits the tools of a caller with toolsets. Applied to the resolved tool, whenever it is resolved (SEC-4). */
  readonly allows?: (tool: ServerTool) => boolean;
  /** The key of the calling run, if any. */
  readonly run?: string;
  readonly traceparent?: string;
  /** The model's text with the call. */
  readonly said?: string;
  /** Cancels the call, also at the server. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Called with the id of the question that the call waits for: at once, and every ten seconds while it is open. */
  readonly onWaiting?: (question: string) => void;
}

/** The run or the caller for which a call's open questions are counted (TRU-3). */
export function askerOf({ run, caller, program }: CallRequest): Pick<ApprovalQuestion, 'run' | 'caller'> {
  if (run !== undefined) return { run };
  return { caller: program === undefined ? caller : `${caller}/${program}` };
}

export type CallAnswer =
  | { readonly kind: 'result'; readonly result: ShapedResult }
  | { readonly kind: 'fault'; readonly fault: CallFault };

/** The question to a person: its times and verdict. */
export interface CallQuestion {
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  readonly verdict: string;
}

export interface LiveCall {
  readonly request: CallRequest;
  readonly answer: (answer: CallAnswer) => void;
  /** Unix milliseconds. */
  readonly startedAtMs: number;
  /** The tool as last resolved; a changed listing replaces it. */
  tool: RegisteredTool | undefined;
  result: ShapedResult | undefined;
  approval: string | undefined;
  question: CallQuestion | undefined;
  /** Cancels what was last sent; no effect once that is answered. */
  abandon: (() => void) | undefined;
  /** The connection whose session has the call now. */
  sentTo: string | undefined;
}

/** A call that has not settled, for a delivery's timeline. */
export interface CallUnderWay {
  readonly id: string;
  /** The registered name. */
  readonly tool: string;
  readonly startedAtMs: number;
  /** The open or answered question of the call. */
  readonly approval?: string;
}

export interface Calls {
  start(request: CallRequest): Promise<CallAnswer>;
  /** Ends the calls of which nothing was sent yet; later calls are refused at once, without a question. */
  stop(): void;
  /** After a connection's entry was changed or removed: ends its calls that are not at a session. */
  retire(connection: string, how: 'changed' | 'removed'): void;
  get(id: string): LiveCall | undefined;
  /** The calls in progress of a run, oldest first. */
  ofRun(run: string): readonly CallUnderWay[];
  /** Withdraws the question of a call and cancels what was last sent, as far as either is open. */
  takeBack(id: string): void;
  /** Reports that a call waits for a person. */
  waits(id: string, question: string, isOpen: () => boolean): void;
  /** Called when the chart of a call has ended. */
  settled(id: string, output: CallOutput): void;
  crashed(id: string): void;
}

const stopping: CallFault = { code: 'cancelled', message: 'the gateway stops' };
/** Callers drop a call that is silent for a minute. */
const waitingEveryMs = 10_000;
const notTaken: CallAnswer = { kind: 'fault', fault: gatewayIsNotUp };

/** @param withdraw withdraws the question of a call */
export function createCalls(
  pool: () => ChartPool<typeof toolCallMachine>,
  nowMs: () => number = Date.now,
  withdraw: (approval: string) => void = () => {},
): Calls {
  const rows = new Map<string, LiveCall>();
  let last = 0;
  let stops = false;

  function end(id: string, answer: CallAnswer): void {
    const row = rows.get(id);
    rows.delete(id);
    row?.answer(answer);
  }

  function takeBack(id: string): void {
    const { abandon, approval } = rows.get(id) ?? {};
    abandon?.();
    if (approval !== undefined) withdraw(approval);
  }

  return {
    start: (request) =>
      new Promise((resolve) => {
        last += 1;
        const id = String(last);
        const { profile, name, caller, run, signal } = request;
        const row = {
          request,
          answer: resolve,
          startedAtMs: nowMs(),
          tool: undefined,
          result: undefined,
          approval: undefined,
          question: undefined,
          sentTo: undefined,
          abandon: undefined,
        };
        if (stops) {
          resolve(notTaken);
          return;
        }
        /** Fails before the servers' half runs and after it has ended, when there is no pool. */
        const spawn = (): void => {
          if (pool().spawn(id, { id, profile, name, caller, run }) === undefined) end(id, notTaken);
        };
        if (signal === undefined) {
          rows.set(id, row);
          spawn();
          return;
        }
        const cancel = (): void => {
          if (rows.has(id)) pool().get(id)?.send({ type: 'call.cancel' });
        };
        const answer = (given: CallAnswer): void => {
          signal.removeEventListener('abort', cancel);
          resolve(given);
        };
        rows.set(id, { ...row, answer });
        // A model may make many calls in one turn of its run; each removes its listener.
        setMaxListeners(0, signal);
        // Before the spawn, because a call that ends at once removes the listener.
        signal.addEventListener('abort', cancel, { once: true });
        spawn();
        if (signal.aborted) cancel();
      }),
    stop() {
      stops = true;
      for (const [id, { answer, sentTo }] of rows) {
        const call = pool().get(id);
        // A sent call is settled by its session; one that waits for its turn must not be sent any more.
        if (call === undefined || sentTo !== undefined) continue;
        answer({ kind: 'fault', fault: stopping });
        call.send({ type: 'call.cancel' });
      }
    },
    retire(connection, how) {
      for (const [id, { request, tool, sentTo }] of rows) {
        if (tool === undefined || sentTo !== undefined) continue;
        if (connectionKey(request.profile, tool.server) === connection)
          pool().get(id)?.send({ type: 'server.retired', how });
      }
    },
    get: (id) => rows.get(id),
    takeBack,
    ofRun(run) {
      const found: CallUnderWay[] = [];
      for (const [id, { request, startedAtMs, approval }] of rows) {
        if (request.run !== run) continue;
        found.push({ id, tool: request.name, startedAtMs, ...(approval === undefined ? {} : { approval }) });
      }
      return found;
    },
    waits(id, question, isOpen) {
      const row = rows.get(id);
      const { onWaiting } = row?.request ?? {};
      if (onWaiting === undefined || !isOpen()) return;
      onWaiting(question);
      const ticking = setInterval(() => {
        if (rows.get(id) !== row || !isOpen()) clearInterval(ticking);
        else onWaiting(question);
      }, waitingEveryMs);
      ticking.unref();
    },
    settled(id, { fault }) {
      const result = rows.get(id)?.result;
      if (fault === null && result !== undefined) end(id, { kind: 'result', result });
      else end(id, { kind: 'fault', fault: fault ?? stopping });
    },
    crashed(id) {
      takeBack(id);
      const fault = { code: 'outcome_uncertain', message: 'the call crashed in the gateway; see the log' } as const;
      end(id, { kind: 'fault', fault });
    },
  };
}
