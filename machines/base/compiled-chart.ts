/**
 * Reads a machine once into what its steps need: states by number, transitions by event, actions and guards resolved from
 * their names. Rejects what compiled charts do not support, naming the machine, state and feature.
 */

import type { AnyActorLogic, AnyActorRef, AnyStateMachine, AnyStateNode, EventObject } from 'xstate';
import {
  type Args,
  argsOf,
  assignOf,
  type CompiledAction,
  type Copy,
  cancelOf,
  customOf,
  emitOf,
  noSpawn,
  type RaiseAction,
  raiseOf,
  type SendAction,
  type Showing,
  sendOf,
  spread,
} from './compiled-actions.ts';

/** The most steps per chart: packed with a time in milliseconds, they fit a safe integer until the year 2248. */
export const maxSteps = 1_024;

type Guard = (args: Args) => boolean;
type Choosing = Showing & { readonly state: number };

export interface Step {
  /** Its number among the chart's steps. */
  readonly index: number;
  readonly guard: Guard | undefined;
  readonly actions: readonly CompiledAction[];
  /** The number of the target state; -1 if the state is not left. */
  readonly target: number;
  readonly eventType: string;
  readonly from: string;
  readonly to: string;
  /** The interpreter's own definition, for inspection. */
  readonly definition: readonly object[];
}

interface Invoke {
  readonly id: string;
  readonly src: string;
  readonly systemId: string | undefined;
  readonly logic: AnyActorLogic;
  readonly input: (args: Args) => unknown;
}

interface ChartState {
  readonly key: string;
  readonly isFinal: boolean;
  readonly entry: readonly CompiledAction[];
  readonly exit: readonly CompiledAction[];
  readonly always: readonly Step[];
  readonly on: ReadonlyMap<string, readonly Step[]>;
  /** Event descriptors with a wildcard, the most specific first. */
  readonly wildcards: readonly { readonly prefix: string; readonly steps: readonly Step[] }[];
  readonly invokes: readonly Invoke[];
  readonly tags: readonly string[];
  readonly meta: unknown;
}

export interface Chart {
  readonly id: string;
  readonly initial: number;
  readonly states: readonly ChartState[];
  readonly steps: readonly Step[];
  readonly rootInvokes: readonly Invoke[];
  initialContext(scope: { readonly self: AnyActorRef }, input: unknown, event: EventObject): unknown;
  output(context: unknown, scope: { readonly self: AnyActorRef }, event: EventObject): unknown;
  /** The transition for an event: the state's own, else the root's. */
  select(run: Choosing, event: EventObject): Step | undefined;
  selectEventless(run: Choosing, event: EventObject): Step | undefined;
  /** Whether any transition handles the event, whether its guard passes or not. */
  listens(state: number, type: string): boolean;
}

interface Definition {
  readonly target?: readonly AnyStateNode[] | undefined;
  readonly actions: readonly unknown[];
  readonly guard?: unknown;
  readonly reenter: boolean;
  readonly eventType: string;
}

type Named = Readonly<Record<string, unknown>>;

/** XState's built-in actions with their supported fields; a custom action has no type. */
type BuiltIn =
  | { readonly type: 'xstate.assign'; readonly assignment: unknown }
  | ({ readonly type: 'xstate.raise' } & RaiseAction)
  | { readonly type: 'xstate.cancel'; readonly sendId: unknown }
  | { readonly type: 'xstate.emit'; readonly event: unknown }
  | ({ readonly type: 'xstate.sendTo' } & SendAction)
  | { readonly type: undefined };

