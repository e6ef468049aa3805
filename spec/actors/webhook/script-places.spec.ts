import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { createScriptPlaces } from '../../../actors/webhook/script-places.ts';

/** Scripts that last until they are let go. */
function held(max: () => number) {
  const places = createScriptPlaces(max);
  const ends: (() => void)[] = [];
  const begun: string[] = [];
  return {
    begun,
    count: (route: string) => begun.filter((name) => name === route).length,
    begin: (route: string, signal = new AbortController().signal) =>
      places.inTurn(route, signal, () => {
        begun.push(route);
        return new Promise<string>((resolve) => ends.push(() => resolve(route)));
      }),
    async endAll() {
      for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
        end();
        await turn();
      }
    },
  };
}

t.test('LIM-4 · no more scripts run at once than may, and each has its turn', async (t) => {
  const scripts = held(() => 3);
  const results = Array.from({ length: 10 }, (_, n) => scripts.begin(`r${n}`));
  await turn();
  t.same(scripts.begun, ['r0', 'r1', 'r2']);

  await scripts.endAll();

  t.same(await Promise.all(results), scripts.begun, 'in the order in which they came');
});

t.test('LIM-4 · a route begins no more than it leaves to the others', async (t) => {
  const scripts = held(() => 16);
  const routes = ['a', 'b', 'c', 'd', 'e'];
  const results = routes.flatMap((route) => Array.from({ length: 10 }, () => scripts.begin(route)));
  await turn();
  t.same(routes.map(scripts.count), [8, 4, 2, 1, 1]);

  await scripts.endAll();

  await Promise.all(results);
  t.same(routes.map(scripts.count), [10, 10, 10, 10, 10]);
});

t.test('LIM-4 · a request that is gone leaves the queue, and its script never begins', async (t) => {
  const scripts = held(() => 1);
  const gone = new AbortController();
  const first = scripts.begin('a');
  const leaving = scripts.begin('a', gone.signal);
  const last = scripts.begin('b');
  gone.abort();
  t.equal(await leaving, undefined);
  t.equal(await scripts.begin('c', gone.signal), undefined, 'nor does one that is gone before');

  await scripts.endAll();

  t.same(await Promise.all([first, last]), ['a', 'b']);
  t.same(scripts.begun, ['a', 'b']);
});

t.test('LIM-4 · a reload counts for what waits, and work that fails gives its place back', async (t) => {
  let max = 1;
  const places = createScriptPlaces(() => max);
  const { signal } = new AbortController();
  let fail = (): void => {};
  const failing = places.inTurn('a', signal, () => new Promise((_, reject) => (fail = () => reject(new Error('no')))));
  const begun: string[] = [];
  const others = ['b', 'c', 'd'].map((route) => places.inTurn(route, signal, async () => begun.push(route)));
  await turn();
  t.same(begun, []);
  max = 8;
  fail();
  await t.rejects(failing);
  await Promise.all(others);
  t.same(begun, ['b', 'c', 'd']);
});
