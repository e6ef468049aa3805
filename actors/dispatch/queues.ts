/**
 * The rate-limited queue of one platform: at most `concurrency` deliveries at once, a minimum gap between two, one at a
 * time and in order per chat, and none while the platform asks for a pause. A delivery takes a place and returns it.
 * @see DLV-4 in docs/specification.md
 */

import type { Pace } from '../../machines/dispatch/pace.ts';
import { type Asker, type Chat, createQueueChats, nextOf, parkIn } from './queue-chats.ts';

export interface Queue {
  /**
   * Calls `granted` when it is the delivery's turn, perhaps before this returns. The returned function returns the place.
   */
  ask(chat: string, granted: () => void, who?: Asking): () => void;
  /**
   * For a delivery that has a place and sends another message: waits for the pace only, ahead of the deliveries that have
   * not begun. The returned function withdraws.
   */
  next(chat: string, granted: () => void): () => void;
  /**
   * Reserves a chat for the named delivery, which will be retried: no other gets a turn there until `release`, or until a
   * time of the steady clock. A chat that is reserved for another delivery stays so.
   */
  hold(chat: string, name: string, untilMs?: number): void;
  release(name: string): void;
  /** The delivery for which a chat is reserved, and until when by the steady clock; undefined if it is free. */
  heldFor(chat: string): { readonly name: string; readonly untilMs: number } | undefined;
  /** Whether a delivery waits for its turn in a chat. */
  isAwaited(chat: string): boolean;
  /** Grants nothing before a time of the steady clock, as the platform asked. */
  pause(untilMs: number): void;
  resume(): void;
  /** Grants one delivery despite a pause, if none is running, to find out whether the platform accepts messages again. */
  probe(): void;
  /** When the pause ends, by the steady clock; undefined if there is none. */
  pausedUntilMs(): number | undefined;
  load(): { readonly running: number; readonly waiting: number };
  /**
   * Changes the pace. The order of the waiting deliveries stays; a pause is cleared and set again if the platform repeats
   * it.
   */
  adjust(pace: Pace): void;
  /**
   * Leaves waiting deliveries to the next start, unless a delivery behind them in their chat is awaited. Later ones are
   * left with them, so that a chat keeps its order.
   */
  park(): void;
  /** Takes every place back, when the deliveries that held them ended without returning them. */
  clear(): void;
}

interface Asking {
  /** The name for which a chat may be reserved. */
  readonly name?: string;
  /** A caller is waiting for the outcome. */
  readonly isWaitedFor?: boolean;
}

export interface QueuePorts {
  /** Milliseconds of a clock that only rises, so that setting the system clock back does not stop a platform. */
  readonly steadyMs: () => number;
  /** Calls back once after a wait; returns a function that cancels it. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

export function createQueue(given: Pace, { steadyMs, wake }: QueuePorts): Queue {
  let pace = given;
  const chats = createQueueChats(steadyMs);
  /** The chats with a delivery that waits; there may be many more that are only reserved. */
  const active = new Set<Chat>();
  /** The chats whose delivery sends another message. */
  const going = new Set<Chat>();
  let running = 0;
  let nextMs = 0;
  let pausedMs = 0;
  let probing = false;
  let sleeping: (() => void) | undefined;
  let parking = false;
  /** Places from before the last `clear` no longer count. */
  let life = 0;

  /** A granted delivery may end within the call and free a place for another. */
  const pump = onceMoreIfCalled(grantDue);

  /** Grants what is due, and wakes again when the next one is. */
  function grantDue(): void {
    const now = steadyMs();
    let soonest = Number.POSITIVE_INFINITY;
    for (const chat of going) {
      const atMs = Math.max(nextMs, pausedMs, chat.nextMs);
      if (atMs > now) {
        soonest = Math.min(soonest, atMs);
        continue;
      }
      const { continuing } = chat;
      withdraw(chat);
      took(chat, now);
      continuing?.granted();
    }
    // Each chat once, without a copy: there may be thousands, and most calls grant one delivery or none.
    let left = active.size;
    for (const chat of active) {
      if (running >= pace.concurrency || left === 0) break;
      left -= 1;
      const openMs = Math.max(nextMs, probing ? 0 : pausedMs);
      if (openMs > now) {
        soonest = Math.min(soonest, openMs);
        break;
      }
      chats.endHold(chat, now);
      const first = nextOf(chat);
      if (first === undefined || chat.busy) {
        if (chat.heldFor !== undefined && chat.waiting.size > 0) soonest = Math.min(soonest, chat.heldUntilMs);
        continue;
      }
      if (chat.nextMs > now) {
        soonest = Math.min(soonest, chat.nextMs);
        continue;
      }
      probing = false;
      // Moved to the end, so that every chat has its turn.
      active.delete(chat);
      active.add(chat);
      grant(chat, first, now);
    }
    sleeping?.();
    sleeping = soonest === Number.POSITIVE_INFINITY ? undefined : wake(pump, soonest - now);
  }