export function chartOf(machine: AnyStateMachine, copy: Copy = spread): Chart {
  const { root } = machine as { root: AnyStateNode };
  const nodes = Object.values(root.states) as AnyStateNode[];
  const implementations = machine.implementations as {
    actions: Named;
    guards: Named;
    actors: Named;
    delays: Named;
  };
  const refuse = (where: string, feature: string): never => {
    throw new Error(
      `compile: machine "${machine.id}", ${where}: ${feature} is not supported; run the machine itself instead`,
    );
  };
  const indexOf = (key: string): number => nodes.findIndex((node) => node.key === key);
  const steps: Step[] = [];

  if (nodes.length === 0) refuse('root', 'a machine without states');
  if (root.type === 'parallel') refuse('root', 'a parallel state');
  if (root.entry.length > 0 || root.exit.length > 0) refuse('root', 'entry or exit actions of the root');

  const states = nodes.map(stateOf);
  const rootOn = transitionsOf(root, true);
  const contextConfig = machine.config.context as unknown;
  const outputConfig = machine.config.output as unknown;

  if (steps.length > maxSteps) refuse('root', `a chart of more than ${maxSteps} transitions`);

  return {
    id: machine.id,
    initial: indexOf(root.initial.target[0]?.key ?? ''),
    states,
    steps,
    rootInvokes: root.invoke.map((invoke) => invokeOf(invoke as never, 'root')),
    initialContext: (scope, input) =>
      typeof contextConfig === 'function'
        ? contextConfig({ input, self: scope.self, spawn: noSpawn })
        : (contextConfig ?? {}),
    output: (context, scope, event) =>
      typeof outputConfig === 'function' ? outputConfig({ context, event, self: scope.self }) : outputConfig,
    select(run, event) {
      const own = states[run.state];
      return (own && selectIn(own, run, event)) ?? selectIn(rootOn, run, event);
    },
    selectEventless(run, event) {
      const always = states[run.state]?.always;
      return always === undefined || always.length === 0 ? undefined : firstOpen(always, run, event);
    },
    listens: (state, type) => states[state]?.on.has(type) === true || rootOn.on.has(type),
  };

  function stateOf(node: AnyStateNode): ChartState {
    const where = `state "${node.key}"`;
    if (node.type !== 'atomic' && node.type !== 'final') refuse(where, `a ${node.type} state`);
    const { on, wildcards } = transitionsOf(node, false);
    return {
      key: node.key,
      isFinal: node.type === 'final',
      entry: node.entry.map((action) => actionOf(action, where)),
      exit: node.exit.map((action) => actionOf(action, where)),
      always: (node.always ?? []).map((definition) => stepOf(node, definition as Definition, false)),
      on,
      wildcards,
      invokes: node.invoke.map((invoke) => invokeOf(invoke as never, where)),
      tags: node.tags,
      meta: node.meta,
    };
  }

  function transitionsOf(node: AnyStateNode, isRoot: boolean): Pick<ChartState, 'on' | 'wildcards'> {
    const on = new Map<string, readonly Step[]>();
    const wildcards: { readonly prefix: string; readonly steps: readonly Step[] }[] = [];
    for (const [descriptor, definitions] of node.transitions) {
      if (descriptor === '') continue;
      const listed = (definitions as readonly Definition[]).map((definition) => stepOf(node, definition, isRoot));
      if (descriptor.endsWith('*')) wildcards.push({ prefix: descriptor.slice(0, -1), steps: listed });
      else on.set(descriptor, listed);
    }
    wildcards.sort((one, other) => other.prefix.length - one.prefix.length);
    return { on, wildcards };
  }

  function stepOf(node: AnyStateNode, definition: Definition, isRoot: boolean): Step {
    const where = isRoot ? 'root' : `state "${node.key}"`;
    const [target, ...others] = definition.target ?? [];
    if (others.length > 0) refuse(where, 'a transition with several targets');
    if (target !== undefined && target.parent !== root) refuse(where, `a transition to "${target.id}"`);
    // An atomic state that targets itself is left and entered only if the transition reenters.
    const stays = target === undefined || (target === node && !definition.reenter);
    const step: Step = {
      index: steps.length,
      guard: definition.guard === undefined ? undefined : guardOf(definition.guard, where),
      actions: definition.actions.map((action) => actionOf(action, where)),
      target: stays ? -1 : indexOf(target.key),
      eventType: definition.eventType,
      from: isRoot ? '*' : node.key,
      to: target?.key ?? node.key,
      definition: [definition],
    };
    steps.push(step);
    return step;
  }

  function guardOf(guard: unknown, where: string): Guard {
    const { name, params } = referenceOf(guard);
    const check = name === undefined ? guard : implementations.guards[name];
    if (typeof check !== 'function')
      return refuse(where, `the guard "${name ?? String(guard)}" without an implementation`);
    if ('check' in check) return refuse(where, 'a guard made by and, or, not or stateIn');
    return (args) => Boolean(check(args, typeof params === 'function' ? params(args) : params));
  }

  function actionOf(action: unknown, where: string): CompiledAction {
    const { name, params } = referenceOf(action);
    const found = name === undefined ? action : implementations.actions[name];
    if (typeof found !== 'function')
      return refuse(where, `the action "${name ?? String(action)}" without an implementation`);
    // XState's actions are functions that carry their arguments; it publishes no type for that.
    const own = found as unknown as BuiltIn;
    const paramsOf = (args: Args): unknown => (typeof params === 'function' ? params(args) : params);
    switch (own.type) {
      case 'xstate.assign':
        return assignOf(own.assignment, paramsOf, copy);
      case 'xstate.raise':
        return raiseOf(own, paramsOf, implementations.delays);
      case 'xstate.cancel':
        return cancelOf(own.sendId, paramsOf);
      case 'xstate.emit':
        return emitOf(own.event, paramsOf);
      case 'xstate.sendTo':
        if (own.delay !== undefined) return refuse(where, 'a delayed sendTo');
        return sendOf(own, paramsOf);
      case undefined:
        return customOf(
          name ?? (found.name || '(anonymous)'),
          found as (args: Args, params: unknown) => void,
          paramsOf,
        );
      default:
        return refuse(where, `the action ${(own as { readonly type: string }).type}`);
    }
  }

  function invokeOf(
    invoke: { readonly id: string; readonly src: string; readonly systemId?: string; readonly input?: unknown },
    where: string,
  ): Invoke {
    // The machine gives inline logic a generated name.
    const logic = implementations.actors[invoke.src] as AnyActorLogic | undefined;
    if (logic === undefined) return refuse(where, `the actor "${invoke.src}" without an implementation`);
    const { input } = invoke;
    return {
      id: invoke.id,
      src: invoke.src,
      systemId: invoke.systemId,
      logic,
      input: typeof input === 'function' ? (input as (args: Args) => unknown) : () => input,
    };
  }
}

function selectIn(
  { on, wildcards }: Pick<ChartState, 'on' | 'wildcards'>,
  run: Choosing,
  event: EventObject,
): Step | undefined {
  const exact = on.get(event.type);
  const step = exact === undefined ? undefined : firstOpen(exact, run, event);
  if (step !== undefined || wildcards.length === 0) return step;
  for (const { prefix, steps } of wildcards) {
    if (!event.type.startsWith(prefix)) continue;
    const open = firstOpen(steps, run, event);
    if (open !== undefined) return open;
  }
  return undefined;
}

function firstOpen(steps: readonly Step[], run: Choosing, event: EventObject): Step | undefined {
  for (const step of steps) if (step.guard === undefined || step.guard(argsOf(run, event))) return step;
  return undefined;
}

function referenceOf(reference: unknown): { readonly name?: string; readonly params?: unknown } {
  if (typeof reference === 'string') return { name: reference };
  if (typeof reference !== 'object' || reference === null) return {};
  const { type, params } = reference as { readonly type: string; readonly params?: unknown };
  return { name: type, params };
}
