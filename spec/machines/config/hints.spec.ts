import t from 'tap';
import type { ProfileName } from '../../../machines/base/names.ts';
import { hintsOf, runLimitOf } from '../../../machines/config/hints.ts';
import { readText } from '../../support/read-config.ts';

const hints = (
  routes: string,
  servers = '{off: {command: x, enabled: false}, files: {command: x}}',
  runner = 'model',
) => {
  const { settings } = readText(
    `agent: {runner: ${runner}, command: [a]}\nmcp_servers: ${servers}\nplatforms: {webhook: {secret: long-enough-secret, routes: ${routes}}}\n`,
  );
  return hintsOf(new Map([['default', { settings }]]));
};

t.test('CFG-2 · DIS-5 · routes that lend their runs no tool of a server are named in one hint', (t) => {
  const end = 'without the tools of your servers; add toolsets: [agent-webhook, mcp-files] to lend them';
  t.same(hints('{x: {}}'), [`route "x" runs ${end}`]);
  t.match(hints('{a: {}, b: {}, own: {toolsets: [web]}, c: {}, d: {}}'), [
    `routes "a", "b", "c" and 1 more run ${end}`,
  ]);
  const quiet = [
    hints('{x: {toolsets: []}}'),
    hints('{x: {enabled: false}}'),
    hints('{x: {cron_job: j}}'),
    hints('{x: {deliver_only: true, deliver: slack}}'),
    hints('{x: {}}', '{off: {command: x, enabled: false}}'),
    hints('{x: {}}', '{}'),
    hints('{x: {}}', '{files: {command: x}}', 'echo'),
    hints('{}'),
  ];
  t.same(quiet, Array(quiet.length).fill([]));
  t.end();
});

t.test('CFG-2 · SEC-6 · routes of one secret are named in one hint, without the secret', (t) => {
  const end =
    'share a secret, and an event that a sender sends to several of them runs once; give each a secret of its own';
  const own = (name: string): string => `{secret: the-very-own-secret-of-${name}}`;
  t.same(hints('{a: {}, b: {}, c: {enabled: false}}', '{}'), [`routes "a", "b" ${end}`]);
  t.same(hints(`{a: ${own('x')}, b: ${own('x')}, c: {}, d: {}, e: {}, f: {}}`, '{}'), [
    `routes "a", "b" ${end}`,
    `routes "c", "d", "e" and 1 more ${end}`,
  ]);
  t.same(hints(`{a: {}, b: ${own('b')}, c: ${own('c')}}`, '{}'), []);
  const token = '{signature: {header: x-token, algorithm: token}}';
  t.same(hints(`{a: ${token}, b: ${token}, c: {}}`, '{}'), [], 'a token lets both run');
  const chat = '{source: google-chat, secret: "1234567890"}';
  const bot = '{source: telegram}';
  t.same(hints(`{a: ${chat}, b: ${chat}, c: ${bot}, d: ${bot}}`, '{}'), [], 'so does that of a source');
  const one = { settings: readText('platforms: {webhook: {secret: long-enough-secret, routes: {a: {}}}}').settings };
  const [route] = one.settings.webhook.routes;
  if (route === undefined) throw new Error('no route');
  const routes = [{ ...route, route: { ...route.route, profile: 'work' as ProfileName } }];
  const other = { settings: { ...one.settings, webhook: { ...one.settings.webhook, routes } } };
  t.same(
    hintsOf(
      new Map([
        ['default', one],
        ['work', other],
      ]),
    ),
    [`routes "a", "a" of profile "work" ${end}`],
    'across profiles too',
  );
  t.end();
});

t.test('CFG-2 · DIS-3 · runs that are held are named, those of all or those of some routes', (t) => {
  const held = (concurrency: number, routes: string): readonly string[] => {
    const text = `agent: {concurrency: ${concurrency}}\nplatforms: {webhook: {routes: ${routes}}}\n`;
    return hintsOf(new Map([['default', { settings: readText(text).settings }]]));
  };
  const own = (name: string, concurrency: number): string =>
    `${name}: {secret: the-very-own-secret-of-${name}, concurrency: ${concurrency}}`;
  t.same(held(0, `{${own('a', 0)}}`), ['agent.concurrency is 0: events are accepted, and their runs wait']);
  t.same(held(1, `{${own('a', 0)}, ${own('b', 1)}}`), [
    'concurrency of route "a" is 0: events are accepted, and its runs wait',
  ]);
  t.same(held(1, `{${own('a', 0)}, ${own('b', 0)}}`), [
    'concurrency of routes "a", "b" is 0: events are accepted, and their runs wait',
  ]);
  t.same(held(1, `{${own('a', 1)}}`), []);
  const kept = own('c', 3).replace('concurrency', 'held: true, concurrency');
  t.same(held(1, `{${own('a', 0)}, ${kept}}`), [
    'route "c" is held: events are accepted, and its runs wait',
    'concurrency of route "a" is 0: events are accepted, and its runs wait',
  ]);
  const direct = '{secret: the-very-own-secret-of-a, concurrency: 0, deliver_only: true, deliver: ntfy}';
  t.same(held(1, `{a: ${direct}}`), [], 'it has no runs');
  t.end();
});

t.test('DIS-3 · a route that is held has no run at once, whatever its limit', (t) => {
  t.equal(runLimitOf({}), Number.POSITIVE_INFINITY);
  t.equal(runLimitOf({ concurrency: 3 }), 3);
  t.equal(runLimitOf({ concurrency: 3, held: true }), 0);
  t.equal(runLimitOf({ held: true }), 0);
  t.end();
});
