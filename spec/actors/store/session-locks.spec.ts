import t from 'tap';
import { releaseLock, takeLock } from '../../../actors/store/session-locks.ts';
import { openTwoKeepers } from '../../support/keeper.ts';

t.test('SCA-1 · a lock has one holder, which gives it back', async (t) => {
  const [one, other] = await openTwoKeepers();
  await other.beat();
  t.equal(await takeLock(one, 'a', 'r1'), true);
  t.equal(await takeLock(one, 'a', 'r1'), true, 'it has it already');
  t.equal(await takeLock(one, 'a', 'r2'), false, 'of one session, one');
  t.equal(await takeLock(other, 'a', 'r1'), false);
  t.equal(await releaseLock(other, 'a', 'r1'), true, 'what it has not it does not give back');
  t.equal(await takeLock(other, 'a', 'r1'), false);
  await releaseLock(one, 'a', 'r1');
  t.equal(await takeLock(other, 'a', 'r1'), true);
});

t.test('SCA-1 · SCA-2 · a lock ends with its session, and not because a gateway has not heard of that', async (t) => {
  const [one, other] = await openTwoKeepers();
  await takeLock(one, 'a', '');
  const unaware = { ...other, isElsewhere: () => false };
  t.equal(await takeLock(unaware, 'a', ''), false);
  await one.journal()?.endSession(one.session() ?? '');
  t.equal(await takeLock(unaware, 'a', ''), true);
  t.equal(await takeLock({ ...one, session: () => undefined }, 'a', ''), false, 'without a session it has nothing');
});
