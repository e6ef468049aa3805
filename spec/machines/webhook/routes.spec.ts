import t from 'tap';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import { bookOf } from '../../../machines/config/route-book.ts';
import { findRoute, readTarget } from '../../../machines/webhook/routes.ts';

t.test('RTE-3 · PRF-1 · a path names one route of one profile', (t) => {
  const entry = (name: string, profile: string, source: 'static' | 'dynamic'): { readonly route: Route } => ({
    route: { name: name as RouteName, profile: profile as ProfileName, source } as Route,
  });
  const books = [
    bookOf([entry('a', 'default', 'static'), entry('w', 'work', 'static'), entry('a', 'default', 'dynamic')]),
    bookOf([entry('a', 'default', 'dynamic'), entry('x/y', 'default', 'dynamic')]),
  ];
  const find = (path: string, multiplex = true): Route | undefined => {
    const target = readTarget(path);
    return target.kind === 'route' ? findRoute(books, target, multiplex)?.route : undefined;
  };
  t.equal(find('/webhooks/a')?.source, 'static', 'static wins');
  t.equal(find('/webhooks/%61')?.name, 'a', 'percent-encoded names decode');
  t.equal(find('/webhooks/x%2Fy')?.name, 'x/y');
  t.equal(find('/p/work/webhooks/w')?.name, 'w');
  t.equal(find('/webhooks/a/')?.name, 'a', 'one trailing slash is ignored');
  t.equal(find('/p/work/webhooks/w/')?.name, 'w');
  for (const path of [
    '/webhooks/w',
    '/p/work/webhooks/a',
    '/p/default/webhooks/w',
    '/p/other/webhooks/w',
    '/webhooks/',
    '/webhooks/a//',
    '/webhooks/%zz',
    '/p/work%2F/webhooks/w',
    '/p/..%2f/webhooks/a',
    'x/p/work/webhooks/w',
    '/q/work/webhooks/w',
    '/p/work/hooks/w',
    '/p/work/webhooks/w//',
    '/p/work/webhooks',
    '/p//webhooks/w',
    '/p/work/webhooks/',
    '/',
    '',
  ]) {
    t.equal(find(path), undefined, path);
  }
  for (const path of ['/p/work/webhooks/w', '/p/work/webhooks/a', '/p/default/webhooks/a']) {
    t.equal(find(path, false), undefined, `no prefix without multiplexing: ${path}`);
  }
  t.equal(readTarget('/health').kind, 'health');
  t.same(readTarget('/other'), { kind: 'none' });
  t.same(readTarget('/webhooks/'), { kind: 'none' });
  t.end();
});
