/**
 * The chats of a rate-limited queue: the deliveries that wait in each, in order, and the delivery that a chat is reserved
 * for. Grants nothing.
 * @see DLV-4 in docs/specification.md
 */

export interface Asker {
  readonly granted: () => void;
  readonly isWaitedFor: boolean;
  isParked: boolean;
}

export interface Chat {
  readonly waiting: Set<Asker>;
  /** The delivery that sends another message there. */
  continuing: Pick<Asker, 'granted'> | undefined;
  /** The delivery that the chat is reserved for, and its entry once it asks. */
  heldFor: string | undefined;
  heldUntilMs: number;
  holder: Asker | undefined;
  busy: boolean;
  /** Time of the steady clock before which nothing is sent. */
  nextMs: number;
}

/** Idle chats are removed once the map has so many entries, and again when it has twice the number that was left. */
const maxIdleChats = 1_000;

export function createQueueChats(steadyMs: () => number) {
  const chats = new Map<string, Chat>();
  const held = new Map<string, Chat>();
  let sweepAt = maxIdleChats;

  function endHold(chat: Chat, now: number): void {
    if (chat.heldFor === undefined || chat.heldUntilMs > now) return;
    held.delete(chat.heldFor);
    chat.heldFor = undefined;
    chat.holder = undefined;
  }

  function forgetIdle(): void {
    const now = steadyMs();
    for (const [name, chat] of chats) {
      endHold(chat, now);
      const { waiting, heldFor, busy, nextMs } = chat;
      if (waiting.size === 0 && heldFor === undefined && !busy && nextMs <= now) chats.delete(name);
    }
  }

  function of(name: string): Chat {
    let chat = chats.get(name);
    if (chat === undefined) {
      if (chats.size >= sweepAt) {
        forgetIdle();
        // A chat in use cannot be removed. Sweeping for each new chat would take quadratic time.
        sweepAt = Math.max(maxIdleChats, 2 * chats.size);
      }
      chat = {
        waiting: new Set(),
        continuing: undefined,
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

  return {
    of,
    all: (): Iterable<Chat> => chats.values(),
    isAwaited: (name: string): boolean => (chats.get(name)?.waiting.size ?? 0) > 0,
    /** Ends a reservation whose time is over. */
    endHold,
    hold(name: string, by: string, untilMs: number): void {
      const chat = of(name);
      const earlier = held.get(by);
      if (earlier !== undefined && earlier !== chat) endHold(earlier, Number.POSITIVE_INFINITY);
      endHold(chat, steadyMs());
      if ((chat.heldFor ?? by) !== by || untilMs <= steadyMs()) return;
      chat.heldFor = by;
      chat.heldUntilMs = untilMs;
      held.set(by, chat);
    },
    /** Ends the reservation for a delivery; returns whether there was one. */
    release(by: string): boolean {
      const chat = held.get(by);
      if (chat !== undefined) endHold(chat, Number.POSITIVE_INFINITY);
      return chat !== undefined;
    },
    heldFor(name: string): { readonly name: string; readonly untilMs: number } | undefined {
      const { heldFor, heldUntilMs = 0 } = chats.get(name) ?? {};
      return heldFor === undefined || heldUntilMs <= steadyMs() ? undefined : { name: heldFor, untilMs: heldUntilMs };
    },
    clear(): void {
      chats.clear();
      held.clear();
    },
  };
}

/** The delivery that may go next in a chat. */
export function nextOf({ waiting, heldFor, holder }: Chat): Asker | undefined {
  const [longest] = waiting;
  const first = heldFor === undefined ? longest : holder;
  return first?.isParked === true ? undefined : first;
}

/** Parks the deliveries with no awaited one behind them. */
export function parkIn({ waiting, holder }: Chat): void {
  let goes = false;
  for (const asker of [...waiting].reverse()) {
    goes ||= asker.isWaitedFor;
    asker.isParked = !goes;
  }
  if (goes && holder !== undefined) holder.isParked = false;
}
