import t from 'tap';
import { type AnyActorRef, createActor, setup } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { nextMove } from '../../../runtime/system/next-move.ts';

const chart = setup({ types: { events: {} as { type: 'work.moved' } | { type: 'work.ended' } } }).createMachine({
  id: 'work',
  initial: 'running',
  states: {
    running: { on: { 'work.moved': 'recording', 'work.ended': 'over' } },
    recording: {},
    over: { type: 'final' },
  },
});

function working(): AnyActorRef {
  const actor = createActor(compile(chart, { now: () => 0 })) as unknown as AnyActorRef;
  actor.start();
  return actor;
}

/** Whether a promise has resolved once everything that waited had its turn. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  let over = false;
  void promise.then(() => {
    over = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

t.test('CON-2 · who waits for work hears of a step and of an end, of any of it', async (t) => {
  for (const type of ['work.moved', 'work.ended']) {
    const actors = [working(), working()];
    const moved = nextMove(actors, 600_000, new AbortController().signal);
    t.notOk(await isOver(moved), 'nothing has moved');
    actors[1]?.send({ type });
    t.ok(await isOver(moved), type);
    for (const actor of actors) actor.stop();
  }
});

t.test('CON-2 · it waits no longer than it may, and not for what has ended', async (t) => {
  const actor = working();
  const calledOff = new AbortController();
  const waiting = nextMove([actor], Number.MAX_SAFE_INTEGER, calledOff.signal);
  t.notOk(await isOver(waiting), 'a wait too long for a timer');
  calledOff.abort();
  t.ok(await isOver(waiting), 'called off');
  t.ok(await isOver(nextMove([actor], 600_000, calledOff.signal)), 'called off before');
  await nextMove([actor], 0, new AbortController().signal);
  actor.send({ type: 'work.ended' });
  t.ok(await isOver(nextMove([actor, working()], 600_000, new AbortController().signal)), 'ended before');
});
