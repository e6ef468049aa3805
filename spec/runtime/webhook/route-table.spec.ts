import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { Subscriptions, SubscriptionsStore } from '../../../actors/webhook/subscriptions.store.ts';
import { defaultProfile, type ProfileName, type RouteName } from '../../../machines/base/names.ts';
import type { Route, RouteWithSecret } from '../../../machines/config/route.ts';
import { bookOf } from '../../../machines/config/route-book.ts';
import { createRouteTable, type RouteSources } from '../../../runtime/webhook/route-table.ts';
import { plainRoute } from '../../support/records.ts';

const work = 'work' as ProfileName;

function entry(name: string, more: Partial<Route> = {}): RouteWithSecret {
  return {
    route: { ...plainRoute, name: name as RouteName, ...more },
    secret: { kind: 'shared', secret: 'secret' },
  };
}

/** A file of subscriptions in the hand, and how often it was looked at. */
function subscriptions(...first: RouteWithSecret[]) {
  let current: Subscriptions = { routes: first, book: bookOf(first), problems: [] };
  let looks = 0;
  const store = {
    current: () => {
      looks += 1;
      return current;
    },
  } as SubscriptionsStore;
  return {
    store,
    looks: () => looks,
    change: (...routes: RouteWithSecret[]) => {
      current = { routes, book: bookOf(routes), problems: [] };
    },
  };
}

const sourcesOf = (more: Partial<RouteSources>): RouteSources => ({
  multiplexProfiles: false,
  configured: [],
  subscriptions: new Map(),
  ...more,
});

t.test('SUB-2 · a new subscription answers at once and one that is gone no more', async (t) => {
  const file = subscriptions();
  const table = createRouteTable(
    sourcesOf({ configured: [entry('fixed')], subscriptions: new Map([[defaultProfile, file.store]]) }),
  );
  t.equal(table.isComplete(), true);
  const named = () => ['fixed', 'hook'].map((name) => table.named('default', name)?.route.name);
  t.same(named(), ['fixed', undefined]);

  await turn();
  file.change(entry('hook', { source: 'dynamic' }));
  t.equal(table.find('/webhooks/hook')?.route.name, 'hook');
  t.same(named(), ['fixed', 'hook']);

  await turn();
  file.change();
  t.equal(table.find('/webhooks/hook'), undefined);
});

t.test('SUB-2 · a look-up by name, and the count of changes, see the file as it is now', async (t) => {
  const file = subscriptions();
  const table = createRouteTable(sourcesOf({ subscriptions: new Map([[defaultProfile, file.store]]) }));
  const version = table.version();
  file.change(entry('hook', { source: 'dynamic' }));
  await turn();
  t.equal(table.named('default', 'hook')?.route.name, 'hook');
  t.equal(table.version(), version + 1);
  file.change(entry('other', { source: 'dynamic' }));
  await turn();
  t.equal(table.version(), version + 2);
});

t.test('SUB-2 · a static route wins over a dynamic one of its name', (t) => {
  const file = subscriptions(entry('a', { source: 'dynamic' }), entry('b', { source: 'dynamic' }));
  const table = createRouteTable(
    sourcesOf({ configured: [entry('a')], subscriptions: new Map([[defaultProfile, file.store]]) }),
  );
  t.equal(table.find('/webhooks/a')?.route.source, 'static');
  t.equal(table.find('/webhooks/b')?.route.source, 'dynamic');
  t.end();
});

t.test('PRF-1 · PRF-2 · each profile has its own subscriptions, under its own prefix', (t) => {
  const table = createRouteTable(
    sourcesOf({
      multiplexProfiles: true,
      subscriptions: new Map([
        [defaultProfile, subscriptions(entry('a', { source: 'dynamic', description: 'mine' })).store],
        [work, subscriptions(entry('a', { source: 'dynamic', profile: work, description: 'theirs' })).store],
      ]),
    }),
  );
  t.equal(table.find('/webhooks/a')?.route.description, 'mine');
  t.equal(table.find('/p/work/webhooks/a')?.route.description, 'theirs');
  t.same(
    ['default', 'work', 'other'].map((profile) => table.named(profile, 'a')?.route.description),
    ['mine', 'theirs', undefined],
  );
  t.equal(table.find('/p/other/webhooks/a'), undefined);
  for (const path of ['/health', '/', '/webhooks/', '/webhooks/none']) t.equal(table.find(path), undefined, path);
  t.end();
});

t.test(
  'SUB-2 · requests of one turn of the loop look at the files once, and an unchanged file costs no compiling',
  async (t) => {
    const file = subscriptions(entry('hook', { source: 'dynamic' }));
    const table = createRouteTable(sourcesOf({ subscriptions: new Map([[defaultProfile, file.store]]) }));
    const first = table.find('/webhooks/hook');
    for (let n = 0; n < 100; n += 1) table.find('/webhooks/hook');
    t.equal(file.looks(), 1);

    await turn();
    t.equal(table.find('/webhooks/hook'), first, 'the very same');
    t.equal(file.looks(), 2);
  },
);

t.test('CFG-2 · a reload replaces every route, and a request under way keeps the one it began with', (t) => {
  const old = entry('a');
  const table = createRouteTable(sourcesOf({ configured: [old], multiplexProfiles: true }));
  const before = table.find('/webhooks/a');

  table.replace(sourcesOf({ configured: [entry('b', { profile: work })] }));

  t.equal(table.find('/webhooks/a'), undefined);
  t.equal(table.find('/p/work/webhooks/b'), undefined, 'profiles are not multiplexed any more');
  t.equal(table.compiled(old.route), before);
  const version = table.version();
  t.equal(table.version(), version, 'the routes are the same');
  table.replace(sourcesOf({ configured: [entry('c')] }));
  t.not(table.version(), version);
  t.throws(() => table.compiled(entry('stranger').route), /was not compiled by this table/);
  t.end();
});

t.test('SUB-2 · the routes are incomplete until every profile was read', async (t) => {
  let isUnknown = true;
  const late = { current: () => ({ routes: [], book: bookOf([]), problems: [], isUnknown }) } as unknown;
  const table = createRouteTable(
    sourcesOf({
      configured: [entry('fixed')],
      subscriptions: new Map([
        [defaultProfile, subscriptions().store],
        [work, late as SubscriptionsStore],
      ]),
    }),
  );
  t.equal(table.isComplete(), false);
  t.equal(table.find('/webhooks/fixed')?.route.name, 'fixed');
  isUnknown = false;
  await turn();
  t.equal(table.isComplete(), true);
});
