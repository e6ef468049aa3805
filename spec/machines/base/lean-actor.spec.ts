import t, { type Test } from 'tap';
import { type AnyActorLogic, type AnyActorRef, createActor, type InspectionEvent, SimulatedClock, setup } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { createLeanActor, type LeanLogic } from '../../../machines/base/lean-actor.ts';
import { fc, runs } from '../../support/property.ts';
import { type Act, drawn, machineOf, type Sent, script } from '../../support/random-chart.ts';

type Making = (logic: AnyActorLogic, parent: AnyActorRef, input: unknown) => AnyActorRef;

const stock: Making = (logic, parent, input) =>
  createActor(logic, { parent, id: 'child', input } as never) as unknown as AnyActorRef;
const lean: Making = (logic, parent, input) => createLeanActor(logic as unknown as LeanLogic, parent, 'child', input);

/** A parent that only writes down what it hears. */
function listening(heard: (event: { readonly type: string }) => void, inspect?: (event: InspectionEvent) => void) {
  const clock = new SimulatedClock();
  const logic: AnyActorLogic = {
    getInitialSnapshot: () => ({ status: 'active', output: undefined, error: undefined }),
    transition(snapshot, event) {
      heard(event);
      return snapshot;
    },
    getPersistedSnapshot: (snapshot) => snapshot,
  };
  const parent = createActor(logic, { clock, id: 'parent', ...(inspect === undefined ? {} : { inspect }) });
  return { parent: parent.start() as AnyActorRef, clock };
}

interface Watching {
  readonly inspects: boolean;
  readonly subscribes: boolean;
  readonly listens: boolean;
  /** Stops the child before this step of the script. */
  readonly stopsAt: number;
  /** Sends this before the child is started. */
  readonly early: boolean;
}

const watching: fc.Arbitrary<Watching> = fc.record({
  inspects: fc.boolean(),
  subscribes: fc.boolean(),
  listens: fc.boolean(),
  stopsAt: fc.integer({ min: 0, max: 20 }),
  early: fc.boolean(),
});

/** Runs a child through a script and writes down, in order, everything that anybody can see of it. */
function timeline(make: Making, logic: AnyActorLogic, script: readonly Sent[], acts: Act[], seen: Watching): unknown[] {
  const told: unknown[] = [];
  const { parent, clock } = listening(
    (event) => told.push(['parent', event]),
    seen.inspects ? (inspected) => told.push(inspectedOf(inspected)) : undefined,
  );
  const child = make(logic, parent, undefined);
  const look = (): void => {
    const { status, value, context, output } = child.getSnapshot() as Record<string, unknown>;
    told.push([status, value, context, output, acts.splice(0)]);
  };
  if (seen.listens) child.on('*', (emitted) => told.push(['emitted', emitted]));
  if (seen.subscribes) {
    child.subscribe({
      next: (snapshot: { status: string }) => told.push(['next', snapshot.status]),
      error: (error: unknown) => told.push(['error', String(error)]),
      complete: () => told.push(['complete']),
    });
    child.select((snapshot: { value: unknown }) => snapshot.value).subscribe((value) => told.push(['selected', value]));
  }
  if (seen.early) child.send({ type: 'go' });
  child.start();
  look();
  for (const [step, one] of script.entries()) {
    if (step === seen.stopsAt) (child as unknown as { _stop(): void })._stop();
    if ('wait' in one) clock.increment(one.wait);
    else child.send(one);
    look();
  }
  told.push(Object.keys(parent.system.getSnapshot()._scheduledEvents as object).length);
  parent.stop();
  return told;
}

/** A record of the inspection, the child's session id left out. */
function inspectedOf(inspected: InspectionEvent): unknown {
  const { type, actorRef, sourceRef, event, action, snapshot } = inspected as unknown as Record<string, unknown>;
  const nameOf = (ref: unknown): string => (ref as { readonly id: string } | undefined)?.id ?? 'nobody';
  const { status, value } = (snapshot ?? {}) as { status?: string; value?: unknown };
  return [type, nameOf(actorRef), nameOf(sourceRef), event, action, status, value];
}

