import t from 'tap';
import { createActor, setup } from 'xstate';
import { createStateTimes } from '../../../runtime/inspector/state-times.ts';

const nested = setup({ types: { events: {} as { readonly type: 'begin' | 'rest' | 'nothing' } } }).createMachine({
  id: 'nested',
  initial: 'booting',
  states: {
    booting: { on: { begin: 'up' } },
    up: { initial: 'opening', states: { opening: { on: { rest: 'running' } }, running: {} } },
  },
});

t.test('INS-1 · a long-lived chart’s steps are remembered with what led to them, states as dotted words', (t) => {
  let nowMs = 1_000;
  const stateTimes = createStateTimes(() => nowMs);
  const actor = createActor(stateTimes.remembering(nested)).start();
  t.equal(stateTimes.sinceOf(actor), 1_000);

  nowMs = 2_000;
  actor.send({ type: 'begin' });
  actor.send({ type: 'nothing' });
  nowMs = 3_000;
  actor.send({ type: 'rest' });
  actor.send({ type: 'nothing' });

  t.same(stateTimes.stepsOf(actor), [
    { at: 2_000, event: 'begin', from: 'booting', to: 'up.opening' },
    { at: 3_000, event: 'rest', from: 'up.opening', to: 'up.running' },
  ]);
  t.equal(stateTimes.sinceOf(actor), 3_000, 'what changes nothing is no step');
  t.same(actor.logic.config, nested.config, 'the chart can be read as before');
  actor.stop();
  t.end();
});

t.test('INS-1 · the oldest steps make room', (t) => {
  const turning = setup({ types: { events: {} as { readonly type: 'turn' } } }).createMachine({
    id: 'turning',
    initial: 'day',
    states: { day: { on: { turn: 'night' } }, night: { on: { turn: 'day' } } },
  });
  let nowMs = 0;
  const stateTimes = createStateTimes(() => nowMs);
  const actor = createActor(stateTimes.remembering(turning)).start();
  for (nowMs = 1; nowMs <= 60; nowMs += 1) actor.send({ type: 'turn' });

  const steps = stateTimes.stepsOf(actor);

  t.equal(steps.length, 50);
  t.equal(steps[0]?.at, 11);
  actor.stop();
  t.end();
});
