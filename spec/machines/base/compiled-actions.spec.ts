import t from 'tap';
import type { AnyActorRef } from 'xstate';
import {
  type ActionRun,
  argsOf,
  assignOf,
  cancelOf,
  customOf,
  emitOf,
  noSpawn,
  raiseOf,
  sendOf,
  shownArgs,
  spread,
} from '../../../machines/base/compiled-actions.ts';

const event = { type: 'go', by: 2 };
const none = (): undefined => undefined;

/** A macrostep under way; what its actions did is written down. */
function stage(context: object = { count: 1 }) {
  const did: unknown[][] = [];
  const parent = { name: 'parent' } as unknown as AnyActorRef;
  const self = { name: 'self', _parent: parent } as unknown as AnyActorRef;
  const child = { name: 'child' } as unknown as AnyActorRef;
  const system = {
    scheduler: {
      schedule: (_: unknown, __: unknown, sent: object, waitMs: number, id: string) =>
        void did.push(['scheduled', sent, waitMs, id]),
      cancel: (_: unknown, id: string) => void did.push(['cancelled', id]),
    },
    _relay: (from: unknown, to: { readonly name: string }, sent: object) =>
      void did.push(['relayed', from === self, to.name, sent]),
  };
  const run: ActionRun = {
    scope: {
      self,
      system,
      defer: (act) => act(),
      emit: (emitted) => void did.push(['emitted', emitted]),
      actionExecutor: ({ type, info, params, exec }) => {
        did.push([type, params]);
        exec(info as never, params as never);
      },
    },
    context,
    own: undefined,
    args: undefined,
    children: { kid: child },
    raised: undefined,
  };
  return { run, did, child };
}

t.test('INS-1 · an assignment writes into a private copy, made once a macrostep', (t) => {
  const before = { count: 1, name: 'x' };
  const { run } = stage(before);
  let copies = 0;
  const copy = (context: unknown): object => {
    copies += 1;
    return spread(context);
  };
  const byFunction = assignOf(
    ({ context }: { context: { count: number } }, { more }: { more: number }) => ({ count: context.count + more }),
    ({ event }) => ({ more: (event as unknown as { by: number }).by }),
    copy,
  );
  const byMembers = assignOf({ name: 'y', seen: ({ event }: { event: object }) => event }, none, copy);

  byFunction(run, event);
  byMembers(run, event);

  t.same(run.context, { count: 3, name: 'y', seen: event });
  t.same(before, { count: 1, name: 'x' }, 'the one before is whole');
  t.equal(copies, 1);
  const { context: shown } = shownArgs(run, event);
  byFunction(run, event);
  t.match([shown, run.context], [{ count: 3 }, { count: 5 }], 'what was shown stays as it was');
  t.equal(copies, 2);
  assignOf({}, none, copy)(run, event);
  t.equal(copies, 2, 'what assigns nothing copies nothing');
  t.end();
});

t.test('INS-1 · guards and actions are given the same, as long as nothing has changed', (t) => {
  const { run } = stage();
  const first = argsOf(run, event);
  t.equal(argsOf(run, event), first);
  t.not(argsOf(run, { type: 'other' }), first);
  run.context = { count: 2 };
  t.match(argsOf(run, event), { context: { count: 2 }, event });
  t.throws(() => first.spawn(), /spawning from a context or an assignment is not supported/);
  t.throws(noSpawn);
  t.end();
});

t.test('INS-1 · what is raised comes next, or after its delay: a number, a name or a function', (t) => {
  const delays = { soon: 5, later: ({ context }: { context: { count: number } }) => context.count * 10 };
  const raised = { type: 'next' };
  const rows: readonly (readonly [delay: unknown, waitMs: number | undefined])[] = [
    [undefined, undefined],
    [7, 7],
    ['soon', 5],
    ['later', 10],
    [(_: unknown, { ms }: { ms: number }) => ms, 3],
  ];
  for (const [delay, waitMs] of rows) {
    const { run, did } = stage();
    raiseOf({ event: () => raised, delay, id: 'r' }, () => ({ ms: 3 }), delays)(run, event);
    t.same(run.raised, waitMs === undefined ? [raised] : undefined, String(delay));
    t.same(
      did,
      [
        ['xstate.raise', { event: raised, id: 'r', delay: waitMs }],
        ...(waitMs === undefined ? [] : [['scheduled', raised, waitMs, 'r']]),
      ],
      String(delay),
    );
  }
  t.end();
});

t.test(
  'INS-1 · an event is sent to the parent, to a child by its name or to whom a function gives; to nobody it is not',
  (t) => {
    const { run, did, child } = stage();
    const sent = { type: 'told' };
    for (const to of ['#_parent', 'kid', () => child, 'nobody']) sendOf({ to, event: sent }, none)(run, event);
    t.same(
      did.filter(([kind]) => kind === 'relayed'),
      ['parent', 'child', 'child'].map((name) => ['relayed', true, name, sent]),
    );
    t.same(
      did.filter(([kind]) => kind === 'xstate.sendTo').map(([, params]) => (params as { targetId: unknown }).targetId),
      ['#_parent', 'kid', undefined],
    );
    t.end();
  },
);

t.test('INS-1 · cancels and emits by value or by function, and hands everything else to the executor', (t) => {
  const { run, did } = stage();
  cancelOf('one', none)(run, event);
  cancelOf(
    (_: unknown, id: string) => id,
    () => 'two',
  )(run, event);
  emitOf({ type: 'said' }, none)(run, event);
  emitOf(
    (_: unknown, text: string) => ({ type: 'said', text }),
    () => 'well',
  )(run, event);
  t.same(
    did.filter(([kind]) => kind === 'cancelled' || kind === 'emitted'),
    [
      ['cancelled', 'one'],
      ['cancelled', 'two'],
      ['emitted', { type: 'said' }],
      ['emitted', { type: 'said', text: 'well' }],
    ],
  );
  did.length = 0;
  run.own = run.context;
  customOf(
    'write',
    ({ context }, params) => void did.push([context, params]),
    () => 'params',
  )(run, event);
  t.same(did, [
    ['write', 'params'],
    [{ count: 1 }, 'params'],
  ]);
  t.equal(run.own, undefined, 'who acts may keep the context');
  t.end();
});
