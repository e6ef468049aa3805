/**
 * The rate-limited queue of one target with the pauses that its platform requests: their reason, duration and early end,
 * and the rate of a long text's parts. Independent of connections, and sends nothing.
 * @see DLV-4 in docs/specification.md
 */

import { createQueue, type Queue } from '../../actors/dispatch/queues.ts';
import type { PiecePace } from '../../actors/ports.ts';
import type { Pace } from '../../machines/dispatch/pace.ts';

export interface PlatformPause {
  /** Unix milliseconds. */
  readonly untilMs: number;
  readonly reason: string;
  /** The delivery of the same chat that goes first; absent if the platform asked for the pause. */
  readonly behind?: string;
}

export interface TargetQueue extends Omit<Queue, 'pause' | 'resume' | 'next' | 'pausedUntilMs'> {
  pauseFor(ms: number, reason: string): void;
  pauseNow(): PlatformPause | undefined;
  /** The wait of a delivery for another of its chat, which is tried again first; undefined without one. */
  waitOf(chat: string, name: string): PlatformPause | undefined;
  /**
   * Reports the arrival of a text that was begun at this time by the steady clock; if that was after the request for the
   * pause, the pause ends.
   */
  arrived(begunAtMs: number): void;
  /** Each part is a message of its own to the platform, and uses its rate limit. */
  pieces(chat: string): PiecePace;
}

interface TargetQueuePorts {
  readonly nowMs: () => number;
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

export function createTargetQueue(pace: Pace, ports: TargetQueuePorts): TargetQueue {
  const { nowMs, steadyMs } = ports;
  const { pause, resume, next, pausedUntilMs, ...queue } = createQueue(pace, ports);
  let reason = '';
  let pausedAtMs = Number.NEGATIVE_INFINITY;
  /** Called when the platform asks for a pause: by the pieces that wait for their turn. */
  const waiting = new Set<() => void>();

  function pauseFor(ms: number, why: string): void {
    reason = why;
    pausedAtMs = steadyMs();
    pause(pausedAtMs + ms);
    for (const look of [...waiting]) look();
  }

  function arrived(begunAtMs: number): void {
    // A message that was sent before the request does not end the pause.
    if (begunAtMs > pausedAtMs) resume();
  }

  return {
    ...queue,
    pauseFor,
    arrived,
    pauseNow() {
      const atMs = pausedUntilMs();
      return atMs === undefined ? undefined : { untilMs: Math.ceil(nowMs() + atMs - steadyMs()), reason };
    },
    waitOf(chat, name) {
      const held = queue.heldFor(chat);
      if (held === undefined || held.name === name) return undefined;
      // A hold that only the end of its delivery ends may end at any moment.
      const leftMs = Number.isFinite(held.untilMs) ? held.untilMs - steadyMs() : 0;
      const untilMs = Math.ceil(nowMs() + leftMs);
      return { untilMs, reason: `delivery ${held.name} of the same chat is tried again first`, behind: held.name };
    },
    pieces(chat) {
      let begunAtMs = steadyMs();
      return {
        turn: (signal, maxMs = Number.POSITIVE_INFINITY) =>
          new Promise((resolve) => {
            let leave = (): void => {};
            const end = (leftMs?: number): void => {
              leave();
              signal.removeEventListener('abort', done);
              waiting.delete(look);
              begunAtMs = steadyMs();
              resolve(leftMs);
            };
            const done = (): void => end();
            const look = (): void => {
              const leftMs = (pausedUntilMs() ?? 0) - steadyMs();
              if (leftMs > maxMs) end(leftMs);
            };
            signal.addEventListener('abort', done);
            waiting.add(look);
            leave = next(chat, done);
            if (signal.aborted) done();
            else if (waiting.has(look)) look();
          }),
        arrived: () => arrived(begunAtMs),
        limited: (ms) => pauseFor(ms, 'the platform asks for a pause in the middle of a text'),
      };
    },
  };
}
