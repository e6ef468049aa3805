/**
 * The places for runs at the same time: so many of all, so many of one route, one of one coalescing group. A run asks
 * for a place and gives it back; they are granted in the order in which they were asked for, a free one before `ask`
 * returns. Knows nothing of what a run does.
 * @see DIS-3 and COA-3 in docs/specification.md
 */

export interface PlaceRequest {
  readonly profile: string;
  readonly route: string;
  /** Bound of the route; absent: only the bound of all holds. */
  readonly routeConcurrency?: number;
  /** Runs of the same group never overlap. */
  readonly group?: string;
  /**
   * Asks for what a run needs beyond this gateway, before it has a place here; resolves with what gives that back, or with
   * undefined where the request was withdrawn. Never rejects.
   */
  readonly slot?: (isWithdrawn: () => boolean) => Promise<(() => void) | undefined>;
}

export interface Places {
  /** Calls `granted` once a place is free, unless the request was withdrawn; the returned function gives it back or withdraws. */
  ask(request: PlaceRequest, granted: () => void): () => void;
  /** Grants nothing more: what waits stays in the journal. */
  pause(): void;
  /** True once paused: a run that kept its place must not begin either. */
  isPaused(): boolean;
  /** How many hold a place, how many wait, and how many of these wait for a place among all alone. */
  load(): { readonly running: number; readonly waiting: number; readonly ready: number };
  resize(concurrency: number): void;
  /** Takes every place back, where those who held them are gone without a word. */
  clear(): void;
}

/** Lets a number of holders through, the others in their order. */
interface Gate {
  readonly name: string;
  bound: number;
  taken: number;
  isPaused: boolean;
  isGranting: boolean;
  readonly waiting: Ticket[];
}

interface Ticket {
  readonly isOver: () => boolean;
  readonly enter: () => void;
}

/** Runs that end as soon as they have their place must not hold up the event loop: so many in a row. */
const grantsInTurn = 50;

export function createPlaces(concurrency: number): Places {
  const all = gateOf('', concurrency);
  const gates = new Map<string, Gate>();
  const leavers = new Set<() => void>();
  let isClearing = false;
  let waiting = 0;
  let running = 0;
  let ready = 0;

  function named(name: string, bound: number): Gate {
    const standing = gates.get(name) ?? gateOf(name, bound);
    standing.bound = bound;
    gates.set(name, standing);
    return standing;
  }

  function forgetEmpty({ name, taken, waiting }: Gate): void {
    if (taken + waiting.length === 0) gates.delete(name);
  }

  return {
    ask({ profile, route, routeConcurrency, group, slot }, granted) {
      let state: 'waiting' | 'ready' | 'running' | 'over' = 'waiting';
      let giveBack: (() => void) | undefined;
      const held: Gate[] = [];
      const isOver = (): boolean => state === 'over';
      const leave = (): void => {
        if (state === 'over') return;
        if (state === 'ready') ready -= 1;
        if (state === 'running') running -= 1;
        else waiting -= 1;
        state = 'over';
        leavers.delete(leave);
        for (const gate of held.reverse()) {
          gate.taken -= 1;
          if (!isClearing) grant(gate);
          forgetEmpty(gate);
        }
        giveBack?.();
        giveBack = undefined;
      };
      const pass = (gate: Gate, then: () => void): void => {
        const enter = (): void => {
          held.push(gate);
          then();
        };
        gate.waiting.push({ isOver, enter });
        grant(gate);
        forgetEmpty(gate);
      };
      const run = (): void => {
        state = 'running';
        waiting -= 1;
        ready -= 1;
        running += 1;
        granted();
      };
      // The place among all is asked for last, so that a run that waits for its route or group holds none.
      const askAll = (given?: () => void): void => {
        if (isOver()) {
          given?.();
          return;
        }
        giveBack = given;
        state = 'ready';
        ready += 1;
        pass(all, run);
      };
      const askSlot = (): void => {
        if (slot === undefined) askAll();
        else void slot(isOver).then(askAll);
      };
      const askRoute = (): void => {
        if (routeConcurrency === undefined) askSlot();
        else pass(named(`route/${profile}/${route}`, routeConcurrency), askSlot);
      };
      leavers.add(leave);
      waiting += 1;
      if (group === undefined) askRoute();
      else pass(named(`group/${group}`, 1), askRoute);
      return leave;
    },
    pause() {
      all.isPaused = true;
    },
    isPaused: () => all.isPaused,
    load: () => ({ running, waiting, ready }),
    resize(bound) {
      all.bound = bound;
      grant(all);
    },
    clear() {
      isClearing = true;
      for (const leave of [...leavers]) leave();
      for (const gate of [all, ...gates.values()]) gate.waiting.length = 0;
      gates.clear();
      isClearing = false;
    },
  };
}

function gateOf(name: string, bound: number): Gate {
  return { name, bound, taken: 0, isPaused: false, isGranting: false, waiting: [] };
}

/** Lets in as many as it has room for. A loop, not a call from one to the next, so that runs that end at once fill no stack. */
function grant(gate: Gate): void {
  if (gate.isGranting) return;
  gate.isGranting = true;
  for (let granted = 0; !gate.isPaused && gate.taken < gate.bound && gate.waiting.length > 0; ) {
    if (granted === grantsInTurn) {
      setImmediate(() => grant(gate));
      break;
    }
    const next = gate.waiting.shift();
    if (next === undefined || next.isOver()) continue;
    gate.taken += 1;
    granted += 1;
    next.enter();
  }
  gate.isGranting = false;
}
