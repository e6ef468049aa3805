import t from 'tap';
import { createPlaces } from '../../../actors/dispatch/places.ts';

t.test('DIS-3 · COA-3 · places bound runs over all, per route and one per group', async (t) => {
  const places = createPlaces(2);
  const granted: string[] = [];
  const leave = new Map<string, () => void>();
  let asked = 100;
  const ask = (name: string, more = {}): void => {
    asked += 1;
    const request = { key: String(asked), profile: 'p', route: 'r', ...more };
    leave.set(
      name,
      places.ask(request, () => void granted.push(name)),
    );
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  ask('a', { group: 'g' });
  ask('b', { group: 'g' });
  ask('c');
  ask('d');
  await turn();
  t.same(granted, ['a', 'c'], 'b waits for its group and holds no place, d for a place');
  t.same(places.load(), { running: 2, waiting: 2, ready: 1 }, 'd alone waits for a place and nothing else');
  leave.get('c')?.();
  await turn();
  t.same(granted, ['a', 'c', 'd']);
  leave.get('b')?.();
  leave.get('a')?.();
  leave.get('d')?.();
  await turn();
  t.same(places.load(), { running: 0, waiting: 0, ready: 0 }, 'one that was withdrawn is never granted');
  t.same(granted, ['a', 'c', 'd']);
  ask('e', { group: 'g' });
  ask('f');
  ask('withdrawn');
  leave.get('withdrawn')?.();
  leave.get('f')?.();
  leave.get('e')?.();
  t.same(granted.splice(3), ['e', 'f'], 'nor does it keep a place');
  ask('r1', { routeConcurrency: 1 });
  ask('r2', { routeConcurrency: 1 });
  await turn();
  t.same(granted.slice(3), ['r1']);
  places.pause();
  leave.get('r1')?.();
  await turn();
  t.same(granted.slice(3), ['r1'], 'a pause grants nothing more');
});

t.test('COA-3 · a run that ends as soon as it has its place makes room for one of its group, not for two', (t) => {
  const places = createPlaces(10);
  const granted: string[] = [];
  const ask = (name: string, then = (): void => {}): (() => void) =>
    places.ask({ key: name, profile: 'p', route: 'r', group: 'g' }, () => {
      granted.push(name);
      then();
    });
  const leaveA = ask('a');
  const leaveB: () => void = ask('b', () => {
    leaveB();
    ask('c');
  });
  leaveA();
  ask('d');
  t.same(granted, ['a', 'b', 'c'], 'd waits for c');
  t.end();
});

t.test('DIS-3 · a run that asks late, because it was on disk, goes before newer ones that wait', (t) => {
  const places = createPlaces(1);
  const granted: string[] = [];
  const ask = (key: string, more = {}): (() => void) =>
    places.ask({ key, profile: 'p', route: 'r', ...more }, () => void granted.push(key));
  const leave = ask('5');
  for (const key of ['7', '8', '2', '9', '3']) ask(key);
  for (const key of ['6', '4']) ask(key, { routeConcurrency: 1 });
  leave();
  places.resize(9, () => undefined);
  t.same(granted, ['5', '2', '3', '6', '7', '8', '9'], 'the limit of a route has an order of its own');
  t.end();
});

t.test('DIS-3 · routes with runs that wait take turns, so that one with thousands holds up no other', (t) => {
  const places = createPlaces(1);
  const granted: string[] = [];
  const ask = (route: string, key: string): (() => void) =>
    places.ask({ key, profile: 'p', route, group: key }, () => void granted.push(key));
  const leave = ask('busy', '1');
  ask('busy', '4');
  ask('other', '9');
  ask('other', '8');
  for (const key of ['2', '3']) ask('busy', key);
  const withdraw = ask('third', '7');
  withdraw();
  leave();
  places.resize(9, () => undefined);
  t.same(granted, ['1', '2', '8', '3', '9', '4'], 'and of each the oldest run is first');
  t.end();
});

t.test('DIS-3 · CFG-2 · a changed limit of a route applies to the runs that wait for it', (t) => {
  const places = createPlaces(9);
  const granted: string[] = [];
  const ask = (route: string, name: string): void =>
    void places.ask({ key: name, profile: 'p', route, routeConcurrency: 1 }, () => void granted.push(name));
  for (const name of ['a', 'b', 'c', 'd']) ask('r', name);
  for (const name of ['x', 'y']) ask('other', name);
  t.same(granted.splice(0), ['a', 'x']);
  places.resize(9, (profile, route) => (profile === 'p' && route === 'r' ? 3 : 1));
  t.same(granted.splice(0), ['b', 'c'], 'though none of its runs has ended');
  places.resize(9, () => undefined);
  t.same(granted, [], 'a route that was removed keeps the limit of its last runs');
  places.resize(9, (_, route) => (route === 'r' ? Number.POSITIVE_INFINITY : 1));
  t.same(granted, ['d'], 'a route without a limit has no run that waits for it');
  t.end();
});

t.test(
  'DIS-3 · CFG-2 · a limit that a route gets, or a lower one, holds also runs that wait for the limit of all',
  (t) => {
    const places = createPlaces(1);
    const granted: string[] = [];
    let limit = Number.POSITIVE_INFINITY;
    const limitOf = (_: string, route: string): number => (route === 'other' ? Number.POSITIVE_INFINITY : limit);
    const ask = (key: string, route: string): void => {
      const bound = limitOf('p', route);
      const own = bound === Number.POSITIVE_INFINITY ? {} : { routeConcurrency: bound };
      places.ask(
        { key, profile: 'p', route, group: key, ...own },
        () => void granted.push(key),
        () => ask(key, route),
      );
    };
    const resize = (concurrency: number, ofRoute: number): void => {
      limit = ofRoute;
      places.resize(concurrency, limitOf);
    };
    for (const key of ['1', '2', '3', '4', '5']) ask(key, 'flood');
    ask('6', 'other');
    resize(1, 0);
    t.same(places.load(), { running: 1, waiting: 5, ready: 1 });
    resize(2, 0);
    t.same(granted, ['1', '6'], 'one that has begun continues');
    resize(2, 2);
    t.same(places.load(), { running: 2, waiting: 4, ready: 2 });
    resize(2, 1);
    t.same(places.load(), { running: 2, waiting: 4, ready: 1 });
    resize(9, 1);
    t.same(granted, ['1', '6', '2'], 'the oldest of a route stays where it is');
    resize(9, Number.POSITIVE_INFINITY);
    t.same(granted, ['1', '6', '2', '3', '4', '5']);
    t.same(places.load(), { running: 6, waiting: 0, ready: 0 });
    t.end();
  },
);

t.test('DIS-3 · when all slots are taken back, no waiting run gets one that becomes free by it', (t) => {
  const places = createPlaces(1);
  const granted: string[] = [];
  for (const name of ['a', 'b', 'c'])
    places.ask({ key: name, profile: 'p', route: 'r', group: 'g' }, () => void granted.push(name));
  places.clear();
  t.same(granted, ['a']);
  t.same(places.load(), { running: 0, waiting: 0, ready: 0 });
  const leave = places.ask({ key: 'd', profile: 'p', route: 'r', group: 'g' }, () => void granted.push('d'));
  t.same(granted, ['a', 'd'], 'and all are free');
  places.ask({ key: 'e', profile: 'p', route: 'r', group: 'g' }, () => void granted.push('e'));
  leave();
  t.same(granted, ['a', 'd', 'e'], 'and are granted on as before');
  t.end();
});

t.test('SCA-1 · a run has its slot before a place here, and gives it back with that', async (t) => {
  const places = createPlaces(1);
  const steps: string[] = [];
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  let give: (back: (() => void) | undefined) => void = () => {};
  const slot = () =>
    new Promise<(() => void) | undefined>((resolve) => {
      give = resolve;
    });
  const leave = places.ask(
    { key: 'a', profile: 'p', route: 'r', routeConcurrency: 1, slot },
    () => void steps.push('slotted'),
  );
  const other = places.ask({ key: 'b', profile: 'p', route: 'other' }, () => void steps.push('other'));
  await turn();
  t.same(steps, ['other'], 'one that waits for a slot keeps no place from the others');
  other();
  give(() => void steps.push('back'));
  await turn();
  t.same(steps, ['other', 'slotted']);
  leave();
  await turn();
  t.same(steps, ['other', 'slotted', 'back']);

  places.pause();
  const waiting = places.ask({ key: 'c', profile: 'p', route: 'r', slot }, () => void steps.push('never'));
  await turn();
  give(() => void steps.push('back again'));
  await turn();
  t.match(places.load(), { ready: 1 });
  waiting();
  t.same(steps.slice(3), ['back again'], 'at once, while a drain grants nothing');
  t.match(places.load(), { waiting: 0, ready: 0 });
});

t.test(
  'DIS-3 · runs that end as soon as they have their place follow each other in their order and in turns',
  async (t) => {
    const places = createPlaces(1);
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const granted: number[] = [];
    const first = places.ask({ key: '', profile: 'p', route: 'r' }, () => void granted.push(0));
    t.same(granted, [0], 'a free place is granted at once');
    for (let nth = 1; nth <= 10_000; nth += 1) {
      const leave = places.ask({ key: String(nth).padStart(5, '0'), profile: 'p', route: 'r' }, () => {
        granted.push(nth);
        leave();
      });
    }
    first();
    const share = granted.length;
    t.ok(share > 1 && share < 100, `${share} of them before another turn of the loop`);
    while (places.load().waiting > 0) await turn();
    t.same(
      granted,
      Array.from({ length: 10_001 }, (_, nth) => nth),
    );
    t.same(places.load(), { running: 0, waiting: 0, ready: 0 });
  },
);
