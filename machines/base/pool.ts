/**
 * A pool keeps many short-lived children of one kind. It has its own actor logic and a Map: a stock parent copies its
 * children at every spawn, while a pool pays the same for the first child and for the hundred-thousandth. It removes
 * finished children, survives crashed ones, and stops the rest when it stops.
 * @see INS-1 in docs/specification.md
 */

import {
  type ActorLogic,
  type ActorRefFrom,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyStateMachine,
  createActor,
  type EventFrom,
  type InputFrom,
  type OutputFrom,
  type Snapshot,
  type SnapshotFrom,
} from 'xstate';
import { ChurnMap } from './churn-map.ts';
import { createLeanActor, type LeanLogic } from './lean-actor.ts';
import { actorInternals } from './xstate-internals.ts';

export interface PoolOptions<Logic extends AnyActorLogic> {
  /** The prefix of the children's addresses, such as `requests`. */
  readonly name: string;
  readonly logic: Logic;
  /** The queue of a child, if they are counted by queue. */
  readonly queueOf?: (input: InputFrom<Logic>) => string;
  /** Called for each child that ended, after its removal from the pool. */
  readonly onDone?: (key: string, output: OutputFrom<Logic>) => void;
  /** Called for each child that failed, after its removal from the pool. */
  readonly onCrashed?: (key: string, error: unknown) => void;
}

interface PoolContext {
  readonly name: string;
  size: number;
  spawned: number;
  finished: number;
  crashed: number;
}

type PoolSnapshot = Snapshot<undefined> & { readonly context: PoolContext };
type ChildFact = {
  readonly type: string;
  readonly actorId?: string;
  readonly output?: unknown;
  readonly error?: unknown;
};
type PoolLogic<Logic extends AnyActorLogic> = ActorLogic<PoolSnapshot, ChildFact, undefined> & {
  readonly id: string;
  readonly childLogic: Logic;
};

/**
 * The pool for code that spawns and looks up children; not an actor, so the hot path needs no mailbox. Yields each child that
 * is still there at its turn.
 */
export interface PoolHandle<Input, Child = AnyActorRef> extends Iterable<readonly [key: string, child: Child]> {
  readonly name: string;
  /** The name of the children's machine. */
  readonly childMachine: string;
  readonly size: number;
  /** How many children each queue has; only queues with children. */
  readonly queues: ReadonlyMap<string, number>;
  /** Spawns and starts a child; undefined if the key is taken or the pool has stopped. */
  spawn(key: string, input: Input): Child | undefined;
  get(key: string): Child | undefined;
  /** Stops every child without any callback. */
  clear(): void;
}

/** The pool of a compiled chart: its children have the chart's states and context, and take its events. */
export type ChartPool<Machine extends AnyStateMachine> = PoolHandle<InputFrom<Machine>, ChartRef<Machine>>;

export interface ChartRef<Machine extends AnyStateMachine> extends Omit<AnyActorRef, 'getSnapshot' | 'send'> {
  send(event: EventFrom<Machine>): void;
  getSnapshot(): Pick<SnapshotFrom<Machine>, 'value' | 'context' | 'status' | 'hasTag'> & { readonly since: number };
}

interface Children {
  /** Keyed by their ids. */
  readonly byKey: ChurnMap<string, AnyActorRef>;
  readonly context: PoolContext;
  readonly logic: AnyActorLogic;
  readonly queueOf: ((input: never) => string) | undefined;
  /** The queues of the children, by their ids. */
  readonly queueByKey: ChurnMap<string, string>;
  readonly queues: Map<string, number>;
  isStopped: boolean;
  /** Made once, because every spawn and look-up needs it. */
  handle: unknown;
}

/** The children of every pool, outside its snapshot, so that the snapshot stays JSON and is never copied. */
const pools = new WeakMap<object, Children>();

export function createPool<Logic extends AnyActorLogic>(options: PoolOptions<Logic>): PoolLogic<Logic> {
  return {
    id: `${options.name}Pool`,
    childLogic: options.logic,

    getInitialSnapshot({ self }) {
      const context: PoolContext = { name: options.name, size: 0, spawned: 0, finished: 0, crashed: 0 };
      pools.set(self, {
        byKey: new ChurnMap(),
        context,
        logic: options.logic,
        queueOf: options.queueOf,
        queueByKey: new ChurnMap(),
        queues: new Map(),
        isStopped: false,
        handle: undefined,
      });
      return { status: 'active', output: undefined, error: undefined, context };
    },

    transition(snapshot, event, { self }) {
      const children = pools.get(self);
      if (children === undefined) return snapshot;
      if (event.type === 'xstate.stop') {
        // Stopped like an interpreter's children: without waiting, their effects aborted by their signals.
        children.isStopped = true;
        stopAll(children);
        return { ...snapshot, status: 'stopped' } as PoolSnapshot;
      }
      // A child's id is its key, so that it has its address from its first step on.
      const key = event.actorId;
      const child = key === undefined ? undefined : children.byKey.get(key);
      // A late event of a stopped child must not end the newer child with its key.
      if (key === undefined || child === undefined || isLiving(child)) return snapshot;
      if (event.type.startsWith('xstate.done.actor.')) {
        reap(children, key);
        children.context.finished += 1;
        options.onDone?.(key, event.output as OutputFrom<Logic>);
      } else if (event.type.startsWith('xstate.error.actor.')) {
        reap(children, key);
        stop(child);
        children.context.crashed += 1;
        options.onCrashed?.(key, event.error);
      }
      return snapshot;
    },

    getPersistedSnapshot: (snapshot) => snapshot,
  };
}

