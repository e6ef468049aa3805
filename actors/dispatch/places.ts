/**
 * The slots for concurrent runs: a limit for all, one per route, and one run per batch. A run takes a slot and releases
 * it. A free slot is granted before `ask` returns. Routes with runs that wait take turns, so that one with thousands holds up
 * no other, and of each the run with the lowest key is first.
 * @see DIS-3 and COA-3 in docs/specification.md
 */

export interface PlaceRequest {
  /** Keys rise with time. A run that is recovered from disk asks after newer ones of its route, and goes before them. */
  readonly key: string;
  readonly profile: string;
  readonly route: string;
  /** Limit of the route; if absent, only the limit of all applies. */
  readonly routeConcurrency?: number;
  /** Runs of the same batch group never overlap. */
  readonly group?: string;
  /**
   * Acquires what a run needs beyond this gateway, before its slot here. Resolves with a function that releases it, or
   * with undefined if the request was withdrawn. Never rejects.
   */
  readonly slot?: (isWithdrawn: () => boolean) => Promise<(() => void) | undefined>;
}

export interface Places {
  /**
   * Calls `granted` once a slot is free, unless withdrawn. The returned function releases the slot or withdraws.
   * `askAgain` is called if a lower limit of its route has withdrawn it.
   */
  ask(request: PlaceRequest, granted: () => void, askAgain?: () => void): () => void;
  /** Grants nothing more: waiting runs stay in the journal. */
  pause(): void;
  /** True after `pause`: a run that kept its slot must not begin either. */
  isPaused(): boolean;
  /** Runs with a slot, waiting runs, and how many of these wait only for the limit of all. */
  load(): { readonly running: number; readonly waiting: number; readonly ready: number };
  /**
   * Applies changed limits, also to runs that wait: that of all, and those of the routes. A route for which there is none
   * any more (undefined), because it was removed, keeps its own.
   */
  resize(concurrency: number, ofRoute: RouteBound): void;
  /** Takes every slot back, when the runs that held them ended without releasing them. */
  clear(): void;
}

type RouteBound = (profile: string, route: string) => number | undefined;

/** A semaphore with a queue. */
interface Gate {
  readonly name: string;
  /** Whose limit it is; undefined for that of all and of a batch. */
  readonly route: Pick<PlaceRequest, 'profile' | 'route'> | undefined;
  bound: number;
  taken: number;
  isPaused: boolean;
  isGranting: boolean;
  /** The routes with runs that wait, the next one first. */
  readonly turns: string[];
  /** The runs of each that wait, in the order of their keys. */
  readonly waiting: Map<string, Ticket[]>;
}

interface Ticket {
  readonly key: string;
  readonly of: string;
  readonly isOver: () => boolean;
  readonly enter: () => void;
}

/** Runs that end as soon as they have a slot must not block the event loop, so only so many are granted in a row. */
const grantsInTurn = 50;

export function createPlaces(concurrency: number): Places {
  const all = gateOf('', concurrency);
  const gates = new Map<string, Gate>();
  /** What withdraws each request, and what does so only if it waits for the limit of all although a new limit holds it. */
  const leavers = new Map<() => void, (ofRoute: RouteBound) => (() => void) | undefined>();
  let isClearing = false;
  let waiting = 0;
  let running = 0;
  let ready = 0;

  function named(name: string, bound: number, route?: Gate['route']): Gate {
    const standing = gates.get(name) ?? gateOf(name, bound, route);
    standing.bound = bound;
    gates.set(name, standing);
    return standing;
  }

  /** A run that ended as soon as it had its slot may have been followed by another, whose gate has the name now. */
  function forgetEmpty(gate: Gate): void {
    if (gate.taken + gate.turns.length === 0 && gates.get(gate.name) === gate) gates.delete(gate.name);
  }

  return {
    ask({ key, profile, route, routeConcurrency, group, slot }, granted, askAgain) {
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
      const hold = (ofRoute: RouteBound): (() => void) | undefined => {
        const bound = ofRoute(profile, route) ?? Number.POSITIVE_INFINITY;
        if (state !== 'ready' || bound === Number.POSITIVE_INFINITY) return undefined;
        const gate = held.find((one) => one.route !== undefined);
        if (askAgain === undefined || (gate !== undefined && gate.taken <= bound)) return undefined;
        leave();
        return askAgain;
      };
      const pass = (gate: Gate, then: () => void): void => {
        const enter = (): void => {
          held.push(gate);
          then();
        };
        enqueue(gate, { key, of: `${profile}/${route}`, isOver, enter });
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
      // The slot among all is requested last, so that a run that waits for its route or batch occupies none.
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
        else pass(named(`route/${profile}/${route}`, routeConcurrency, { profile, route }), askSlot);
      };
      leavers.set(leave, hold);
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
    resize(bound, ofRoute) {
      all.bound = bound;
      isClearing = true;
      // The newest first, so that those that may stay are the oldest.
      const held = [...leavers.values()].reverse().flatMap((hold) => hold(ofRoute) ?? []);
      isClearing = false;
      for (const gate of [...gates.values()]) {
        if (gate.route === undefined) continue;
        gate.bound = ofRoute(gate.route.profile, gate.route.route) ?? gate.bound;
        grant(gate);
      }
      for (const askAgain of held.reverse()) askAgain();
      grant(all);
    },
    clear() {
      isClearing = true;
      for (const leave of [...leavers.keys()]) leave();
      for (const gate of [all, ...gates.values()]) {
        gate.turns.length = 0;
        gate.waiting.clear();
      }
      gates.clear();
      isClearing = false;
    },
  };
}

function gateOf(name: string, bound: number, route?: Gate['route']): Gate {
  return { name, route, bound, taken: 0, isPaused: false, isGranting: false, turns: [], waiting: new Map() };
}

/** Most keys are the newest; a recovered one is placed by halving, since ten thousand may wait. */
function enqueue({ turns, waiting }: Gate, ticket: Ticket): void {
  const tickets = waiting.get(ticket.of) ?? [];
  let [from, to] = [0, tickets.length];
  if ((tickets.at(-1)?.key ?? '') <= ticket.key) from = to;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((tickets[middle]?.key ?? '') > ticket.key) to = middle;
    else from = middle + 1;
  }
  tickets.splice(from, 0, ticket);
  if (tickets.length > 1) return;
  waiting.set(ticket.of, tickets);
  turns.push(ticket.of);
}

/** Takes the first run of the next route; undefined if all of that route have left. */
function dequeue({ turns, waiting }: Gate): Ticket | undefined {
  const of = turns.shift() ?? '';
  const tickets = waiting.get(of) ?? [];
  let next = tickets.shift();
  while (next?.isOver()) next = tickets.shift();
  if (tickets.length > 0) turns.push(of);
  else waiting.delete(of);
  return next;
}

/** Grants while there is room. A loop instead of recursion, so that runs that end at once do not fill the stack. */
function grant(gate: Gate): void {
  if (gate.isGranting) return;
  gate.isGranting = true;
  for (let granted = 0; !gate.isPaused && gate.taken < gate.bound && gate.turns.length > 0; ) {
    if (granted === grantsInTurn) {
      setImmediate(() => grant(gate));
      break;
    }
    const next = dequeue(gate);
    if (next === undefined) continue;
    gate.taken += 1;
    granted += 1;
    next.enter();
  }
  gate.isGranting = false;
}
