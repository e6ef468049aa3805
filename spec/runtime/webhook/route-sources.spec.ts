import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import type { Logger } from '../../../actors/ports.ts';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import { createSourceReader, subscriptionContext } from '../../../runtime/webhook/route-sources.ts';
import { makeHome } from '../../support/home.ts';

const work = 'work' as ProfileName;

function stage(t: Test, files: Readonly<Record<string, string>>) {
  const home = makeHome(t, files);
  const lines: (readonly [string, string])[] = [];
  const learnt: string[] = [];
  const log: Logger = { log: (level, message) => void lines.push([level, message]), warnOnce: () => {} };
  const reader = createSourceReader({ log, learn: (secret) => void learnt.push(secret) });
  const read = () => reader.read(loadHome({ home: home.path, env: {} }));
  const dynamic = (sources: ReturnType<typeof read>, profile: ProfileName = defaultProfile) =>
    sources.subscriptions
      .get(profile)
      ?.current()
      .routes.map(({ route }) => route.name);
  return { home, lines, learnt, read, look: reader.look, dynamic };
}

const config = (more = '', multiplex = true): string =>
  `gateway: {multiplex_profiles: ${multiplex}}\nplatforms: {webhook: {secret: the-secret-of-the-home, routes: {fixed: {}}${more}}}\n`;

t.test('PRF-1 · PRF-2 · the sources are those of every profile that is served, and of no other', (t) => {
  const files = {
    'config.yaml': config(),
    'webhook_subscriptions.json': '{"mine": {"secret": "of-mine-and-no-other"}}',
    'profiles/work/config.yaml': 'platforms: {webhook: {routes: {theirs: {}}}}\n',
    'profiles/work/webhook_subscriptions.json': '{"at-work": {"secret": "of-at-work-and-no-other"}}',
  };
  const { home, read, look, dynamic, learnt } = stage(t, files);
  const served = read();
  t.same(
    learnt,
    ['of-mine-and-no-other', 'of-at-work-and-no-other'],
    'OBS-1: every secret of a subscription is learnt before the first request',
  );
  t.equal(served.multiplexProfiles, true);
  t.same(
    served.configured.map(({ route }) => [route.profile, route.name]),
    [
      ['default', 'fixed'],
      ['work', 'theirs'],
    ],
  );
  t.same([...served.subscriptions.keys()], ['default', 'work']);
  t.same([dynamic(served), dynamic(served, work)], [['mine'], ['at-work']]);
  home.write('webhook_subscriptions.json', '{"mine": {"secret": "changed-and-never-asked-for"}}');
  look();
  t.equal(learnt.at(-1), 'changed-and-never-asked-for');

  const alone = stage(t, { ...files, 'config.yaml': config('', false) });
  const unserved = alone.read();
  t.same([unserved.multiplexProfiles, [...unserved.subscriptions.keys()]], [false, ['default']]);
  t.same(
    unserved.configured.map(({ route }) => route.name),
    ['fixed'],
  );
  t.end();
});

t.test('SUB-2 · CFG-2 · the last good subscriptions outlive reloads, and are read by the rules of the newest', (t) => {
  const { home, read, dynamic, lines } = stage(t, {
    'config.yaml': config(),
    'webhook_subscriptions.json': '{"own": {"secret": "of-its-own-and-no-other"}, "lent": {}}',
  });
  t.same(dynamic(read()), ['own', 'lent'], 'one of them by the secret of all');

  home.write('webhook_subscriptions.json', '{ broken');
  home.write('config.yaml', config().replace('secret: the-secret-of-the-home, ', ''));
  const next = read();

  t.same(dynamic(next), ['own'], 'the one without a secret is none any more');
  t.match(next.subscriptions.get(defaultProfile)?.current(), {
    problems: [{ name: 'lent', code: 'route-secret-missing' }],
    fault: { code: 'subscriptions-corrupt' },
  });
  t.match(
    lines.find(([level]) => level === 'error'),
    ['error', /is not a JSON object/],
  );
  t.ok(lines.some(([level, message]) => level === 'warn' && message.startsWith('subscription "lent" skipped: ')));
  t.end();
});

