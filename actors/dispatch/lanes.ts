/**
 * The way to one platform: so many deliveries at the same time, so long a gap between two, one at a time in each chat and
 * in order there, nobody while the platform asks for a pause. A delivery asks for its place and gives it back. Knows
 * nothing of what is sent.
 * @see DLV-4 in docs/specification.md
 */

import type { Pace } from '../../machines/dispatch/pace.ts';

export interface Lane {
  /** Calls `granted` once it is the delivery's turn, perhaps before this returns; the returned function gives the place back. */
  ask(chat: string, granted: () => void): () => void;
  /** Grants nothing before a time: the platform asked for it. */
  pause(untilMs: number): void;
  load(): { readonly running: number; readonly waiting: number };
  /** Takes every place back, where those who held them are gone without a word. */
  clear(): void;
}

export interface LanePorts {
  readonly nowMs: () => number;
  /** Calls back once after a wait; returns how to take that back. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

interface Asker {
  readonly granted: () => void;
}

interface Chat {
  readonly waiting: Set<Asker>;
  busy: boolean;
  /** Not before then. */
  nextMs: number;
}

/** A chat is forgotten when its gap is long over; looked at whenever so many are known. */
const mostIdleChats = 1_000;

export function createLane({ concurrency, gapMs, chatGapMs }: Pace, { nowMs, wake }: LanePorts): Lane {
  const chats = new Map<string, Chat>();
  let running = 0;
  let nextMs = 0;
  let sleeping: (() => void) | undefined;
  let pumping = false;
  let again = false;
  /** What a cleared lane gave out counts no more. */
  let life = 0;

  function chatOf(name: string): Chat {
    let chat = chats.get(name);
    if (chat === undefined) {
      if (chats.size >= mostIdleChats) forgetIdle();
      chat = { waiting: new Set(), busy: false, nextMs: 0 };
      chats.set(name, chat);
    }
    return chat;
  }

  function forgetIdle(): void {
    const now = nowMs();
    for (const [name, { waiting, busy, nextMs: until }] of chats) {
      if (waiting.size === 0 && !busy && until <= now) chats.delete(name);
    }
  }

  /** A delivery that is granted may end within the call, and free a place for another. */
  function pump(): void {
    if (pumping) {
      again = true;
      return;
    }
    pumping = true;
    do {
      again = false;
      grantDue();
    } while (again);
    pumping = false;
  }

  /** Grants what may go now, and sleeps until the next may. */
  function grantDue(): void {
    const now = nowMs();
    let soonest = Number.POSITIVE_INFINITY;
    for (const [name, chat] of [...chats]) {
      if (running >= concurrency) return;
      const [first] = chat.waiting;
      if (first === undefined || chat.busy) continue;
      const atMs = Math.max(nextMs, chat.nextMs);
      if (atMs > now) {
        soonest = Math.min(soonest, atMs);
        continue;
      }
      // Last in the next round, so that every chat has its turn.
      chats.delete(name);
      chats.set(name, chat);
      grant(chat, first, now);
    }
    sleeping?.();
    sleeping = soonest === Number.POSITIVE_INFINITY ? undefined : wake(pump, soonest - now);
  }

  function grant(chat: Chat, asker: Asker, now: number): void {
    chat.waiting.delete(asker);
    chat.busy = true;
    chat.nextMs = now + chatGapMs;
    nextMs = Math.max(nextMs, now + gapMs);
    running += 1;
    asker.granted();
  }

  return {
    ask(name, granted) {
      const born = life;
      const chat = chatOf(name);
      let state: 'waiting' | 'running' | 'over' = 'waiting';
      const asker: Asker = {
        granted: () => {
          state = 'running';
          granted();
        },
      };
      chat.waiting.add(asker);
      pump();
      return () => {
        if (state === 'over' || born !== life) return;
        chat.waiting.delete(asker);
        if (state === 'running') {
          running -= 1;
          chat.busy = false;
        }
        state = 'over';
        pump();
      };
    },
    pause(untilMs) {
      nextMs = Math.max(nextMs, untilMs);
    },
    load() {
      let waiting = 0;
      for (const chat of chats.values()) waiting += chat.waiting.size;
      return { running, waiting };
    },
    clear() {
      life += 1;
      running = 0;
      nextMs = 0;
      chats.clear();
      sleeping?.();
      sleeping = undefined;
    },
  };
}
