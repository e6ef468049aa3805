/**
 * The way to one platform: so many deliveries at the same time, so long a gap between two, one at a time in each chat and
 * in order there, nobody while the platform asks for a pause. A delivery asks for its place and gives it back. Knows
 * nothing of what is sent.
 * @see DLV-4 in docs/specification.md
 */

import type { Pace } from '../../machines/dispatch/pace.ts';

export interface Lane {
  /** Calls `granted` once it is the delivery's turn, perhaps before this returns; the returned function gives the place back. */
  ask(chat: string, granted: () => void, who?: Asking): () => void;
  /**
   * For one that has its place and sends another message: its turn by the pace, before those who have not begun. The
   * returned function withdraws.
   */
  next(chat: string, granted: () => void): () => void;
  /**
   * Keeps a chat for the delivery of a name, which comes back: no other has a turn there before it is released, or before
   * a time of the steady clock. A chat that is kept for another stays so.
   */
  hold(chat: string, name: string, untilMs?: number): void;
  release(name: string): void;
  /** Grants nothing before a time of the steady clock: the platform asked for it. */
  pause(untilMs: number): void;
  /** The platform takes messages again. */
  resume(): void;
  /** Lets one go in spite of a pause, where none is on its way: a person wants to know whether it is over. */
  probe(): void;
  /** Until when it is paused, by the steady clock; undefined while it is not. */
  pausedUntilMs(): number | undefined;
  load(): { readonly running: number; readonly waiting: number };
  /** Continues at another pace with those who wait, in their order; a pause that was asked for is found anew. */
  adjust(pace: Pace): void;
  /**
   * Leaves those who wait to the next start, unless somebody behind them in their chat is waited for. Who comes later is
   * left with them, so that a chat keeps its order.
   */
  park(): void;
  /** Takes every place back, where those who held them are gone without a word. */
  clear(): void;
}

export interface Asking {
  /** Whom a chat may be kept for. */
  readonly name?: string;
  /** Somebody waits for what happens to it now. */
  readonly isWaitedFor?: boolean;
}

export interface LanePorts {
  /** Milliseconds that only rise: a clock that is set back must stop no platform for as long as it went back. */
  readonly steadyMs: () => number;
  /** Calls back once after a wait; returns how to take that back. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

interface Asker {
  readonly granted: () => void;
  readonly isWaitedFor: boolean;
  isParked: boolean;
}

interface Chat {
  readonly waiting: Set<Asker>;
  /** The one that continues there. */
  goesOn: Pick<Asker, 'granted'> | undefined;
  /** Whom it is kept for, and that one where it asks. */
  heldFor: string | undefined;
  heldUntilMs: number;
  holder: Asker | undefined;
  busy: boolean;
  /** Not before then. */
  nextMs: number;
}

/** A chat is forgotten when its gap is long over; looked at when so many are known, and again with twice what is left. */
const mostIdleChats = 1_000;

