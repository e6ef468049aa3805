import t from 'tap';
import type { News } from '../../../actors/store/journal.ts';
import { createRouteSlots } from '../../../runtime/dispatch/route-slots.ts';
import { openTwoKeepers } from '../../support/keeper.ts';

t.test('SCA-1 · DIS-3 · so many runs of a route over all gateways, and who waits asks again at the news', async (t) => {
  // A gateway's sockets keep it alive, its waits for a slot do not.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const keepers = await openTwoKeepers();
  const hearers: ((news: News) => void)[] = [];
  const [one, other] = keepers.map((keeper) =>
    createRouteSlots(
      {
        ...keeper,
        heard: (listener) => {
          hearers.push(listener);
          return () => {};
        },
      },
      () => 0,
    ),
  );
  const route = { profile: 'p', route: 'r', bound: 2 };
  let isWithdrawn = false;
  const slot = (of: typeof one, run: string) => of?.of(route, run)?.(() => isWithdrawn);
  const first = await slot(one, 'r1');
  const second = await slot(other, 'r2');
  const third = slot(other, 'r3');
  t.equal(typeof (await other?.of({ ...route, route: 'else' }, 'r4')?.(() => false)), 'function', 'another route');
  first?.();
  while ((await keepers[0].journal()?.claimed('lock/slot/p/r/0')) !== undefined) await new Promise(setImmediate);
  for (const hear of hearers) hear('work');
  t.equal(typeof (await third), 'function');
  const fourth = slot(one, 'r5');
  isWithdrawn = true;
  for (const hear of hearers) hear('work');
  t.equal(await fourth, undefined, 'a run that was cancelled takes none');
  t.equal(typeof second, 'function');
  one?.stop();
});