t.test('SUB-2 · PRF-2 · the subscriptions of a profile whose disk is away stay in force until it is back', (t) => {
  const elsewhere = makeHome(t, { 'work/webhook_subscriptions.json': '{"theirs": {"secret": "of-theirs-alone-012"}}' });
  const { home, read, dynamic } = stage(t, { 'config.yaml': config(), 'profiles/note': '' });
  symlinkSync(join(elsewhere.path, 'work'), join(home.path, 'profiles/work'));
  const sources = read();
  t.same(dynamic(sources, work), ['theirs']);
  renameSync(join(elsewhere.path, 'work'), join(elsewhere.path, 'away'));
  t.same(dynamic(sources, work), ['theirs'], 'else their senders are answered 404');
  t.match(sources.subscriptions.get(work)?.current().fault, { code: 'subscriptions-unreadable' });
  renameSync(join(elsewhere.path, 'away'), join(elsewhere.path, 'work'));
  t.same([dynamic(sources, work), sources.subscriptions.get(work)?.current().fault], [['theirs'], undefined]);
  rmSync(join(elsewhere.path, 'work/webhook_subscriptions.json'));
  t.same(dynamic(sources, work), [], 'a file that is removed holds none');
  const own = sources.subscriptions.get(defaultProfile);
  t.same(own?.current().fault, undefined);
  rmSync(home.path, { recursive: true });
  t.match(own?.current().fault, { code: 'subscriptions-unreadable' }, 'nor is a home removed whose disk is away');
  const unmade = stage(t, { 'config.yaml': config() });
  rmSync(unmade.home.path, { recursive: true });
  const none = unmade.read().subscriptions.get(defaultProfile)?.current();
  t.match(none, { routes: [], fault: undefined }, 'nor a home to be made');
  t.end();
});

t.test("PRF-2 · SUB-2 · a profile's subscriptions without a secret follow the profile's, and a new one of it", (t) => {
  const { home, read } = stage(t, {
    'config.yaml': config(),
    'profiles/work/config.yaml': '',
    'profiles/work/webhook_subscriptions.json': '{"lent": {}}',
  });
  const used = () =>
    read()
      .subscriptions.get(work)
      ?.current()
      .routes.map(({ secret }) => secret.kind === 'shared' && secret.secret);
  t.same(used(), ['the-secret-of-the-home']);
  home.write('profiles/work/.env', 'WEBHOOK_SECRET=of-the-work-profile\n');
  t.same(used(), ['of-the-work-profile']);
  home.write('profiles/work/config.yaml', 'platforms: {webhook: {secret: of-the-file-itself}}\n');
  t.same(used(), ['of-the-file-itself']);
  t.end();
});

t.test('PRF-1 · a subscription of a profile that takes the place of another is read anew', (t) => {
  const { home, read, dynamic } = stage(t, {
    'config.yaml': config(),
    'profiles/work/config.yaml': '',
    'webhook_subscriptions.json': '{"bound": {"profile": "play"}}',
  });
  t.same(dynamic(read()), []);
  renameSync(join(home.path, 'profiles/work'), join(home.path, 'profiles/play'));
  t.same(dynamic(read()), ['bound']);
  t.end();
});

t.test('SIG-5 · SUB-3 · a subscription is held against the listener, the profiles and the secret of the home', (t) => {
  const { home, read, dynamic } = stage(t, {
    'config.yaml': config(', host: 0.0.0.0'),
    'profiles/work/config.yaml': '',
    'webhook_subscriptions.json':
      '{"open": {"secret": "INSECURE_NO_AUTH"}, "bound": {"profile": "nobody"}, "fine": {}, "Not-Fine": {}}',
  });
  t.same(dynamic(read()), ['fine']);
  const loaded = loadHome({ home: home.path, env: {} });
  t.match(subscriptionContext(loaded, work), {
    profile: 'work',
    host: '0.0.0.0',
    secret: 'the-secret-of-the-home',
    profiles: new Set(['default', 'work']),
  });
  home.write('config.yaml', config(', host: 127.0.0.1', false));
  t.notOk('profiles' in subscriptionContext(loadHome({ home: home.path, env: {} }), defaultProfile));
  t.end();
});