/** Gathers what nobody handles: xstate throws it where it would end the process. */
function unhandledOf(t: Test): { soon(): Promise<string[]> } {
  const unhandled: string[] = [];
  process.setUncaughtExceptionCaptureCallback((error) => unhandled.push(String(error)));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  return {
    // Thrown by timers that were set before this one.
    soon: () => new Promise((resolve) => setTimeout(() => setTimeout(() => resolve(unhandled.sort()), 1), 1)),
  };
}

t.test('INS-1 · a lean actor does what xstate’s own does, over random charts, events and watchers', async (t) => {
  const unhandled = unhandledOf(t);
  fc.assert(
    fc.property(drawn, script, watching, (chart, script, seen) => {
      const acts: Act[] = [];
      const logic = compile(machineOf(chart, acts), { watched: () => seen.inspects }) as AnyActorLogic;
      const own = timeline(stock, logic, script, acts, seen);
      const leaner = timeline(lean, logic, script, acts, seen);
      t.strictSame(leaner, own);
      return JSON.stringify(leaner) === JSON.stringify(own);
    }),
    { numRuns: runs(400) },
  );
  // A selection takes no listener for errors.
  for (const error of await unhandled.soon()) t.equal(error, 'Error: broken');
});

const counting = setup({
  types: { context: {} as { readonly count: number }, input: {} as { readonly from: number } },
}).createMachine({
  id: 'counting',
  context: ({ input }) => ({ count: input.from }),
  initial: 'one',
  output: ({ context }) => context,
  states: { one: { on: { next: 'two', end: 'over' } }, two: {}, over: { type: 'final' } },
});

t.test('INS-1 · it is an Actor that the system knows until it ends', (t) => {
  const { parent } = listening(() => {});
  const child = lean(compile(counting) as unknown as AnyActorLogic, parent, { from: 3 });
  t.ok(child instanceof (createActor(counting, { input: { from: 0 } }).constructor as never));
  t.match(child, { id: 'child', sessionId: /^x:\d+$/, logic: { id: 'counting' }, options: { input: { from: 3 } } });
  t.same(JSON.parse(JSON.stringify(child)), { xstate$$type: 1, id: 'child' });
  t.equal(child.start(), child);
  t.equal(child.start(), child, 'starting twice is no second start');
  t.match(child.getPersistedSnapshot(), { value: 'one', context: { count: 3 } });

  const { send } = child;
  send({ type: 'end' });

  const told: string[] = [];
  child.subscribe({ complete: () => told.push('complete') });
  t.same(told, ['complete'], 'who comes late hears that it is over');
  child.send({ type: 'next' });
  t.equal((child.getSnapshot() as { value: string }).value, 'over', 'what is sent to it is dropped');
  t.throws(() => child.stop(), /cannot be stopped directly/);
  t.end();
});

t.test('INS-1 · a listener or an observer that fails harms no other and is reported', async (t) => {
  const chart = machineOf(
    {
      hasFinal: false,
      states: [0, 1].map(() => ({
        on: [{ event: 'go', target: 1, least: 0, reenter: true, add: 0 }],
        always: [],
        after: undefined,
        raises: false,
        emits: true,
        turn: undefined,
      })),
    },
    [],
  );
  const heard: string[] = [];
  const unhandled = unhandledOf(t);
  const { parent } = listening(() => {});
  const child = lean(compile(chart, { watched: () => false }) as AnyActorLogic, parent, undefined);
  child.start();
  child.on('seen', () => {
    throw new Error('deaf');
  });
  child.on('*', (event) => heard.push(event.type));
  child.subscribe(() => {
    throw new Error('blind');
  });

  child.send({ type: 'go' });

  t.same(await unhandled.soon(), ['Error: blind', 'Error: deaf']);
  t.same(heard, ['seen']);
  t.equal((child.getSnapshot() as { status: string }).status, 'active');
});
