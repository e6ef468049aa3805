/**
 * Compiles a flat statechart into actor logic. The chart stays the single definition: a machine from
 * `setup().createMachine()` is compiled into logic with the same behaviour, which is spawned, sent to, awaited and inspected
 * like any actor. What the interpreter resolves at every step, such as matching transitions and action names, is resolved
 * once.
 *
 * Supported: atomic and final states under the root; entry, exit and transition actions by name, inline or parameterised;
 * `assign`, `emit`, `raise`, `cancel`, `sendTo` and `sendParent` as the interpreter's own; guards by name or inline;
 * `always`, `on` with wildcards, `after`, `invoke`, output. Anything else is rejected when the chart is compiled.
 * @see docs/decisions/0005-compiled-charts.md
 */

import type {
  ActorLogic,
  AnyActorRef,
  AnyActorScope,
  AnyStateMachine,
  ErrorActorEvent,
  EventFromLogic,
  EventObject,
  InputFrom,
  OutputFrom,
  Snapshot,
} from 'xstate';
import { createActor } from 'xstate';
import { type ActionRun, type Args, shownArgs } from './compiled-actions.ts';
import { type Chart, chartOf, type Step } from './compiled-chart.ts';
import { CompiledSnapshot, packedStep, persisted } from './compiled-snapshot.ts';
import type { Watched } from './lean-actor.ts';
import { systemInternals } from './xstate-internals.ts';

export interface CompileOptions {
  /** Returns the time of steps, in Unix milliseconds. */
  readonly now?: () => number;
  /** How many of its last steps an actor keeps; 0 keeps none. */
  readonly trail?: number;
  /**
   * Copies the context of a hot chart field by field (`LaidOut` ensures that none is missing): a spread puts most fields
   * into a second object, which is reallocated every few fields. Absent: a spread.
   */
  readonly copy?: (context: never) => object;
  /** Returns what is inspected in the system now. Absent: always everything. */
  readonly watched?: () => Watched;
}

/** A context with every field present, including undefined ones. */
export type LaidOut<Context> = { readonly [Field in keyof Required<Context>]: Context[Field] };

export type CompiledLogic<Machine extends AnyStateMachine = AnyStateMachine> = ActorLogic<
  Snapshot<OutputFrom<Machine>>,
  EventFromLogic<Machine>,
  InputFrom<Machine>
> & {
  readonly id: string;
  readonly config: AnyStateMachine['config'];
  readonly watched: () => Watched;
};

interface Scope extends Omit<AnyActorScope, 'actionExecutor'> {
  readonly self: AnyActorRef;
  readonly actionExecutor: ActionRun['scope']['actionExecutor'];
}

/** A macrostep in progress. */
interface Run {
  readonly scope: Scope;
  readonly event: EventObject;
  context: unknown;
  own: unknown;
  args: Args | undefined;
  state: number;
  status: 'active' | 'done';
  children: Readonly<Record<string, AnyActorRef>>;
  /** Events raised in this macrostep, handled before it ends. */
  raised: EventObject[] | undefined;
  trail: number[] | undefined;
  /** `at`: the time of this macrostep; `since`: when its resulting state was entered. */
  readonly at: number;
  since: number;
}

const noChildren: Readonly<Record<string, AnyActorRef>> = Object.freeze({});
/** A chart whose `always` transitions never settle would hang the process, as it does in the interpreter. */
const maxSteps = 1_000;