  function grant(chat: Chat, asker: Asker, now: number): void {
    forget(chat, asker);
    chat.busy = true;
    took(chat, now);
    running += 1;
    asker.granted();
  }

  function forget(chat: Chat, asker: Asker): void {
    chat.waiting.delete(asker);
    if (chat.holder === asker) chat.holder = undefined;
    if (chat.waiting.size === 0) active.delete(chat);
  }

  function withdraw(chat: Chat): void {
    chat.continuing = undefined;
    going.delete(chat);
  }

  /** Records that a message is sent now. */
  function took(chat: Chat, now: number): void {
    chat.nextMs = now + pace.chatGapMs;
    nextMs = Math.max(nextMs, now + pace.gapMs);
  }

  return {
    ask(name, granted, { name: by, isWaitedFor = false } = {}) {
      const born = life;
      const chat = chats.of(name);
      const isHolder = by !== undefined && chat.heldFor === by;
      let state: 'waiting' | 'running' | 'over' = 'waiting';
      const asker: Asker = {
        granted: () => {
          state = 'running';
          granted();
        },
        isWaitedFor,
        isParked: parking && !isHolder && !isWaitedFor && [...chat.waiting].some(({ isParked }) => isParked),
      };
      if (parking && isWaitedFor) for (const earlier of chat.waiting) earlier.isParked = false;
      chat.waiting.add(asker);
      active.add(chat);
      if (isHolder) chat.holder = asker;
      pump();
      return () => {
        if (state === 'over' || born !== life) return;
        forget(chat, asker);
        if (state === 'running') {
          running -= 1;
          chat.busy = false;
        } else if (parking && isWaitedFor) {
          // The deliveries before it were unparked for its sake.
          parkIn(chat);
        }
        state = 'over';
        pump();
      };
    },
    hold: (name, by, untilMs = Number.POSITIVE_INFINITY) => chats.hold(name, by, untilMs),
    release(by) {
      if (chats.release(by)) pump();
    },
    isAwaited: chats.isAwaited,
    heldFor: chats.heldFor,
    next(name, granted) {
      const chat = chats.of(name);
      const asker = { granted };
      chat.continuing = asker;
      going.add(chat);
      pump();
      return () => {
        if (chat.continuing === asker) withdraw(chat);
      };
    },
    pause(untilMs) {
      pausedMs = Math.max(pausedMs, untilMs);
      probing = false;
    },
    resume() {
      if (pausedMs <= steadyMs()) return;
      pausedMs = 0;
      pump();
    },
    probe() {
      if (pausedMs <= steadyMs() || running > 0) return;
      probing = true;
      pump();
    },
    pausedUntilMs: () => (pausedMs > steadyMs() ? pausedMs : undefined),
    load() {
      let waiting = 0;
      for (const chat of active) waiting += chat.waiting.size;
      return { running, waiting };
    },
    adjust(next) {
      pace = next;
      const now = steadyMs();
      pausedMs = 0;
      nextMs = Math.min(nextMs, now + pace.gapMs);
      for (const chat of chats.all()) chat.nextMs = Math.min(chat.nextMs, now + pace.chatGapMs);
      pump();
    },
    park() {
      parking = true;
      for (const chat of active) parkIn(chat);
    },
    clear() {
      life += 1;
      running = 0;
      nextMs = 0;
      pausedMs = 0;
      parking = false;
      chats.clear();
      active.clear();
      going.clear();
      sleeping?.();
      sleeping = undefined;
    },
  };
}

/** Returns a function that does the work; called during the work, it has the work done once more afterwards. */
function onceMoreIfCalled(work: () => void): () => void {
  let isWorking = false;
  let again = false;
  return () => {
    if (isWorking) {
      again = true;
      return;
    }
    isWorking = true;
    do {
      again = false;
      work();
    } while (again);
    isWorking = false;
  };
}
