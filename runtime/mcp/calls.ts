/**
 * The live side of the calls under way: arguments, results and whoever waits, one row a call. Starts a call in its ward
 * and resolves when that has settled.
 * @see LIF-11, LIF-13 and CON-4 in docs/specification.md
 */

import type { Progress } from '../../actors/mcp/direct-calls.ts';
import type { ServerTool } from '../../machines/agent/toolset.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { WardHandle } from '../../machines/base/ward.ts';
import { type CallFault, gatewayIsNotUp } from '../../machines/mcp/call-faults.ts';
import type { OfferMethod } from '../../machines/mcp/offers.ts';
import type { CallInput, CallOutput } from '../../machines/mcp/tool-call.machine.ts';
import type { ShapedResult } from '../../machines/mcp/tool-result.ts';
import type { Question } from './approvals.ts';
import type { RegisteredTool } from './registry.ts';
import { connectionKey } from './sessions.ts';

export interface CallRequest {
  readonly profile: string;
  readonly name: string;
  readonly args: JsonObject;
  /** Of the name of a utility: makes its request itself, whose answer is the `structuredContent` of the result. */
  readonly method?: OfferMethod;
  readonly caller: string;
  /** Which program of its kind calls, where several run side by side. */
  readonly program?: string;
  /** The tools that a caller bound to toolsets may use. Judged by the tool that is found, whenever that is (SEC-4). */
  readonly allows?: (tool: ServerTool) => boolean;
  /** The key of the run that calls, where one does. */
  readonly run?: string;
  /** The trace that the call belongs to. */
  readonly traceparent?: string;
  /** What the model said when it asked for the call. */
  readonly said?: string;
  /** Cancels the call, on the wire too. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Called with the question that a person is asked for the call: at once, and every ten seconds while it is open. */
  readonly onWaiting?: (question: string) => void;
}

/** The run or the caller by which the open questions of a call are counted (TRU-3). */
export function askerOf({ run, caller, program }: CallRequest): Pick<Question, 'run' | 'caller'> {
  if (run !== undefined) return { run };
  return { caller: program === undefined ? caller : `${caller}/${program}` };
}

export type CallAnswer =
  | { readonly kind: 'result'; readonly result: ShapedResult }
  | { readonly kind: 'fault'; readonly fault: CallFault };

/** When a person was asked for a call, and how and when that ended. */
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
  /** As it was found last; a listing that changed has another in its place. */
  tool: RegisteredTool | undefined;
  result: ShapedResult | undefined;
  approval: string | undefined;
  /** How and when a person was asked for it. */
  question: CallQuestion | undefined;
  /** Takes back what was sent last; harmless once that is answered. */
  abandon: (() => void) | undefined;
  /** The connection whose session has it now. */
  sentTo: string | undefined;
}

/** A call that has not settled, as a delivery's story tells it. */
export interface CallUnderWay {
  readonly id: string;
  /** The registered name. */
  readonly tool: string;
  readonly startedAtMs: number;
  /** The approval that was asked for it. */
  readonly approval?: string;
}

export interface Calls {
  start(request: CallRequest): Promise<CallAnswer>;
  /** Ends the calls of which nothing was sent yet; whoever comes later is refused at once, and nobody is asked for it. */
  stop(): void;
  /** The entry of a connection is another, or none: ends its calls that no session has. */
  retire(connection: string, how: 'changed' | 'removed'): void;
  get(id: string): LiveCall | undefined;
  /** What a run has under way, oldest first. */
  ofRun(run: string): readonly CallUnderWay[];
  /** A person is asked for a call. */
  waits(id: string, question: string, isOpen: () => boolean): void;
  /** The chart of a call has ended. */
  settled(id: string, output: CallOutput): void;
  crashed(id: string): void;
}

const stopping: CallFault = { code: 'cancelled', message: 'the gateway stops' };
/** Callers give up on a call that is silent for a minute. */
const waitingEveryMs = 10_000;
const notTaken: CallAnswer = { kind: 'fault', fault: gatewayIsNotUp };

/** @param withdraw takes back the question that a call asked */
export function createCalls(
  ward: () => WardHandle<CallInput>,
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
        /** There is no ward before the servers' half stands, nor when it has ended. */
        const spawn = (): void => {
          if (ward().spawn(id, { id, profile, name, caller, run }) === undefined) end(id, notTaken);
        };
        if (signal === undefined) {
          rows.set(id, row);
          spawn();
          return;
        }
        const cancel = (): void => {
          if (rows.has(id)) ward().get(id)?.send({ type: 'call.cancel' });
        };
        const answer = (given: CallAnswer): void => {
          signal.removeEventListener('abort', cancel);
          resolve(given);
        };
        rows.set(id, { ...row, answer });
        // Before the call may end, which takes it away again.
        signal.addEventListener('abort', cancel, { once: true });
        spawn();
        if (signal.aborted) cancel();
      }),
    stop() {
      stops = true;
      for (const [id, { answer, sentTo }] of rows) {
        const call = ward().get(id);
        // What was sent hears from its session how it ended; what waits for its turn would be sent yet.
        if (call === undefined || sentTo !== undefined) continue;
        answer({ kind: 'fault', fault: stopping });
        call.send({ type: 'call.cancel' });
      }
    },
    retire(connection, how) {
      for (const [id, { request, tool, sentTo }] of rows) {
        if (tool === undefined || sentTo !== undefined) continue;
        if (connectionKey(request.profile, tool.server) === connection)
          ward().get(id)?.send({ type: 'server.retired', how });
      }
    },
    get: (id) => rows.get(id),
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
      const row = rows.get(id);
      row?.abandon?.();
      // A yes to it would start nothing.
      if (row?.approval !== undefined) withdraw(row.approval);
      const fault = { code: 'outcome_uncertain', message: 'the call crashed in the gateway; see the log' } as const;
      end(id, { kind: 'fault', fault });
    },
  };
}
