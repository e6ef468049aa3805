/**
 * The viewers of the stream: each gets a snapshot, then changes. A viewer that reads too slowly gets nothing until it has
 * read its backlog, and then a new snapshot, so the backlog is bounded.
 * @see INS-2 and CLI-3 in docs/specification.md
 */

import type { ServerResponse } from 'node:http';
import type { Feed } from './feed.ts';

export interface Viewers {
  /** Streams to a response whose head was written, until it closes. Returns false if there are too many viewers. */
  add(response: ServerResponse): boolean;
  close(): void;
}

/** Backlog of a viewer beyond its snapshot. */
const maxWaitingBytes = 1_048_576;
const maxViewers = 32;
const healthEveryMs = 3_000;
/** A viewer that has read nothing for this many messages is disconnected. */
const maxSilentBeats = 40;

interface Viewer {
  readonly response: ServerResponse;
  /** Limit of the backlog, in bytes. */
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
    viewer.bound = Buffer.byteLength(text) + maxWaitingBytes;
    viewer.response.write(text);
  }

  /** Each message is formatted once for all viewers. */
  function reportAll(text: string): void {
    for (const viewer of viewers) {
      if (viewer.behind) continue;
      viewer.response.write(text);
      if (viewer.response.writableLength > viewer.bound) viewer.behind = true;
    }
  }

  function beatAll(): void {
    reportAll(formatEvent('health', feed.health()));
    for (const viewer of viewers) {
      viewer.silentBeats = viewer.behind ? viewer.silentBeats + 1 : 0;
      if (viewer.silentBeats > maxSilentBeats) viewer.response.destroy();
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
      if (viewers.size >= maxViewers) return false;
      const viewer: Viewer = { response, bound: maxWaitingBytes, behind: false, silentBeats: 0 };
      viewers.add(viewer);
      response.on('drain', () => {
        if (viewer.behind) sendSnapshot(viewer);
      });
      response.on('close', () => {
        viewers.delete(viewer);
        settle();
      });
      // Follows before the snapshot is taken, so that no change is lost in between.
      leave ??= feed.follow((delta) => reportAll(formatEvent('delta', delta)));
      beat ??= setInterval(beatAll, healthEveryMs).unref();
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
