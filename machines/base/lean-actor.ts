/**
 * An actor for compiled logic that is made in one go. xstate's own constructor makes some twenty objects — a mailbox, sets
 * of listeners, a scope of closures — before the first event; a chart that lives for a millisecond needs almost none of
 * them. A lean actor is an `Actor` by its prototype, registered, inspected, subscribed to and sent to like any; what the
 * constructor would have made is made when it is asked for. Knows the insides of one version of xstate, which is why the
 * specs run it beside that version's own.
 * @see docs/decisions/0005-compiled-charts.md
 */

import { Actor, type ActorLogic, type AnyActorRef, type EventObject, type Snapshot, type Subscription } from 'xstate';

interface System {
  readonly _logger: unknown;
  readonly _clock: unknown;
  readonly scheduler: { cancelAll(actor: unknown): void };
  _bookId(): string;
  _unregister(actor: unknown): void;
  _sendInspectionEvent(event: object): void;
}

type AnyLogic = ActorLogic<Snapshot<unknown>, EventObject, unknown>;
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

const actor = Actor.prototype as unknown as AnyActorRef;

/** Stand in for what an actor has none of; never written to. */
const noListeners: Listeners = new Map();
const noObservers: ReadonlySet<unknown> = new Set();
const nothingDeferred: Deferred = [];
nothingDeferred.push = () => {
  throw new TypeError('a lean actor defers by its scope');
};

/** Makes an actor that is the child of another; it is started by the caller. */
export function createLeanActor(logic: unknown, parent: AnyActorRef, input: unknown): AnyActorRef {
  return new LeanActor(logic as AnyLogic, parent, input) as unknown as AnyActorRef;
}

/** Is its own scope and its own mailbox, so that neither has to be made. */
class LeanActor {
  readonly logic: AnyLogic;
  readonly system: System;
  readonly id: string;
  readonly sessionId: string;
  readonly options: { readonly input: unknown; readonly parent: AnyActorRef };
  readonly _parent: AnyActorRef;
  _snapshot: Snapshot<unknown> | undefined = undefined;
  _processingStatus = notStarted;
  _deferred = nothingDeferred;
  _doneEvent: unknown = undefined;
  #takes = false;
  #current: EventObject | undefined = undefined;
  #waiting: EventObject[] | undefined = undefined;
  #observers: Set<unknown> | undefined = undefined;
  #listeners: Listeners | undefined = undefined;

  constructor(logic: AnyLogic, parent: AnyActorRef, input: unknown) {
    const system = parent.system as unknown as System;
    this.logic = logic;
    this.system = system;
    this.sessionId = system._bookId();
    this.id = this.sessionId;
    this.options = { input, parent };
    this._parent = parent;
    system._sendInspectionEvent({ type: '@xstate.actor', actorRef: this });
    (this as unknown as { _initState(): void })._initState();
  }

  get self(): this {
    return this;
  }

  get ref(): this {
    return this;
  }

  get src(): AnyLogic {
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

  subscribe(...observer: Parameters<AnyActorRef['subscribe']>): Subscription {
    this.#observers ??= new Set();
    return actor.subscribe.apply(this as unknown as AnyActorRef, observer);
  }

  on(...listener: Parameters<AnyActorRef['on']>): Subscription {
    this.#listeners ??= new Map();
    return actor.on.apply(this as unknown as AnyActorRef, listener);
  }

  // The scope.

  defer(act: () => void): void {
    if (this._deferred === nothingDeferred) this._deferred = [act];
    else this._deferred.push(act);
  }

  emit(event: EventObject): void {
    for (const type of [event.type, '*']) {
      for (const listener of this.#listeners?.get(type) ?? []) {
        try {
          listener(event);
        } catch (thrown) {
          (this.logger as (...words: unknown[]) => void)(thrown);
        }
      }
    }
  }

  stopChild(child: AnyActorRef): void {
    const { _parent, _stop } = child as unknown as { readonly _parent: unknown; _stop(): void };
    if (_parent !== this) throw new Error(`cannot stop actor ${child.id} of ${this.id}: it is not its child`);
    _stop.call(child);
  }

  actionExecutor(action: ExecutableAction): void {
    if (this._processingStatus === running) this.#execute(action);
    else this.defer(() => this.#execute(action));
  }

  #execute({ type, params, info, exec }: ExecutableAction): void {
    this.system._sendInspectionEvent({ type: '@xstate.action', actorRef: this, action: { type, params } });
    exec?.(info, params);
  }

  // The mailbox.

  start(): unknown {
    // As a mailbox it is started by `Actor.start`, which has set the status by then.
    if (this._processingStatus !== running) return actor.start.call(this as unknown as AnyActorRef);
    this.#takes = true;
    this.#flush();
    return this;
  }

  enqueue(event: EventObject): void {
    if (this.#current !== undefined || !this.#takes) {
      this.#waiting ??= [];
      this.#waiting.push(event);
      return;
    }
    this.#process(event);
    this.#flush();
  }

  clear(): void {
    this.#waiting = undefined;
  }

  #flush(): void {
    for (;;) {
      const event = this.#waiting?.shift();
      if (event === undefined) return;
      this.#process(event);
    }
  }

  #process(event: EventObject): void {
    this.#current = event;
    (this as unknown as { _process(event: EventObject): void })._process(event);
    this.#current = undefined;
  }

  /** Ends what watches and listens, where anybody does. */
  _complete(): void {
    if (this.#observers === undefined && this.#listeners === undefined) return;
    (actor as unknown as { _complete(): void })._complete.call(this);
  }

  _stopProcedure(): this {
    if (this._processingStatus !== running) return this;
    this.system.scheduler.cancelAll(this);
    this.#waiting = undefined;
    this._processingStatus = stopped;
    this.system._unregister(this);
    return this;
  }
}

// Not by `extends`: that would run the constructor which this is about.
Object.setPrototypeOf(LeanActor.prototype, Actor.prototype);
