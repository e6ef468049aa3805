/**
 * A ward keeps many short-lived children of one kind. It has actor logic of its own and a Map: a stock parent copies its
 * children with every spawn, a ward pays the same for the first child and for the hundred-thousandth. It reaps the
 * finished, survives the crashed and stops the rest with itself. Knows nothing of what its children do.
 * @see INS-1 in docs/specification.md
 */

import {
  type ActorLogic,
  type ActorRefFrom,
  type AnyActorLogic,
  type AnyActorRef,
  createActor,
  type InputFrom,
  type OutputFrom,
  type Snapshot,
} from 'xstate';
import { createLeanActor, type LeanLogic } from './lean-actor.ts';
import { Roster } from './roster.ts';
import { actorInternals } from './xstate-internals.ts';

export interface WardOptions<Logic extends AnyActorLogic> {
  /** The room that the children's addresses begin with, such as `requests`. */
  readonly name: string;
  readonly logic: Logic;
  /** Hears of each child that ended, after it is gone from the ward. */
  readonly onDone?: (key: string, output: OutputFrom<Logic>) => void;
  /** Hears of each child that failed, after it is gone from the ward. */
  readonly onCrashed?: (key: string, error: unknown) => void;
}

export interface WardContext {
  readonly name: string;
  size: number;
  spawned: number;
  finished: number;
  crashed: number;
}

export type WardSnapshot = Snapshot<undefined> & { readonly context: WardContext };
type ChildFact = {
  readonly type: string;
  readonly actorId?: string;
  readonly output?: unknown;
  readonly error?: unknown;
};
export type WardLogic<Logic extends AnyActorLogic> = ActorLogic<WardSnapshot, ChildFact, undefined> & {
  readonly id: string;
  readonly childLogic: Logic;
};

/** The ward as those see it who spawn and look up; not an actor, so that the hot path pays for no mailbox. */
export interface WardHandle<Input, Child = AnyActorRef> {
  readonly name: string;
  /** The name of the children's machine. */
  readonly childMachine: string;
  readonly size: number;
  /** Spawns and starts a child; undefined if the key is taken or the ward has stopped. */
  spawn(key: string, input: Input): Child | undefined;
  get(key: string): Child | undefined;
  /** Calls back for each child until the callback returns false. */
  each(visit: (key: string, child: Child) => boolean): void;
  /** Stops every child without a word to anybody. */
  clear(): void;
}

interface Children {
  /** By their keys, which are their ids too. */
  readonly byKey: Roster<string, AnyActorRef>;
  readonly context: WardContext;
  readonly logic: AnyActorLogic;
  isStopped: boolean;
  /** Made once: it is asked for with every spawn and every look. */
  handle: unknown;
}

/** The children of every ward, kept beside its snapshot so that the snapshot stays JSON and is never copied. */
const wards = new WeakMap<object, Children>();

export function createWard<Logic extends AnyActorLogic>(options: WardOptions<Logic>): WardLogic<Logic> {
  return {
    id: `${options.name}Pool`,
    childLogic: options.logic,

    getInitialSnapshot({ self }) {
      const context: WardContext = { name: options.name, size: 0, spawned: 0, finished: 0, crashed: 0 };
      wards.set(self, { byKey: new Roster(), context, logic: options.logic, isStopped: false, handle: undefined });
      return { status: 'active', output: undefined, error: undefined, context };
    },

    transition(snapshot, event, { self }) {
      const children = wards.get(self);
      if (children === undefined) return snapshot;
      if (event.type === 'xstate.stop') {
        // Stopped like an interpreter's children: without waiting, their effects aborted by their own signals.
        children.isStopped = true;
        stopAll(children);
        return { ...snapshot, status: 'stopped' } as WardSnapshot;
      }
      // A child's id is its key, so that it has its address from its first step on.
      const key = event.actorId;
      const child = key === undefined ? undefined : children.byKey.get(key);
      // The last word of one that was stopped must not end another that has its key since.
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
 * Stands in for a ward that does not live: it holds nobody and has no room for anybody, so that work which asks for room
 * stays where it is written down, for the ward that comes.
 */
export function absentWard<Input>(name: string): WardHandle<Input> {
  return {
    name,
    childMachine: 'actor',
    size: Number.POSITIVE_INFINITY,
    spawn: () => undefined,
    get: () => undefined,
    each: () => {},
    clear: () => {},
  };
}

/** Tells whether an actor is a ward. */
export function isWard(ref: AnyActorRef): boolean {
  return wards.has(ref);
}

export function wardHandle<Logic extends AnyActorLogic>(
  ref: AnyActorRef,
  _logic?: Logic,
): WardHandle<InputFrom<Logic>, ActorRefFrom<Logic>> {
  const children = wards.get(ref);
  if (children === undefined) throw new TypeError(`actor "${ref.id}" is no pool`);
  children.handle ??= handleOf(ref, children);
  return children.handle as WardHandle<InputFrom<Logic>, ActorRefFrom<Logic>>;
}

function handleOf<Logic extends AnyActorLogic>(
  ref: AnyActorRef,
  children: Children,
): WardHandle<InputFrom<Logic>, ActorRefFrom<Logic>> {
  const { byKey, context, logic } = children;
  return {
    name: context.name,
    childMachine: (logic as { readonly id?: string }).id ?? 'actor',
    get size() {
      return byKey.size;
    },
    spawn(key, input) {
      // A stopped ward ends no child, so the timers of a late one would keep the process alive.
      if (children.isStopped || byKey.has(key)) return undefined;
      const child = createChild(logic, ref, key, input);
      byKey.set(key, child);
      context.size = byKey.size;
      context.spawned += 1;
      child.start();
      return child as ActorRefFrom<Logic>;
    },
    get: (key) => byKey.get(key) as ActorRefFrom<Logic> | undefined,
    each(visit) {
      byKey.each((key, child) => visit(key, child as ActorRefFrom<Logic>));
    },
    clear: () => stopAll(children),
  };
}

/** Compiled logic needs no more than a lean actor; what the interpreter runs needs its own. */
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
  children.context.size = 0;
}

function reap(children: Children, key: string): void {
  children.byKey.delete(key);
  children.context.size = children.byKey.size;
}

function isLiving(child: AnyActorRef): boolean {
  return (child.getSnapshot() as { readonly status: string }).status === 'active';
}

/** A child may be stopped by its parent only; the ward's handle is its parent's hand. */
function stop(child: AnyActorRef): void {
  actorInternals(child)._stop();
}
