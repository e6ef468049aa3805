/**
 * The open calls of one session, and which of them a request of the server belongs to: the call on whose stream, or in
 * whose answer, it arrived, if each request has its own; else the only open call; else any of them. A request for an
 * ended call is not assigned to another. The SDK calls the handler of a request without its stream, so the asynchronous
 * context of the call carries it.
 * @see TRU-5 and SRV-1 in docs/specification.md
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type Handler, methodIn } from './adapt-transport.ts';
import { createCallClock } from './call-clock.ts';

/** A call to which a request of the server may belong. */
export interface AskingCall {
  readonly id: string | undefined;
  /** Stops the clock of the call until the returned function, and that of every other hold, has been called. */
  hold(): () => void;
}

export interface OpenCall extends AskingCall {
  /** Sends the call. Requests that arrive on a stream opened by it belong to the call. */
  run<Value>(send: () => Value): Value;
  /** Aborts when the call is cancelled or times out, and ends its requests. */
  readonly signal: AbortSignal | undefined;
  end(): void;
}

export interface OpenCalls {
  /** Opens a call; `late` is called once its clock has run for `ms` milliseconds. */
  begin(id: string | undefined, ms: number, late: () => void, signal?: AbortSignal): OpenCall;
  /** The calls that the current request may belong to; empty if none is open, undefined if its own has ended. */
  asking(): readonly AskingCall[] | undefined;
  /** The signal of the call that this HTTP request sends, or whose stream it resumes; undefined for any other request. */
  signalOf(init: RequestInit | undefined): AbortSignal | undefined;
  /** Runs work that belongs to no call. */
  outside<Value>(work: () => Value): Value;
  /** From now on each request has its own stream, and what arrives on it belongs to the call. */
  tieByStream(): void;
  /** From now on an answer is handled in the context of its call, because it may contain requests of the server. */
  tieByAnswer(): Handler;
}

/**
 * One for all sessions, since each instance slows down every promise of the process. A session has its own set of calls.
 */
const current = new AsyncLocalStorage<OpenCall>();

export function createOpenCalls(): OpenCalls {
  const clock = createCallClock();
  const open = new Set<OpenCall>();
  /** A server may still send a request on the stream of an ended call. */
  const ended = new WeakSet<OpenCall>();
  /** Calls by the id of the last request that was sent for them. */
  const sent = new Map<string | number, OpenCall>();
  let isTied = false;

  const own = (): OpenCall | undefined => {
    const call = current.getStore();
    return call !== undefined && open.has(call) ? call : undefined;
  };

  return {
    begin(id, ms, late, signal) {
      const time = clock.begin(ms, late);
      const call: OpenCall = {
        id,
        signal,
        hold: time.hold,
        run: (send) => (isTied ? current.run(call, send) : send()),
        end: () => {
          time.end();
          open.delete(call);
          ended.add(call);
          for (const [request, of] of sent) if (of === call) sent.delete(request);
        },
      };
      open.add(call);
      return call;
    },
    asking() {
      const call = current.getStore();
      if (call !== undefined && ended.has(call)) return undefined;
      return call !== undefined && open.has(call) ? [call] : [...open];
    },
    signalOf(init) {
      const call = current.getStore();
      return call !== undefined && (open.has(call) || ended.has(call)) && isOfCall(init) ? call.signal : undefined;
    },
    outside: (work) => current.exit(work),
    tieByStream() {
      isTied = true;
    },
    tieByAnswer() {
      isTied = true;
      return {
        receive(message, extra, next) {
          const call = 'method' in message || message.id === undefined ? undefined : sent.get(Number(message.id));
          if (call === undefined) next(message, extra);
          else current.run(call, () => next(message, extra));
        },
        send(message, options, next) {
          const call = own();
          if (call !== undefined && 'method' in message && 'id' in message) sent.set(message.id, call);
          return next(message, options);
        },
      };
    },
  };
}

const methodOfCall = /^(?:tools\/call|resources\/|prompts\/|completion\/)/;

/** What a call's stream reports may lead to other requests in its context, such as a listing. */
function isOfCall({ body, headers }: RequestInit = {}): boolean {
  if (typeof body === 'string') return methodOfCall.test(methodIn(body) ?? '');
  return new Headers(headers).has('last-event-id');
}
