import t from 'tap';
import { releaseLock, takeLock } from '../../../actors/store/shared-claims.ts';
import { diskFull, openTwoKeepers } from '../../support/keeper.ts';

t.test('SCA-1 · a lock has one holder, which gives it back', async (t) => {
  const [one, other] = await openTwoKeepers();
  await other.beat();
  const holder = await takeLock(one, 'a', 'r1');
  t.type(holder, 'string');
  t.equal(await takeLock(one, 'a', 'r1'), holder, 'it has it already');
  t.equal(await takeLock(one, 'a', 'r2'), undefined, 'of one session, one');
  t.equal(await takeLock(other, 'a', 'r1'), undefined);
  t.equal(await releaseLock(other, 'a', 'somebody else'), true, 'what it has not it does not give back');
  t.equal(await takeLock(other, 'a', 'r1'), undefined);
  const full = { ...one, commit: async () => ({ kind: 'unavailable', fault: diskFull }) as const };
  t.equal(await releaseLock(full, 'a', holder ?? ''), false, 'so that it is tried again');
  await releaseLock(one, 'a', holder ?? '');
  t.type(await takeLock(other, 'a', 'r1'), 'string');
});

t.test('SCA-1 · SCA-2 · a lock ends with its session, and not because a gateway has not heard of that', async (t) => {
  const [one, other] = await openTwoKeepers();
  await takeLock(one, 'a', '');
  const unaware = { ...other, isElsewhere: () => false };
  t.equal(await takeLock(unaware, 'a', ''), undefined);
  await one.journal()?.endSession(one.session() ?? '');
  t.type(await takeLock(unaware, 'a', ''), 'string');
  t.equal(await takeLock({ ...one, session: () => undefined }, 'a', ''), undefined, 'without a session it has nothing');
});