export function createLane(pace: Pace, { steadyMs, wake }: LanePorts): Lane {
  let { concurrency, gapMs, chatGapMs } = pace;
  const chats = new Map<string, Chat>();
  const held = new Map<string, Chat>();
  let running = 0;
  let nextMs = 0;
  let pausedMs = 0;
  let probing = false;
  let sleeping: (() => void) | undefined;
  let pumping = false;
  let again = false;
  let parking = false;
  let sweepAt = mostIdleChats;
  /** What a cleared lane gave out counts no more. */
  let life = 0;

  function chatOf(name: string): Chat {
    let chat = chats.get(name);
    if (chat === undefined) {
      if (chats.size >= sweepAt) {
        forgetIdle();
        // One that is kept cannot go: to look at all of them for each new one would cost their square.
        sweepAt = Math.max(mostIdleChats, 2 * chats.size);
      }
      chat = {
        waiting: new Set(),
        goesOn: undefined,
        heldFor: undefined,
        heldUntilMs: 0,
        holder: undefined,
        busy: false,
        nextMs: 0,
      };
      chats.set(name, chat);
    }
    return chat;
  }

  function forgetIdle(): void {
    const now = steadyMs();
    for (const [name, chat] of chats) {
      endHold(chat, now);
      const { waiting, heldFor, busy, nextMs: until } = chat;
      if (waiting.size === 0 && heldFor === undefined && !busy && until <= now) chats.delete(name);
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
    const now = steadyMs();
    let soonest = Number.POSITIVE_INFINITY;
    for (const chat of chats.values()) {
      const { goesOn } = chat;
      if (goesOn === undefined) continue;
      const atMs = Math.max(nextMs, pausedMs, chat.nextMs);
      if (atMs > now) {
        soonest = Math.min(soonest, atMs);
        continue;
      }
      chat.goesOn = undefined;
      took(chat, now);
      goesOn.granted();
    }
    for (const [name, chat] of [...chats]) {
      if (running >= concurrency) break;
      endHold(chat, now);
      const first = nextOf(chat);
      if (first === undefined || chat.busy) {
        if (chat.heldFor !== undefined && chat.waiting.size > 0) soonest = Math.min(soonest, chat.heldUntilMs);
        continue;
      }
      const atMs = Math.max(nextMs, probing ? 0 : pausedMs, chat.nextMs);
      if (atMs > now) {
        soonest = Math.min(soonest, atMs);
        continue;
      }
      probing = false;
      // Last in the next round, so that every chat has its turn.
      chats.delete(name);
      chats.set(name, chat);
      grant(chat, first, now);
    }
    sleeping?.();
    sleeping = soonest === Number.POSITIVE_INFINITY ? undefined : wake(pump, soonest - now);
  }

  function endHold(chat: Chat, now: number): void {
    if (chat.heldFor === undefined || chat.heldUntilMs > now) return;
    held.delete(chat.heldFor);
    chat.heldFor = undefined;
    chat.holder = undefined;
  }

  function nextOf({ waiting, heldFor, holder }: Chat): Asker | undefined {
    const [longest] = waiting;
    const first = heldFor === undefined ? longest : holder;
    return first?.isParked === true ? undefined : first;
  }

  function grant(chat: Chat, asker: Asker, now: number): void {
    forget(chat, asker);
    chat.busy = true;
    took(chat, now);
    running += 1;
    asker.granted();
  }

  /** Parks those behind whom nobody is waited for. */
  function parkIn({ waiting, holder }: Chat): void {
    let goes = false;
    for (const asker of [...waiting].reverse()) {
      goes ||= asker.isWaitedFor;
      asker.isParked = !goes;
    }
    if (goes && holder !== undefined) holder.isParked = false;
  }

  function forget(chat: Chat, asker: Asker): void {
    chat.waiting.delete(asker);
    if (chat.holder === asker) chat.holder = undefined;
  }

  /** A message goes out now. */
  function took(chat: Chat, now: number): void {
    chat.nextMs = now + chatGapMs;
    nextMs = Math.max(nextMs, now + gapMs);
  }

  return {
    ask(name, granted, { name: by, isWaitedFor = false } = {}) {
      const born = life;
      const chat = chatOf(name);
      const goesOn = by !== undefined && chat.heldFor === by;
      let state: 'waiting' | 'running' | 'over' = 'waiting';
      const asker: Asker = {
        granted: () => {
          state = 'running';
          granted();
        },
        isWaitedFor,
        isParked: parking && !goesOn && !isWaitedFor && [...chat.waiting].some(({ isParked }) => isParked),
      };
      if (isWaitedFor) for (const earlier of chat.waiting) earlier.isParked = false;
      chat.waiting.add(asker);
      if (goesOn) chat.holder = asker;
      pump();
      return () => {
        if (state === 'over' || born !== life) return;
        forget(chat, asker);
        if (state === 'running') {
          running -= 1;
          chat.busy = false;
        } else if (parking && isWaitedFor) {
          // Those before it were let go for its sake.
          parkIn(chat);
        }
        state = 'over';
        pump();
      };
    },
    hold(name, by, untilMs = Number.POSITIVE_INFINITY) {
      const chat = chatOf(name);
      const earlier = held.get(by);
      if (earlier !== undefined && earlier !== chat) endHold(earlier, Number.POSITIVE_INFINITY);
      endHold(chat, steadyMs());
      if ((chat.heldFor ?? by) !== by || untilMs <= steadyMs()) return;
      chat.heldFor = by;
      chat.heldUntilMs = untilMs;
      held.set(by, chat);
    },
    release(by) {
      const chat = held.get(by);
      if (chat === undefined) return;
      endHold(chat, Number.POSITIVE_INFINITY);
      pump();
    },
    next(name, granted) {
      const chat = chatOf(name);
      const asker = { granted };
      chat.goesOn = asker;
      pump();
      return () => {
        if (chat.goesOn === asker) chat.goesOn = undefined;
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
      for (const chat of chats.values()) waiting += chat.waiting.size;
      return { running, waiting };
    },
    adjust(next) {
      ({ concurrency, gapMs, chatGapMs } = next);
      const now = steadyMs();
      pausedMs = 0;
      nextMs = Math.min(nextMs, now + gapMs);
      for (const chat of chats.values()) chat.nextMs = Math.min(chat.nextMs, now + chatGapMs);
      pump();
    },
    park() {
      parking = true;
      for (const chat of chats.values()) parkIn(chat);
    },
    clear() {
      life += 1;
      running = 0;
      nextMs = 0;
      pausedMs = 0;
      probing = false;
      parking = false;
      chats.clear();
      held.clear();
      sleeping?.();
      sleeping = undefined;
    },
  };
}
