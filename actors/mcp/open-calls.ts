/**
 * The calls of one session that are open, and for which of them the server asks something: the call on whose stream, or in
 * whose answer, the request arrived, where each request has a stream or an answer of its own; the only one that is open;
 * else any of them. What arrives for a call that has ended is for no other. The SDK hands a
 * request to its handler without the stream that it came on, so the asynchronous context of the call carries that.
 * @see TRU-5 and SRV-1 in docs/specification.md
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transport } from '@modelcontextprotocol/client';
import { createCallClock } from './call-clock.ts';

/** A call that a server may ask something for. */
export interface AskingCall {
  /** By which the gateway knows the call. */
  readonly id: string | undefined;
  /** Stops the clock of the call until the returned function, and that of every other hold, has been called. */
  hold(): () => void;
}

export interface OpenCall extends AskingCall {
  /** Sends the call: what arrives on a stream that this opens is asked for the call. */
  run<Value>(send: () => Value): Value;
  end(): void;
}

export interface OpenCalls {
  /** Opens a call; `late` is called once its clock has run for so many milliseconds. */
  begin(id: string | undefined, ms: number, late: () => void): OpenCall;
  /** The calls that the request which is being handled may be for; none where none is open, undefined where its own has ended. */
  asking(): readonly AskingCall[] | undefined;
  /** Runs what belongs to no call. */
  outside<Value>(work: () => Value): Value;
  /** From now on each request has a stream of its own, and what arrives on it is the call's. */
  tieByStream(): void;
  /** From now on an answer is handled as its call's: it may hold what the server asks for it. */
  tieByAnswer(transport: Transport): void;
}

/** One for all sessions, since each instance costs every promise of the process. A session knows its own calls. */
const current = new AsyncLocalStorage<OpenCall>();

export function createOpenCalls(): OpenCalls {
  const clock = createCallClock();
  const open = new Set<OpenCall>();
  /** A server may still ask something on the stream of one. */
  const ended = new WeakSet<OpenCall>();
  /** By the id of the request that was sent last for the call. */
  const sent = new Map<string | number, OpenCall>();
  let isTied = false;

  const own = (): OpenCall | undefined => {
    const call = current.getStore();
    return call !== undefined && open.has(call) ? call : undefined;
  };

  return {
    begin(id, ms, late) {
      const time = clock.begin(ms, late);
      const call: OpenCall = {
        id,
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
    outside: (work) => current.exit(work),
    tieByStream() {
      isTied = true;
    },
    tieByAnswer(transport) {
      isTied = true;
      const send = transport.send.bind(transport);
      const take = transport.onmessage;
      transport.send = (message, options) => {
        const call = own();
        if (call !== undefined && 'method' in message && 'id' in message) sent.set(message.id, call);
        return send(message, options);
      };
      transport.onmessage = (message, extra) => {
        const call = 'method' in message || message.id === undefined ? undefined : sent.get(message.id);
        if (call === undefined) take?.(message, extra);
        else current.run(call, () => take?.(message, extra));
      };
    },
  };
}
