/**
 * Counts what a server sends without being asked, a second at a time, and reports a server that keeps flooding: lines that
 * are no messages, notifications, requests, and answers to nothing; a long message as several lines. Answers to requests
 * are not counted, nor is the progress of a request that asked for it, up to more than an honest caller can use.
 * @see LIF-14 in docs/specification.md
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

export interface FloodMeter {
  /** Counts lines that nothing asked for. */
  count(lines: number): void;
  /**
   * Counts the messages of a transport; to be called before the client connects to it.
   * @param bytesOf the length of the message that is being handed on; measured where it is not given
   * @returns what makes it see each message first, to be called once nothing more is put in front of the client: what
   * keeps a message from the client would keep it from the meter
   */
  watch(transport: Transport, bytesOf?: (message: JSONRPCMessage) => number): () => void;
  /** The lines counted since it was last asked. */
  taken(): number;
}

/** In a second. A server that logs each of its steps stays far below. */
const floodLines = 2_000;
const floodSeconds = 5;
/** Lines of progress that a request which asks for progress may have in a second. A hundred notifications are honest. */
const progressLines = 200;
/** The same of all requests together: a flood is not made honest by many calls. */
const allProgressLines = 2_000;

/** A message as long as this costs as much as one line more. */
const bytesOfLine = 4_096;

/** What a message of so many bytes counts for, in lines. */
export function linesOf(bytes: number): number {
  return 1 + bytes / bytesOfLine;
}

/**
 * @param flooded called once, with the reason, after five seconds in a row with more than 2,000 lines each
 * @param nowMs milliseconds that only rise
 */
export function createFloodMeter(flooded: (why: string) => void, nowMs = () => performance.now()): FloodMeter {
  let beganAtMs = nowMs();
  let counted = 0;
  let seconds = 0;
  let reported = false;
  let untaken = 0;
  /** Lines of progress that were asked for in this second, by token. */
  const progressed = new Map<unknown, number>();
  let allProgressed = 0;

  /** Begins the next second where this one is over. */
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
  /** Counts what is beyond what a request may have. */
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
    watch(transport, bytesOf = (message) => JSON.stringify(message).length) {
      let owed = 0;
      /** The requests that wait for their progress, too. Each has its own id for the token. */
      const awaited = new Set<unknown>();
      const send = transport.send.bind(transport);
      transport.send = (message, options) => {
        if ('method' in message && 'id' in message) {
          owed += 1;
          if (message.params?._meta?.progressToken !== undefined) awaited.add(message.id);
        } else if ('method' in message && message.method === 'notifications/cancelled') {
          awaited.delete(message.params?.requestId);
        }
        return send(message, options);
      };
      /** The token of a request that waits for this progress; undefined for any other message. */
      const awaitedBy = (message: JSONRPCMessage): unknown => {
        if (!('method' in message) || message.method !== 'notifications/progress') return undefined;
        const token = message.params?.progressToken;
        return awaited.has(token) ? token : undefined;
      };
      const see = (message: JSONRPCMessage): void => {
        if (!('method' in message) && owed > 0) {
          owed -= 1;
          awaited.delete(message.id);
          return;
        }
        const token = awaitedBy(message);
        if (token === undefined) count(linesOf(bytesOf(message)));
        else countProgress(token, linesOf(bytesOf(message)));
      };
      let latest = 0;
      const seeFirst = (): void => {
        latest += 1;
        const place = latest;
        const take = transport.onmessage;
        transport.onmessage = (message, extra) => {
          if (place === latest) see(message);
          take?.(message, extra);
        };
      };
      seeFirst();
      return seeFirst;
    },
  };
}
