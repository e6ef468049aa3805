/**
 * What each kind of action does in a macrostep: assigns, raises, sends, emits, or runs through the executor. Names, params
 * and delays are already resolved by the chart's reader.
 */

import type { AnyActorRef, EventObject } from 'xstate';
import { actorInternals, systemInternals } from './xstate-internals.ts';

/** What an action may change in a macrostep. */
export interface ActionRun {
  readonly scope: {
    readonly self: AnyActorRef;
    readonly system: object;
    readonly defer: (act: () => void) => void;
    readonly emit: (event: EventObject) => void;
    actionExecutor(action: ExecutableAction): void;
  };
  context: unknown;
  /**
   * The context, if this macrostep made it and it was passed to nothing that may keep it: assignments then write into it.
   * Guards and assigners also get it; they only read it and must not keep it.
   */
  own: unknown;
  /** The last arguments of guards and actions: most in a macrostep get the same. */
  args: Args | undefined;
  readonly children: Readonly<Record<string, AnyActorRef>>;
  raised: EventObject[] | undefined;
}

interface ExecutableAction {
  readonly type: string;
  readonly info: unknown;
  readonly params: unknown;
  readonly exec: (info: never, params: never) => void;
}

export type CompiledAction = (run: ActionRun, event: EventObject) => void;
/** The arguments of guards, actions and assigners in one object, so that it is made once for many. */
export interface Args {
  readonly context: unknown;
  readonly event: EventObject;
  readonly self: AnyActorRef;
  readonly system: unknown;
  readonly spawn: () => never;
}
/** The part of a run that `argsOf` needs. */
export interface Showing {
  readonly scope: { readonly self: AnyActorRef; readonly system: unknown };
  readonly context: unknown;
  own: unknown;
  args: Args | undefined;
}

export interface RaiseAction {
  readonly event: unknown;
  readonly delay?: unknown;
  readonly id?: string;
}

export interface SendAction {
  readonly to: unknown;
  readonly id?: unknown;
  readonly event: unknown;
  readonly delay?: unknown;
}

type Named = Readonly<Record<string, unknown>>;

export type Copy = (context: unknown) => object;

/** A plain spread: further members in the literal would leave the engine's fast path. */
export const spread: Copy = (context) => ({ ...(context as object) });

export function assignOf(assignment: unknown, paramsOf: (args: Args) => unknown, copy: Copy): CompiledAction {
  const partialOf = typeof assignment === 'function' ? (assignment as Assigner) : assignerOf(assignment as Named);
  return (run, event) => {
    const args = argsOf(run, event);
    const partial = partialOf(args, paramsOf(args));
    for (const key in partial) {
      if (run.own !== run.context || partial[key] === run.context) {
        run.context = copy(run.context);
        run.own = run.context;
      }
      (run.context as Record<string, unknown>)[key] = partial[key];
    }
  };
}

type Assigner = (args: Args, params: unknown) => Named;

/** The assigner for an assignment given as an object of members. */
function assignerOf(members: Named): Assigner {
  const entries = Object.entries(members);
  return (args, params) => {
    const partial: Record<string, unknown> = {};
    for (const [key, value] of entries) partial[key] = typeof value === 'function' ? value(args, params) : value;
    return partial;
  };
}

export function customOf(
  type: string,
  exec: (args: Args, params: unknown) => void,
  paramsOf: (args: Args) => unknown,
): CompiledAction {
  return (run, event) => {
    const info = shownArgs(run, event);
    // The executor waits until the actor has started, and reports to the inspector.
    run.scope.actionExecutor({ type, info, params: paramsOf(info), exec });
  };
}

/**
 * This and XState's other actions run through the executor, which waits for the actor's start and reports to the inspector;
 * they take effect when the macrostep has ended.
 */
export function cancelOf(sendId: unknown, paramsOf: (args: Args) => unknown): CompiledAction {
  return (run, event) => {
    const args = argsOf(run, event);
    const id = (typeof sendId === 'function' ? sendId(args, paramsOf(args)) : sendId) as string;
    const { scope } = run;
    scope.actionExecutor({
      type: 'xstate.cancel',
      info: args,
      params: { sendId: id },
      exec: () => scope.defer(() => systemInternals(scope.system).scheduler.cancel(scope.self, id)),
    });
  };
}

export function emitOf(event: unknown, paramsOf: (args: Args) => unknown): CompiledAction {
  return (run, cause) => {
    const args = shownArgs(run, cause);
    const emitted = (typeof event === 'function' ? event(args, paramsOf(args)) : event) as EventObject;
    const { scope } = run;
    scope.actionExecutor({
      type: 'xstate.emit',
      info: args,
      params: { event: emitted },
      exec: () => scope.defer(() => scope.emit(emitted)),
    });
  };
}

/** @param delays named delays with their values */
export function raiseOf(
  { event, delay, id }: RaiseAction,
  paramsOf: (args: Args) => unknown,
  delays: Named,
): CompiledAction {
  return (run, cause) => {
    const args = shownArgs(run, cause);
    const params = paramsOf(args);
    const raised = (typeof event === 'function' ? event(args, params) : event) as EventObject;
    const named = typeof delay === 'string' ? delays[delay] : delay;
    const waitMs: unknown = typeof named === 'function' ? named(args, params) : named;
    const { scope } = run;
    if (typeof waitMs !== 'number') {
      run.raised ??= [];
      run.raised.push(raised);
    }
    scope.actionExecutor({
      type: 'xstate.raise',
      info: args,
      params: { event: raised, id, delay: waitMs },
      exec: () => {
        if (typeof waitMs !== 'number') return;
        const { self, system } = scope;
        scope.defer(() => systemInternals(system).scheduler.schedule(self, self, raised, waitMs, id));
      },
    });
  };
}

/** Sends at once: delayed sends are not supported. */
export function sendOf(action: SendAction, paramsOf: (args: Args) => unknown): CompiledAction {
  const { to: target, event } = action;
  return (run, cause) => {
    const args = shownArgs(run, cause);
    const params = paramsOf(args);
    const sent = (typeof event === 'function' ? event(args, params) : event) as EventObject;
    const named = typeof target === 'function' ? target(args, params) : target;
    const to = refOf(named, run);
    const { scope } = run;
    if (to === undefined) return;
    scope.actionExecutor({
      type: 'xstate.sendTo',
      info: args,
      params: {
        to,
        targetId: typeof named === 'string' ? named : undefined,
        event: sent,
        id: action.id,
        delay: undefined,
      },
      exec: () => scope.defer(() => systemInternals(scope.system)._relay(scope.self, to, sent)),
    });
  };
}

export function argsOf(run: Showing, event: EventObject): Args {
  const { args, context } = run;
  if (args !== undefined && args.context === context && args.event === event) return args;
  const { self, system } = run.scope;
  const made = { context, event, self, system, spawn: noSpawn };
  run.args = made;
  return made;
}

/** Arguments for a callee that may keep the context: from here on it is not modified. */
export function shownArgs(run: Showing, event: EventObject): Args {
  run.own = undefined;
  return argsOf(run, event);
}

function refOf(target: unknown, run: ActionRun): AnyActorRef | undefined {
  if (target === '#_parent') return actorInternals(run.scope.self)._parent;
  if (typeof target === 'string') return run.children[target];
  return target as AnyActorRef | undefined;
}

export function noSpawn(): never {
  throw new Error('compile: spawning from a context or an assignment is not supported; run the machine itself instead');
}