export function compile<Machine extends AnyStateMachine>(
  machine: Machine,
  options: CompileOptions = {},
): CompiledLogic<Machine> {
  const chart = chartOf(machine, options.copy as ((context: unknown) => object) | undefined);
  const now = options.now ?? (() => 0);
  const trailLength = options.trail ?? 0;
  const watched = options.watched ?? (() => true);

  const logic: ActorLogic<Snapshot<unknown>, EventObject, unknown> & Pick<CompiledLogic, 'id' | 'config' | 'watched'> =
    {
      id: chart.id,
      config: machine.config,
      watched,

      getInitialSnapshot(scope, input) {
        const event = { type: 'xstate.init', input } as EventObject;
        const context = chart.initialContext(scope as Scope, input, event);
        const run = begin(scope as Scope, event, { context, state: chart.initial, children: noChildren });
        try {
          invokeAll(run, chart.rootInvokes);
          enter(run, chart.initial);
          settle(run);
          return shown(snapshotOf(run, undefined));
        } catch (thrown) {
          throw ended(run, thrown);
        }
      },

      transition(from, event, scope) {
        const snapshot = from as CompiledSnapshot;
        if (snapshot.status !== 'active') return from;
        if (event.type === 'xstate.stop') {
          const run = begin(scope as Scope, event, snapshot);
          stopChildren(run);
          return shown(snapshot.stopped());
        }
        const run = begin(scope as Scope, event, snapshot);
        try {
          const step = chart.select(run, event);
          if (step === undefined) {
            if (event.type.startsWith('xstate.error.actor.') && !chart.listens(run.state, event.type)) {
              throw (event as ErrorActorEvent).error;
            }
            return from;
          }
          take(run, step, event);
          settle(run);
          return shown(snapshotOf(run, snapshot));
        } catch (thrown) {
          throw ended(run, thrown);
        }
      },

      getPersistedSnapshot: (snapshot) => persisted(snapshot as CompiledSnapshot) as never,
    };
  // The logic works for any machine; its type is that of the given one.
  return logic as unknown as CompiledLogic<Machine>;

  function begin(
    scope: Scope,
    event: EventObject,
    from: {
      readonly context: unknown;
      readonly state: number;
      readonly children: Readonly<Record<string, AnyActorRef>>;
      readonly trail?: number[] | undefined;
    },
  ): Run {
    const at = now();
    return {
      scope,
      event,
      context: from.context,
      own: undefined,
      args: undefined,
      state: from.state,
      status: 'active',
      children: from.children,
      raised: undefined,
      trail: from.trail,
      at,
      since: at,
    };
  }

  /** Stops the children of a failed actor; the interpreter leaves them running. */
  function ended(run: Run, thrown: unknown): unknown {
    systemInternals(run.scope.system).scheduler.cancelAll(run.scope.self);
    stopChildren(run);
    return thrown;
  }

  function snapshotOf(run: Run, before: CompiledSnapshot | undefined): CompiledSnapshot {
    if (before !== undefined && before.state === run.state && run.trail === before.trail) run.since = before.since;
    const output = run.status === 'done' ? chart.output(run.context, run.scope, run.event) : undefined;
    return new CompiledSnapshot(chart, run, output);
  }

  /** Takes transitions until none applies. */
  function settle(run: Run): void {
    for (let steps = 0; run.status === 'active'; steps += 1) {
      if (steps > maxSteps) throw new Error(`${chart.id}: "${chart.states[run.state]?.key}" never settles`);
      const eventless = chart.selectEventless(run, run.event);
      if (eventless !== undefined) {
        take(run, eventless, run.event);
        continue;
      }
      const raised = run.raised?.shift();
      if (raised === undefined) break;
      const step = chart.select(run, raised);
      if (step !== undefined) take(run, step, raised);
    }
    if (run.status === 'done') stopChildren(run);
  }

  function take(run: Run, step: Step, event: EventObject): void {
    const { target } = step;
    if (target >= 0) {
      const left = chart.states[run.state];
      if (left !== undefined) {
        for (const action of left.exit) action(run, event);
        for (const { id } of left.invokes) stopChild(run, id);
      }
    }
    for (const action of step.actions) action(run, event);
    if (trailLength > 0) remember(run, step, trailLength);
    if (target >= 0) enter(run, target, event);
    if (watched() !== false) inspect(run, step, event);
  }

  function enter(run: Run, state: number, event = run.event): void {
    run.state = state;
    const entered = chart.states[state];
    if (entered === undefined) return;
    for (const action of entered.entry) action(run, event);
    invokeAll(run, entered.invokes, event);
    if (!entered.isFinal) return;
    run.status = 'done';
    for (const action of entered.exit) action(run, event);
  }

  function invokeAll(run: Run, invokes: Chart['rootInvokes'], event = run.event): void {
    for (const invoke of invokes) invokeOne(run, invoke, event);
  }

  function invokeOne(run: Run, invoke: Chart['rootInvokes'][number], event: EventObject): void {
    const { scope } = run;
    const child = createActor(invoke.logic, {
      id: invoke.id,
      parent: scope.self,
      src: invoke.src,
      input: invoke.input(shownArgs(run, event)),
      ...(invoke.systemId === undefined ? {} : { systemId: invoke.systemId }),
    } as never) as AnyActorRef;
    run.children = { ...run.children, [invoke.id]: child };
    scope.defer(() => {
      // A child stopped before its start is not started, as in the interpreter.
      if (run.children[invoke.id] === child) child.start();
    });
  }

  function stopChild(run: Run, id: string): void {
    const { [id]: child, ...others } = run.children;
    if (child === undefined) return;
    run.children = others;
    run.scope.stopChild(child);
  }

  function stopChildren(run: Run): void {
    for (const id in run.children) stopChild(run, id);
  }

  function remember(run: Run, step: Step, maxLength: number): void {
    // All snapshots of an actor share the trail: it is history, not state.
    run.trail ??= [];
    run.trail.push(packedStep(run.at, step.index));
    if (run.trail.length > maxLength * 2) run.trail.splice(0, run.trail.length - maxLength);
  }

  /** Cheap if there is no inspector: the system drops the record, which only holds references. */
  function inspect(run: Run, step: Step, event: EventObject): void {
    run.own = undefined;
    systemInternals(run.scope.system)._sendInspectionEvent({
      type: '@xstate.microstep',
      actorRef: run.scope.self,
      event,
      snapshot: { context: run.context, value: chart.states[run.state]?.key, status: run.status },
      _transitions: step.definition,
    });
  }
}

/** The class types `status` less precisely than XState's union does. */
function shown(snapshot: CompiledSnapshot): Snapshot<unknown> {
  return snapshot as Snapshot<unknown>;
}