/**
 * Replaces a pool that does not exist yet: it is empty and has no room, so that work waiting for room stays in the journal
 * until the pool exists.
 */
export function absentPool(name: string): PoolHandle<never> {
  return {
    name,
    childMachine: 'actor',
    size: Number.POSITIVE_INFINITY,
    queues: new Map(),
    spawn: () => undefined,
    get: () => undefined,
    [Symbol.iterator]: () => [][Symbol.iterator](),
    clear: () => {},
  };
}

export function isPool(ref: AnyActorRef): boolean {
  return pools.has(ref);
}

export function poolHandle<Logic extends AnyActorLogic>(
  ref: AnyActorRef,
): PoolHandle<InputFrom<Logic>, ActorRefFrom<Logic>> {
  const children = pools.get(ref);
  if (children === undefined) throw new TypeError(`actor "${ref.id}" is no pool`);
  children.handle ??= handleOf(ref, children);
  return children.handle as PoolHandle<InputFrom<Logic>, ActorRefFrom<Logic>>;
}

function handleOf<Logic extends AnyActorLogic>(
  ref: AnyActorRef,
  children: Children,
): PoolHandle<InputFrom<Logic>, ActorRefFrom<Logic>> {
  const { byKey, context, logic, queues } = children;
  return {
    queues,
    name: context.name,
    childMachine: (logic as { readonly id?: string }).id ?? 'actor',
    get size() {
      return byKey.size;
    },
    spawn(key, input) {
      // A stopped pool stops no more children, so the timers of a late one would keep the process alive.
      if (children.isStopped || byKey.has(key)) return undefined;
      const child = createChild(logic, ref, key, input);
      byKey.set(key, child);
      enqueue(children, key, input);
      context.size = byKey.size;
      context.spawned += 1;
      child.start();
      return child as ActorRefFrom<Logic>;
    },
    get: (key) => byKey.get(key) as ActorRefFrom<Logic> | undefined,
    [Symbol.iterator]: () => byKey[Symbol.iterator]() as Iterator<[string, ActorRefFrom<Logic>]>,
    clear: () => stopAll(children),
  };
}

/** A lean actor is enough for compiled logic; interpreted logic needs XState's. */
function createChild(logic: AnyActorLogic, parent: AnyActorRef, id: string, input: unknown): AnyActorRef {
  if (isLean(logic)) return createLeanActor(logic, parent, id, input);
  return createActor(logic, { parent, id, input } as never) as AnyActorRef;
}

function isLean(logic: unknown): logic is LeanLogic {
  return typeof (logic as Partial<LeanLogic>).watched === 'function';
}

function stopAll(children: Children): void {
  children.byKey.each((_, child) => stop(child));
  children.byKey.clear();
  children.queueByKey.clear();
  children.queues.clear();
  children.context.size = 0;
}

function enqueue({ queueOf, queueByKey, queues }: Children, key: string, input: unknown): void {
  const queue = queueOf?.(input as never);
  if (queue === undefined) return;
  queueByKey.set(key, queue);
  queues.set(queue, (queues.get(queue) ?? 0) + 1);
}

function dequeue({ queueByKey, queues }: Children, key: string): void {
  const queue = queueByKey.get(key);
  if (queue === undefined) return;
  queueByKey.delete(key);
  const left = (queues.get(queue) ?? 1) - 1;
  if (left === 0) queues.delete(queue);
  else queues.set(queue, left);
}

function reap(children: Children, key: string): void {
  children.byKey.delete(key);
  dequeue(children, key);
  children.context.size = children.byKey.size;
}

function isLiving(child: AnyActorRef): boolean {
  return (child.getSnapshot() as { readonly status: string }).status === 'active';
}

/** Only a parent may stop its child; the pool does so for it. */
function stop(child: AnyActorRef): void {
  actorInternals(child)._stop();
}
