/**
 * The viewers of the stream: each gets a snapshot, then what changed. One that reads slower than things happen is given
 * nothing until it has read what it has, and then a fresh snapshot: what waits for it never grows.
 * @see INS-2 and CLI-3 in docs/specification.md
 */

import type { ServerResponse } from 'node:http';
import type { Feed } from './feed.ts';

export interface Viewers {
  /** Streams to a response whose head has been written, until it closes. False where too many look on already. */
  add(response: ServerResponse): boolean;
  close(): void;
}

/** What may wait for a viewer beyond the snapshot that it was given. */
const mostWaitingBytes = 1_048_576;
const mostViewers = 32;
const vitalsEveryMs = 3_000;
/** A viewer that reads nothing for so many vitals has left without a word. */
const mostSilentBeats = 40;

interface Viewer {
  readonly response: ServerResponse;
  /** Bytes that may wait. */
  bound: number;
  behind: boolean;
  silentBeats: number;
}

export function createViewers(feed: Feed): Viewers {
  const viewers = new Set<Viewer>();
  let leave: (() => void) | undefined;
  let beat: ReturnType<typeof setInterval> | undefined;

  function sendSnapshot(viewer: Viewer): void {
    viewer.behind = false;
    viewer.silentBeats = 0;
    const text = formatEvent('snapshot', feed.snapshot());
    viewer.bound = Buffer.byteLength(text) + mostWaitingBytes;
    viewer.response.write(text);
  }

  /** A message is written once for all of them. */
  function tellAll(text: string): void {
    for (const viewer of viewers) {
      if (viewer.behind) continue;
      viewer.response.write(text);
      if (viewer.response.writableLength > viewer.bound) viewer.behind = true;
    }
  }

  function beatAll(): void {
    tellAll(formatEvent('vitals', feed.vitals()));
    for (const viewer of viewers) {
      viewer.silentBeats = viewer.behind ? viewer.silentBeats + 1 : 0;
      if (viewer.silentBeats > mostSilentBeats) viewer.response.destroy();
    }
  }

  function settle(): void {
    if (viewers.size > 0) return;
    leave?.();
    leave = undefined;
    clearInterval(beat);
    beat = undefined;
  }

  return {
    add(response) {
      if (viewers.size >= mostViewers) return false;
      const viewer: Viewer = { response, bound: mostWaitingBytes, behind: false, silentBeats: 0 };
      viewers.add(viewer);
      response.on('drain', () => {
        if (viewer.behind) sendSnapshot(viewer);
      });
      response.on('close', () => {
        viewers.delete(viewer);
        settle();
      });
      // Followed before the snapshot is taken, so that nothing falls between the two.
      leave ??= feed.follow((delta) => tellAll(formatEvent('delta', delta)));
      beat ??= setInterval(beatAll, vitalsEveryMs).unref();
      sendSnapshot(viewer);
      return true;
    },
    close() {
      for (const { response } of viewers) response.end();
      viewers.clear();
      settle();
    },
  };
}

function formatEvent(name: string, message: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(message)}\n\n`;
}
