import t from 'tap';
import { type AnyActorRef, type AnyStateMachine, setup } from 'xstate';
import { chartOf } from '../../../machines/base/compiled-chart.ts';

const self = {} as AnyActorRef;
const at = (state: number, context: object = {}) => ({
  scope: { self, system: {} },
  context,
  own: undefined,
  args: undefined,
  state,
});

const machine = setup({
  types: { context: {} as { readonly open: boolean }, events: {} as { readonly type: string } },
  guards: {
    isOpen: ({ context }) => context.open,
    isType: ({ event }, params: { readonly type: string }) => event.type === params.type,
  },
}).createMachine({
  id: 'door',
  context: { open: false },
  initial: 'shut',
  on: { 'door.lost': '.gone', 'door.knock': {} },
  states: {
    shut: {
      tags: ['resting'],
      on: {
        'door.turn': [{ guard: 'isOpen', target: 'ajar' }, { target: 'gone' }],
        'door.lock.*': { guard: { type: 'isType', params: { type: 'door.lock.twice' } }, target: 'shut' },
        'door.*': 'ajar',
        'door.knock': { guard: 'isOpen' },
      },
    },
    ajar: { always: { guard: 'isOpen', target: 'gone' }, on: { 'door.turn': { target: 'ajar', reenter: true } } },
    gone: { type: 'final', meta: { rule: 'X-1' } },
  },
}) as unknown as AnyStateMachine;
const chart = chartOf(machine);
const [shut, ajar, gone] = [0, 1, 2] as const;
/** Where an event leads: a state's name, `stays`, or nothing where no transition is open. */
const leads = (state: number, type: string, context = { open: false }): string | undefined => {
  const step = chart.select(at(state, context), { type });
  return step === undefined ? undefined : step.target === -1 ? 'stays' : chart.states[step.target]?.key;
};

t.test('INS-1 · a chart is read once: its states by number, its steps in order', (t) => {
  t.same([chart.id, chart.initial], ['door', shut]);
  t.same(
    chart.states.map(({ key, isFinal, tags, meta }) => [key, isFinal, tags, meta]),
    [
      ['shut', false, ['resting'], undefined],
      ['ajar', false, [], undefined],
      ['gone', true, [], { rule: 'X-1' }],
    ],
  );
  t.same(
    chart.steps.map(({ index }) => index),
    chart.steps.map((_, index) => index),
  );
  t.equal(chart.steps.filter(({ from }) => from === '*').length, 2, 'those of the root are told apart');
  t.same(chart.initialContext({ self }, undefined, { type: 'x' }), { open: false });
  t.end();
});

t.test('INS-1 · the first open transition is taken: the exact event, then the longest wildcard, then the root', (t) => {
  const rows: readonly (readonly [type: string, open: boolean, to: string | undefined])[] = [
    ['door.turn', true, 'ajar'],
    ['door.turn', false, 'gone'],
    ['door.knock', true, 'stays'],
    ['door.knock', false, 'ajar'],
    ['door.lock.twice', false, 'stays'],
    ['door.lock.once', false, 'ajar'],
    ['door.lost', false, 'ajar'],
    ['window.turn', false, undefined],
  ];
  for (const [type, open, to] of rows) t.equal(leads(shut, type, { open }), to, `${type} ${open}`);
  t.equal(leads(ajar, 'door.lost'), 'gone', 'a state that says nothing leaves it to the root');
  t.equal(leads(ajar, 'door.turn'), 'ajar', 'entered again where the transition says so');
  t.equal(chart.selectEventless(at(ajar, { open: true }), { type: '' })?.target, gone);
  t.equal(chart.selectEventless(at(ajar, { open: false }), { type: '' }), undefined);
  t.equal(chart.selectEventless(at(shut, { open: true }), { type: '' }), undefined);
  t.same(
    ['door.turn', 'door.lost', 'door.other'].map((type) => chart.listens(ajar, type)),
    [true, true, false],
  );
  t.end();
});

t.test('what a chart does not do is refused where it is written', (t) => {
  const rows: readonly (readonly [object, RegExp])[] = [
    [{ states: {} }, /machine "odd", root: a machine without states is not supported/],
    [{ type: 'parallel', states: { a: {}, b: {} } }, /root: a parallel state/],
    [{ entry: () => {}, initial: 'a', states: { a: {} } }, /root: entry or exit actions of the root/],
    [{ initial: 'a', states: { a: { initial: 'b', states: { b: {} } } } }, /state "a": a compound state/],
    [{ initial: 'a', states: { a: { entry: 'nobody' } } }, /state "a": the action "nobody" without an implementation/],
    [{ initial: 'a', states: { a: { on: { x: { guard: 'nobody' } } } } }, /the guard "nobody" without/],
    [{ initial: 'a', states: { a: { invoke: { src: 'nobody' } } } }, /the actor "nobody" without/],
  ];
  for (const [config, message] of rows)
    t.throws(() => chartOf(setup({}).createMachine({ id: 'odd', ...config } as never) as never), { message });
  t.end();
});
