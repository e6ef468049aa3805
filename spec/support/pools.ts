/** WorkPools for specs: one whose children only write down what they hear, and a real one around a chart. */

import type { Test } from 'tap';
import { type AnyActorLogic, type AnyStateMachine, createActor } from 'xstate';
import { createPool, type PoolHandle, type PoolOptions, poolHandle } from '../../machines/base/pool.ts';
import type { RunInput } from '../../machines/webhook/agent-run.machine.ts';
import type { GroupInput } from '../../machines/webhook/coalescing-group.machine.ts';
import type { DeliveryInput } from '../../machines/webhook/delivery.machine.ts';
import { deliveryQueue, runQueue } from '../../machines/webhook/work-queue.ts';
import { createWorkPools } from '../../runtime/system/work-pools.ts';

export interface FakeChild<Input> {
  readonly key: string;
  readonly input: Input;
  /** What it was sent. */
  readonly heard: { readonly type: string }[];
  /** What it shows of itself. */
  snapshot: { value: string; since: number; context: unknown };
}

interface Watcher {
  next(snapshot: { readonly value: string }): void;
  complete(): void;
}

export interface FakePool<Input> {
  readonly handle: () => PoolHandle<never>;
  /** The children, in the order of their spawning; those that ended too. */
  readonly spawned: FakeChild<Input>[];
  living(key: string): FakeChild<Input> | undefined;
  /** Shows a child in another state to those who watch it. */
  move(key: string, value: string): void;
  end(key: string): void;
}

export function fakePool<Input>(
  shown: (input: Input) => Partial<FakeChild<Input>['snapshot']> = () => ({}),
  /** Whose tags its states have. */
  chart?: AnyStateMachine,
  queueOf?: (input: Input) => string,
): FakePool<Input> {
  const living = new Map<string, FakeChild<Input>>();
  const spawned: FakeChild<Input>[] = [];
  const watchers = new Map<string, Set<Watcher>>();
  const queues = new Map<string, number>();
  const count = (input: Input, by: 1 | -1): void => {
    if (queueOf === undefined) return;
    const queue = queueOf(input);
    const now = (queues.get(queue) ?? 0) + by;
    if (now > 0) queues.set(queue, now);
    else queues.delete(queue);
  };
  const refOf = (child: FakeChild<Input>) => ({
    id: child.key,
    send: (event: { readonly type: string }) => void child.heard.push(event),
    getSnapshot: () => ({
      ...child.snapshot,
      hasTag: (tag: string) => chart?.states[child.snapshot.value]?.tags.includes(tag) === true,
    }),
    subscribe(watcher: Watcher) {
      const all = watchers.get(child.key) ?? new Set();
      watchers.set(child.key, all.add(watcher));
      return { unsubscribe: () => void all.delete(watcher) };
    },
  });
  const handle = {
    name: 'fake',
    childMachine: 'fake',
    get size() {
      return living.size;
    },
    queues,
    spawn(key: string, input: Input) {
      if (living.has(key)) return undefined;
      const snapshot = { value: 'living', since: 0, context: input, ...shown(input) };
      const child: FakeChild<Input> = { key, input, heard: [], snapshot };
      living.set(key, child);
      spawned.push(child);
      count(input, 1);
      return refOf(child);
    },
    get: (key: string) => {
      const child = living.get(key);
      return child === undefined ? undefined : refOf(child);
    },
    keyOf: () => undefined,
    *[Symbol.iterator]() {
      for (const child of living.values()) yield [child.key, refOf(child)];
    },
    clear() {
      living.clear();
      queues.clear();
    },
  };
  return {
    handle: () => handle as never,
    spawned,
    living: (key) => living.get(key),
    move(key, value) {
      const child = living.get(key);
      if (child === undefined) return;
      child.snapshot = { ...child.snapshot, value };
      for (const watcher of [...(watchers.get(key) ?? [])]) watcher.next(child.snapshot);
    },
    end(key) {
      const child = living.get(key);
      if (child !== undefined) count(child.input, -1);
      living.delete(key);
      for (const watcher of [...(watchers.get(key) ?? [])]) watcher.complete();
    },
  };
}

/** The pools of a gateway's work, all of them fake. */
export function fakePools(nowMs: () => number = () => 100) {
  const [requests, groups, runs, deliveries] = [
    fakePool(),
    fakePool<GroupInput>(),
    fakePool<RunInput>(undefined, undefined, ({ record }) => runQueue(record)),
    fakePool<DeliveryInput>(undefined, undefined, ({ record }) => deliveryQueue(record)),
  ];
  const handles = {
    requests: requests.handle(),
    groups: groups.handle(),
    runs: runs.handle(),
    deliveries: deliveries.handle(),
  };
  return { pools: createWorkPools(handles, nowMs), groups, runs, deliveries };
}

/** A real pool; it ends with the spec. */
export function startPool<Input>(
  t: Test,
  logic: AnyActorLogic,
  more: Partial<PoolOptions<AnyActorLogic>> = {},
): () => PoolHandle<Input> {
  const actor = createActor(createPool({ name: 'pool', logic, ...more }) as AnyActorLogic, {}).start();
  t.teardown(() => actor.stop());
  const handle = poolHandle(actor as never) as unknown as PoolHandle<Input>;
  return () => handle;
}
