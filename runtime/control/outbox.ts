/**
 * Writes the messages of one control connection at the pace of its reader: answers of any size, and the notifications of
 * subscriptions, in order. The queue holds answers unserialized, so that a slow reader costs one serialized answer and a
 * bounded amount of notifications.
 * @see CLI-3 and LIF-13 in docs/specification.md
 */

import type { Socket } from 'node:net';

export interface Outbox {
  /** Registers a request; the returned function queues its answer. */
  expect(): (answer: () => string) => void;
  /** Queues a notification, given in parts. Notifications within a short time are written together. */
  notify(parts: readonly string[]): void;
  /** Writes what is queued, then closes the connection; sooner if the reader reads nothing for `stallMs`. */
  finish(stallMs: number): void;
  /** Whether the reader is behind: further requests are to wait in the socket, for their answers would only accumulate. */
  isBlocked(): boolean;
  /** Drops the queue: the connection is closed. */
  closed(): void;
}

/** Size of one write. A reader that has read this much has made progress. */
const pieceLength = 65_536;
/** A reader that reads nothing for this long is disconnected. */
const maxStallMs = 30_000;
/** A reader of a stream with more queued characters is disconnected: it subscribes again and gets a fresh snapshot. */
const maxStreamLength = 4 * 1_048_576;
/** Imperceptible to a person; a thousand notifications then cost one write. */
const notifyWithinMs = 20;
const maxTogether = 65_536;

/**
 * @param cutOff closes the connection and logs the reason
 * @param pace called whenever `isBlocked` has changed
 */
export function createOutbox(socket: Socket, cutOff: (reason: string) => void, pace: () => void): Outbox {
  /** Strings are notifications, functions are answers. */
  const queue: (string | (() => string))[] = [];
  /** The rest of the message that is being written. */
  let rest: Buffer | undefined;
  /** Notifications that are collected for one write. */
  let together: string[] = [];
  let togetherLength = 0;
  /** Characters of the notifications in the queue. */
  let streamLength = 0;
  /** Requests without an answer, and answers that are not fully written. */
  let answersDue = 0;
  let isAnswering = false;
  let isBlocked = false;
  let isBehind = false;
  let isFinishing = false;
  let stallMs = maxStallMs;
  let stalled: ReturnType<typeof setTimeout> | undefined;
  let gathering: ReturnType<typeof setTimeout> | undefined;

  function gather(): void {
    clearTimeout(gathering);
    gathering = undefined;
    if (togetherLength > 0) queue.push(together.join(''));
    streamLength += togetherLength;
    together = [];
    togetherLength = 0;
  }

  function nextPiece(): string | Buffer | undefined {
    if (rest === undefined) {
      const message = queue.shift();
      if (message === undefined) return undefined;
      isAnswering = typeof message === 'function';
      if (typeof message === 'string') streamLength -= message.length;
      const text = typeof message === 'string' ? message : message();
      if (text.length <= pieceLength) return text;
      rest = Buffer.from(text);
    }
    const piece = rest.subarray(0, pieceLength);
    rest = rest.length > pieceLength ? rest.subarray(pieceLength) : undefined;
    return piece;
  }

  function pump(): void {
    while (!isBlocked && !socket.destroyed) {
      const piece = nextPiece();
      if (piece === undefined) break;
      socket.write(piece, written);
      if (socket.writableLength > 0) block();
      else wrote();
    }
    if (isBlocked || socket.destroyed) return;
    if (isFinishing) socket.destroySoon();
    else if (isBehind && answersDue === 0) cutOff('a reader is too slow');
  }

  function wrote(): void {
    if (rest === undefined && isAnswering) answersDue -= 1;
  }

  function block(): void {
    isBlocked = true;
    pace();
    watch();
  }

  function watch(): void {
    clearTimeout(stalled);
    stalled = setTimeout(() => cutOff(`a reader took nothing for ${stallMs / 1_000} s`), stallMs).unref();
  }

  function written(): void {
    if (!isBlocked || socket.writableLength > 0) return;
    isBlocked = false;
    clearTimeout(stalled);
    wrote();
    pump();
    if (!isBlocked) pace();
  }

  return {
    expect() {
      answersDue += 1;
      return (answer) => {
        gather();
        queue.push(answer);
        pump();
      };
    },
    notify(parts) {
      if (isBehind || socket.destroyed) return;
      if (streamLength > maxStreamLength) {
        // An answer is never lost because of a stream: the reader is disconnected once it has all answers.
        isBehind = true;
        if (answersDue === 0) cutOff('a reader is too slow');
        return;
      }
      for (const part of parts) {
        together.push(part);
        togetherLength += part.length;
      }
      if (togetherLength > maxTogether) {
        gather();
        pump();
      } else {
        gathering ??= setTimeout(() => {
          gather();
          pump();
        }, notifyWithinMs).unref();
      }
    },
    finish(withinMs) {
      gather();
      isFinishing = true;
      stallMs = withinMs;
      if (isBlocked) watch();
      else pump();
    },
    isBlocked: () => isBlocked,
    closed() {
      clearTimeout(gathering);
      clearTimeout(stalled);
      queue.length = 0;
      rest = undefined;
    },
  };
}
