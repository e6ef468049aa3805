/**
 * A cheap actor for compiled logic. XState's constructor makes some twenty objects before the first event (a mailbox,
 * listener sets, a scope of closures) and an inspection record at every step; a chart that lives for a millisecond needs
 * almost none of them. A lean actor is an `Actor` by its prototype, so it is inspected, subscribed to and sent to like any
 * other. It is its own scope and mailbox, and creates the rest on demand. It has no system id; the pool looks it up.
 *
 * Depends on the internals of one XState version, so the specs compare it with that version's own actor.
 * @see docs/decisions/0005-compiled-charts.md
 */

import { Actor, type AnyActorRef, type EventObject, type Snapshot, type Subscription } from 'xstate';
import { actorInternals, type SystemInternals, systemInternals } from './xstate-internals.ts';

/** What is inspected now: nothing, only spawns and steps, or everything. No record is made for what is not inspected. */
export type Watched = boolean | 'steps';

/** The part of a logic that a lean actor uses. */
export interface LeanLogic {
  getInitialSnapshot(scope: never, input: never): Snapshot<unknown>;
  transition(snapshot: never, event: never, scope: never): Snapshot<unknown>;
  readonly watched: () => Watched;
}

type Listeners = Map<string, Set<(event: EventObject) => void>>;
type Deferred = (() => void)[];
interface ExecutableAction {
  readonly type: string;
  readonly params: unknown;
  readonly info: unknown;
  readonly exec: ((info: unknown, params: unknown) => void) | undefined;
}

const notStarted = 0;
const running = 1;
const stopped = 2;

// XState keeps these private.
const actor = Actor.prototype as unknown as {
  subscribe(...observer: unknown[]): Subscription;
  on(...listener: unknown[]): Subscription;
  send(event: EventObject): void;
  update(snapshot: Snapshot<unknown>, event: object): void;
  _complete(): void;
  _error(error: unknown): void;
  _reportError(error: unknown): void;
};

/** Shared empty values for an actor without any; never written to. */
const noListeners: Listeners = new Map();
const noObservers: ReadonlySet<unknown> = new Set();
const nothingDeferred: Deferred = [];
/** An actor without parent and subscribers: XState throws its errors as uncaught exceptions. */
const noParent = { observers: noObservers, eventListeners: noListeners, _parent: undefined };

/** Makes a child actor; the caller starts it. */
export function createLeanActor(logic: LeanLogic, parent: AnyActorRef, id: string, input: unknown): AnyActorRef {
  // It is an actor by its prototype, which the types do not show.
  return new LeanActor(logic, parent, id, input) as unknown as AnyActorRef;
}

class LeanActor {
  readonly logic: LeanLogic;
  readonly system: SystemInternals;
  readonly id: string;
  readonly sessionId: string;
  readonly options: { readonly input: unknown; readonly parent: AnyActorRef };
  readonly _parent: AnyActorRef;
  _snapshot: Snapshot<unknown>;
  _processingStatus = notStarted;
  _doneEvent: object | undefined = undefined;
  #send: ((event: EventObject) => void) | undefined = undefined;
  #deferred: Deferred | undefined = undefined;
  /** Whether events are processed; earlier ones wait. */
  #takes = false;
  #current: EventObject | undefined = undefined;
  #waiting: EventObject[] | undefined = undefined;
  #observers: Set<unknown> | undefined = undefined;
  #listeners: Listeners | undefined = undefined;

  constructor(logic: LeanLogic, parent: AnyActorRef, id: string, input: unknown) {
    const system = systemInternals(parent.system);
    this.logic = logic;
    this.system = system;
    this.id = id;
    this.sessionId = system._bookId();
    this.options = { input, parent };
    this._parent = parent;
    if (logic.watched() !== false) system._sendInspectionEvent({ type: '@xstate.actor', actorRef: this });
    try {
      this._snapshot = logic.getInitialSnapshot(this as never, input as never);
    } catch (error) {
      this._snapshot = { status: 'error', output: undefined, error };
    }
  }

  get self(): this {
    return this;
  }

  get ref(): this {
    return this;
  }

  get src(): LeanLogic {
    return this.logic;
  }

  get clock(): unknown {
    return this.system._clock;
  }

  get logger(): unknown {
    return this.system._logger;
  }

  get _actorScope(): this {
    return this;
  }

  get mailbox(): this {
    return this;
  }

  get observers(): ReadonlySet<unknown> {
    return this.#observers ?? noObservers;
  }

  get eventListeners(): Listeners {
    return this.#listeners ?? noListeners;
  }

  get _deferred(): Deferred {
    return this.#deferred ?? nothingDeferred;
  }

  subscribe(...observer: unknown[]): Subscription {
    this.#observers ??= new Set();
    return actor.subscribe.apply(this, observer);
  }

  on(...listener: unknown[]): Subscription {
    this.#listeners ??= new Map();
    return actor.on.apply(this, listener);
  }

