import t from 'tap';
import type { Neighbours } from '../../../actors/store/postgres-neighbours.ts';
import { createNeighbourAccess } from '../../../runtime/webhook/neighbours.ts';
import { turn } from '../../support/turns.ts';

t.test('SCA-3 · other gateways that could not be reached are tried again, and then listened to', async (t) => {
  const done: string[] = [];
  let isBroken = true;
  let mayAnswer = false;
  let tick = (): void => {};
  const access = createNeighbourAccess({
    connect: async () => {
      done.push('connect');
      if (isBroken) throw new Error('EMFILE');
      return {
        listen: async () => void done.push('listen'),
        close: async () => void done.push('close'),
      } as Partial<Neighbours> as Neighbours;
    },
    mayAnswer: () => mayAnswer,
    every: (callback) => {
      tick = callback;
      return () => {
        tick = () => {};
      };
    },
  });
  const passes = async (): Promise<readonly string[]> => {
    tick();
    await turn();
    return done.splice(0);
  };

  t.same(await passes(), [], 'without a session');
  mayAnswer = true;
  t.same(await passes(), ['connect']);
  await t.rejects(access.reach(), { message: 'EMFILE' });
  t.same(done.splice(0), ['connect']);

  isBroken = false;
  t.same(await passes(), ['connect', 'listen']);
  t.same(await passes(), ['listen']);
  t.equal(await access.reach(), await access.reach());
  await access.close();
  t.same(await passes(), ['close']);
});

t.test('SCA-3 · a close during a connect that fails still closes, for ever', async (t) => {
  let connects = 0;
  const access = createNeighbourAccess({
    connect: () => {
      connects += 1;
      return Promise.reject(new Error('away'));
    },
    mayAnswer: () => true,
    every: () => () => {},
  });
  const reached = access.reach();
  await access.close();
  await t.rejects(reached, { message: 'away' });
  await t.rejects(access.reach(), { message: /closed/ });
  t.equal(connects, 1, 'and none is connected to afterwards');
});
