/**
 * A timer wheel as the clock of the actor system: a hundred thousand waits share one real timer. A wait never ends early
 * and ends at most one tick of the wheel late.
 * @see COA-1 in docs/specification.md
 */

export interface TimerHandle {
  fire: (() => void) | undefined;
  readonly dueTick: number;
  previous: TimerHandle | undefined;
  next: TimerHandle | undefined;
  /** The slot that holds it; undefined after it fired or was cleared. */
  slot: Slot | undefined;
}

interface Slot {
  first: TimerHandle | undefined;
}

interface ClockSource {
  /** Milliseconds that only rise. */
  readonly nowMs: () => number;
  /** Calls back once after a wait; returns a function that cancels it. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

const tickMs = 10;
/** One turn of the wheel; longer waits take several turns. */
const slotCount = 4_096;

export function createClock(source: ClockSource = systemSource) {
  const slots: Slot[] = Array.from({ length: slotCount }, () => ({ first: undefined }));
  const tickOf = (atMs: number): number => Math.floor(atMs / tickMs);
  let current = tickOf(source.nowMs());
  let pending = 0;
  let sleeping: (() => void) | undefined;
  let wakesAtTick = Number.POSITIVE_INFINITY;

  function link(handle: TimerHandle, slot: Slot): void {
    handle.slot = slot;
    handle.next = slot.first;
    if (slot.first !== undefined) slot.first.previous = handle;
    slot.first = handle;
    pending += 1;
  }

  function unlink(handle: TimerHandle): void {
    const { slot, previous, next } = handle;
    if (slot === undefined) return;
    if (previous === undefined) slot.first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    handle.slot = undefined;
    handle.previous = undefined;
    handle.next = undefined;
    pending -= 1;
  }

  /** Sleeps until a tick, unless an earlier wake-up is set. */
  function sleepUntil(tick: number): void {
    if (tick >= wakesAtTick) return;
    sleeping?.();
    wakesAtTick = tick;
    sleeping = source.wake(turn, Math.max(0, tick * tickMs - source.nowMs()));
  }

  function turn(): void {
    sleeping = undefined;
    wakesAtTick = Number.POSITIVE_INFINITY;
    const reached = tickOf(source.nowMs());
    const due: TimerHandle[] = [];
    // A sleep of more than one turn has passed every slot once.
    const last = Math.min(reached, current + slotCount - 1);
    for (let tick = current; tick <= last; tick += 1) {
      for (let handle = slots[tick % slotCount]?.first; handle !== undefined; ) {
        const { next } = handle;
        if (handle.dueTick <= reached) {
          unlink(handle);
          due.push(handle);
        }
        handle = next;
      }
    }
    current = reached;
    due.sort((one, other) => one.dueTick - other.dueTick);
    for (const handle of due) handle.fire?.();
    if (pending > 0) sleepUntil(nextDue());
  }

  /** The next tick whose slot is not empty; the slot may hold only waits of later turns, which are skipped then. */
  function nextDue(): number {
    for (let tick = current + 1; tick < current + slotCount; tick += 1) {
      if (slots[tick % slotCount]?.first !== undefined) return tick;
    }
    return current + slotCount;
  }

  return {
    setTimeout(fire: () => void, waitMs: number): TimerHandle {
      const dueTick = Math.ceil((source.nowMs() + Math.max(0, waitMs)) / tickMs);
      const handle: TimerHandle = { fire, dueTick, previous: undefined, next: undefined, slot: undefined };
      if (pending === 0) current = Math.min(tickOf(source.nowMs()), dueTick);
      const slot = slots[dueTick % slotCount];
      if (slot !== undefined) link(handle, slot);
      sleepUntil(dueTick - current < slotCount ? dueTick : current + slotCount);
      return handle;
    },
    clearTimeout(handle: TimerHandle | undefined): void {
      if (handle === undefined) return;
      handle.fire = undefined;
      unlink(handle);
      if (pending > 0) return;
      // No wait is left; a sleeping timer would keep the process alive.
      sleeping?.();
      sleeping = undefined;
      wakesAtTick = Number.POSITIVE_INFINITY;
    },
  };
}

const systemSource: ClockSource = {
  nowMs: () => performance.now(),
  wake: (callback, waitMs) => {
    const timer = setTimeout(callback, waitMs);
    return () => clearTimeout(timer);
  },
};
