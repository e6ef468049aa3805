/**
 * Counts the unsolicited lines of a server per second and reports a server that keeps flooding: lines that are not
 * messages, notifications, requests, and answers to no request; a long message counts as several lines. Answers to
 * requests are not counted, nor is requested progress up to more than an honest server needs.
 * @see LIF-14 in docs/specification.md
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { Handler } from './adapt-transport.ts';

export interface FloodMeter {
  count(lines: number): void;
  /**
   * Returns the handler that counts the messages of a transport: the first of all, because another one may keep a message
   * from those behind it.
   * @param bytesOf the length of the current message; measured if not given
   */
  watch(bytesOf?: (message: JSONRPCMessage) => number): Handler;
  /** The lines counted since the last call. */
  taken(): number;
}

/** Per second. A server that logs each step stays far below. */
const floodLines = 2_000;
const floodSeconds = 5;
/** Free progress lines per second for one request with a progress token. A hundred notifications are legitimate. */
const progressLines = 200;
/** The same limit for all requests together: many calls do not excuse a flood. */
const allProgressLines = 2_000;

/** Each further 4096 bytes of a message count as one more line. */
const bytesOfLine = 4_096;

/** The weight of a message of this size, in lines. */
export function linesOf(bytes: number): number {
  return 1 + bytes / bytesOfLine;
}

/**
 * @param flooded called once, with the reason, after five seconds in a row with more than 2,000 lines each
 * @param nowMs milliseconds of a clock that only rises
 */
export function createFloodMeter(flooded: (why: string) => void, nowMs = () => performance.now()): FloodMeter {
  let beganAtMs = nowMs();
  let counted = 0;
  let seconds = 0;
  let reported = false;
  let untaken = 0;
  /** Lines of requested progress in this second, by token. */
  const progressed = new Map<unknown, number>();
  let allProgressed = 0;

  /** Begins the next second if this one is over. */
  const tick = (): void => {
    const elapsedMs = nowMs() - beganAtMs;
    if (elapsedMs >= 1_000) {
      seconds = counted > floodLines && elapsedMs < 2_000 ? seconds + 1 : 0;
      if (seconds >= floodSeconds && !reported) {
        reported = true;
        flooded(
          `it floods the gateway: ${Math.round(counted)} lines in a second that nothing asked for, for ${seconds} seconds`,
        );
      }
      beganAtMs += elapsedMs;
      counted = 0;
      progressed.clear();
      allProgressed = 0;
    }
  };
  const count = (lines: number): void => {
    tick();
    counted += lines;
    untaken += lines;
  };
  /** Counts only the lines above the free ones. */
  const countProgress = (token: unknown, lines: number): void => {
    tick();
    const ofToken = (progressed.get(token) ?? 0) + lines;
    if (ofToken > progressLines || allProgressed + lines > allProgressLines) {
      count(lines);
      return;
    }
    progressed.set(token, ofToken);
    allProgressed += lines;
  };

  return {
    count,
    taken() {
      const lines = untaken;
      untaken = 0;
      return lines;
    },
    watch(bytesOf = (message) => JSON.stringify(message).length) {
      let owed = 0;
      /** Ids of open requests with a progress token, which equals the request id. */
      const awaited = new Set<unknown>();
      /** The token of the open request that this progress belongs to; undefined for any other message. */
      const awaitedBy = (message: JSONRPCMessage): unknown => {
        if (!('method' in message) || message.method !== 'notifications/progress') return undefined;
        const token = message.params?.progressToken;
        return awaited.has(token) ? token : undefined;
      };
      const see = (message: JSONRPCMessage): void => {
        if (!('method' in message) && owed > 0) {
          owed -= 1;
          awaited.delete(Number(message.id));
          return;
        }
        const token = awaitedBy(message);
        if (token === undefined) count(linesOf(bytesOf(message)));
        else countProgress(token, linesOf(bytesOf(message)));
      };
      return {
        receive(message, extra, next) {
          see(message);
          next(message, extra);
        },
        send(message, options, next) {
          if ('method' in message && 'id' in message) {
            owed += 1;
            if (message.params?._meta?.progressToken !== undefined) awaited.add(message.id);
          } else if ('method' in message && message.method === 'notifications/cancelled') {
            awaited.delete(message.params?.requestId);
          }
          return next(message, options);
        },
      };
    },
  };
}
