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
      () => undefined,
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

t.test('SCA-1 · CFG-2 · the changed limit of a route also applies to a run that waits for its slot', async (t) => {
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const [keeper] = await openTwoKeepers();
  const hearers: ((news: News) => void)[] = [];
  const asked: string[] = [];
  const journal = keeper.journal();
  if (journal === undefined) throw new Error('the journal is not open');
  let limit = 1;
  const slots = createRouteSlots(
    {
      ...keeper,
      journal: () => ({
        ...journal,
        claimed: (name) => {
          asked.push(name);
          return journal.claimed(name);
        },
      }),
      heard: (listener) => {
        hearers.push(listener);
        return () => {};
      },
    },
    () => limit,
    () => 0,
  );
  const slot = (run: string, bound: number, isWithdrawn = () => false) =>
    slots.of({ profile: 'p', route: 'r', bound }, run)?.(isWithdrawn);
  const free = await slot('r1', 2);
  const second = slot('r2', 2);
  while (asked.length < 2) await new Promise(setImmediate);
  free?.();
  while ((await journal.claimed('lock/slot/p/r/0')) !== undefined) await new Promise(setImmediate);
  for (const hear of hearers) hear('work');
  t.equal(typeof (await second), 'function');
  t.same(new Set(asked), new Set(['lock/slot/p/r/0']), 'a lowered limit: no second slot');

  // Withdrawn after one round without a slot.
  const once = () => {
    let looks = 0;
    return () => {
      looks += 1;
      return looks > 2;
    };
  };
  limit = 2;
  t.equal(typeof (await slot('r3', 1, once())), 'function', 'a raised one');
  limit = Number.POSITIVE_INFINITY;
  t.equal(typeof (await slot('r4', 1, once())), 'function', 'and a removed one');
  slots.stop();
});