  start(): this {
    if (this._processingStatus === running) return this;
    const { system, _snapshot: snapshot } = this;
    this._processingStatus = running;
    const event = { type: 'xstate.init', input: this.options.input };
    if (this.logic.watched() === true) {
      system._sendInspectionEvent({ type: '@xstate.event', sourceRef: this._parent, actorRef: this, event });
    }
    if (snapshot.status === 'error') {
      actor._error.call(this, snapshot.error);
      return this;
    }
    this.update(snapshot, event);
    if (snapshot.status === 'done') return this;
    this.#takes = true;
    this.#flush();
    return this;
  }

  /** Bound, as XState's is: wiring passes it on as a function. */
  get send(): (event: EventObject) => void {
    this.#send ??= (event) => {
      if (this.logic.watched() === true) actor.send.call(this, event);
      else this._send(event);
    };
    return this.#send;
  }

  _send(event: EventObject): void {
    if (this._processingStatus !== stopped) this.enqueue(event);
  }

  // The mailbox.

  enqueue(event: EventObject): void {
    if (this.#current !== undefined || !this.#takes) {
      this.#waiting ??= [];
      this.#waiting.push(event);
      return;
    }
    this._process(event);
    this.#flush();
  }

  clear(): void {
    // XState's mailbox already holds the first event before it starts processing.
    if (this.#takes) this.#waiting = undefined;
    else this.#waiting?.splice(1);
  }

  #flush(): void {
    while (this.#waiting !== undefined) {
      const event = this.#waiting.shift();
      if (event === undefined) return;
      this._process(event);
    }
  }

  // A step.

  _process(event: EventObject): void {
    this.#current = event;
    let next: Snapshot<unknown> | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      next = this.logic.transition(this._snapshot as never, event as never, this as never);
    } catch (error) {
      failure = { error };
    }
    if (failure !== undefined) {
      this._snapshot = { ...this._snapshot, status: 'error', error: failure.error } as Snapshot<unknown>;
      actor._error.call(this, failure.error);
    } else if (next !== undefined) {
      this.update(next, event);
      if (event.type === 'xstate.stop') {
        this._stopProcedure();
        this._complete();
      }
    }
    this.#current = undefined;
  }

  /** Adopts a snapshot, runs deferred actions, and notifies the parent at the end. */
  update(snapshot: Snapshot<unknown>, event: object): void {
    if (this.#observers !== undefined || this.logic.watched() === true) {
      actor.update.call(this, snapshot, event);
      return;
    }
    this._snapshot = snapshot;
    if (this.#deferred !== undefined) this.#runDeferred(snapshot);
    if (this._snapshot.status === 'error') {
      actor._error.call(this, this._snapshot.error);
    } else if (this._snapshot.status === 'done') {
      this._stopProcedure();
      this._complete();
      const { output } = this._snapshot;
      this._doneEvent = { type: `xstate.done.actor.${this.id}`, output, actorId: this.id };
      this.system._relay(this, this._parent, this._doneEvent);
    }
  }

  #runDeferred(snapshot: Snapshot<unknown>): void {
    for (let act = this.#deferred?.shift(); act !== undefined; act = this.#deferred?.shift()) {
      try {
        act();
      } catch (error) {
        // Only an initial action can throw here; the actions after it are not run.
        this.#deferred = undefined;
        this._snapshot = { ...snapshot, status: 'error', error } as Snapshot<unknown>;
      }
    }
  }

  _complete(): void {
    if (this.#observers !== undefined || this.#listeners !== undefined) actor._complete.call(this);
  }

  _stopProcedure(): this {
    if (this._processingStatus !== running) return this;
    this.system.scheduler.cancelAll(this);
    this.#waiting = undefined;
    this._processingStatus = stopped;
    return this;
  }

  // The scope.

  defer(act: () => void): void {
    this.#deferred ??= [];
    this.#deferred.push(act);
  }

  emit(event: EventObject): void {
    if (this.#listeners === undefined) return;
    const heard = [...(this.#listeners.get(event.type) ?? []), ...(this.#listeners.get('*') ?? [])];
    for (const listener of heard) {
      try {
        listener(event);
      } catch (thrown) {
        // As in XState: an error that is not handled here must still be reported.
        actor._reportError.call(noParent, thrown);
      }
    }
  }

  stopChild(child: AnyActorRef): void {
    const known = actorInternals(child);
    if ((known._parent as unknown) !== this)
      throw new Error(`Cannot stop child actor ${child.id} of ${this.id} because it is not a child`);
    known._stop();
  }

  actionExecutor(action: ExecutableAction): void {
    if (this._processingStatus === running) this.#execute(action);
    else this.#executeLater(action);
  }

  /** A separate method: a function with a closure allocates its context on every call. */
  #executeLater(action: ExecutableAction): void {
    this.defer(() => this.#execute(action));
  }

  #execute({ type, params, info, exec }: ExecutableAction): void {
    if (this.logic.watched() === true) {
      this.system._sendInspectionEvent({ type: '@xstate.action', actorRef: this, action: { type, params } });
    }
    exec?.(info, params);
  }
}

// Not `extends`, which would run the constructor that this class avoids.
Object.setPrototypeOf(LeanActor.prototype, Actor.prototype);
