import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fileDocuments } from '../../../actors/documents.ts';
import { createSharedDocuments } from '../../../actors/shared-documents.ts';
import { createSubscriptionsStore, type SubscriptionsStore } from '../../../actors/webhook/subscriptions.store.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { editSubscriptions, readingSubscriptions } from '../../../machines/config/subscription.ts';
import { memoryRows } from '../../support/document-rows.ts';
import { makeHome, type TestHome } from '../../support/home.ts';

interface Fixture {
  readonly home: TestHome;
  readonly path: string;
  readonly store: SubscriptionsStore;
  /** Names of the routes in force. */
  names(): string[];
  /** How often the file was read whole. */
  reads(): number;
}

function fixture(t: Test, text?: string): Fixture {
  const home = makeHome(t, text === undefined ? {} : { 'subs.json': text });
  const path = `${home.path}/subs.json`;
  let reads = 0;
  const store = createSubscriptionsStore({
    document: fileDocuments.at(path),
    read: (written, known) => {
      reads += 1;
      return readingSubscriptions(written, { profile: defaultProfile, host: '0.0.0.0', checkFilters: () => [] }, known);
    },
  });
  return { home, path, store, names: () => store.current().routes.map(({ route }) => route.name), reads: () => reads };
}

const one = '{"one":{"secret":"long-enough-secret"}}';
const two = '{"one":{"secret":"long-enough-secret"},"two":{"secret":"long-enough-secret"}}';

t.test('SUB-2 · the file is read once for each change, and its absence is an empty set', (t) => {
  const { home, path, names, reads } = fixture(t);
  t.same([names(), reads()], [[], 0]);
  home.write('subs.json', one);
  t.same([names(), names(), reads()], [['one'], ['one'], 1]);
  home.write('subs.json', two);
  t.same([names(), names(), reads()], [['one', 'two'], ['one', 'two'], 2]);
  rmSync(path);
  t.same([names(), reads()], [[], 2]);
  t.end();
});

t.test('SUB-2 · a broken record is skipped and reported, the others stand', (t) => {
  const { store, names } = fixture(t, '{"ok":{"secret":"long-enough-secret"},"Bad Name":{},"typed":{"events":"push"}}');
  t.same(names(), ['ok']);
  t.same(new Set(store.current().problems.map(({ name }) => name)), new Set(['Bad Name', 'typed']));
  t.equal(store.current().fault, undefined);
  t.end();
});

t.test('SUB-2 · SUB-5 · whatever spoils the file, the last good set stands until it is corrected', (t) => {
  const { home, path, store, names } = fixture(t, two);
  t.same(names(), ['one', 'two']);
  for (const text of ['', '\n', '{', '[]', 'null', '"x"', '{"one":', '\0\0\0\0']) {
    home.write('subs.json', text);
    t.same(names(), ['one', 'two'], JSON.stringify(text));
    t.equal(store.current().fault?.code, 'subscriptions-corrupt');
  }
  rmSync(path);
  symlinkSync('subs.json', path);
  t.same(names(), ['one', 'two'], 'a link to itself');
  t.equal(store.current().fault?.code, 'subscriptions-unreadable');
  rmSync(path);
  home.write('subs.json', one);
  t.same(names(), ['one']);
  t.equal(store.current().fault, undefined);
  t.end();
});

t.test('SUB-2 · which routes there are is unknown while the first file to be read is spoilt', (t) => {
  const { home, path, store, names } = fixture(t, '{"one":');
  t.match(store.current(), { isUnknown: true, fault: { code: 'subscriptions-corrupt' } });
  rmSync(path);
  mkdirSync(path);
  t.match(store.current(), { isUnknown: true, fault: { code: 'subscriptions-unreadable' } });
  rmdirSync(path);
  home.write('subs.json', one);
  t.same([names(), store.current().isUnknown ?? false], [['one'], false]);
  home.write('subs.json', '{ broken');
  t.same([names(), store.current().isUnknown ?? false], [['one'], false], 'the last good set answers');
  rmSync(path);
  t.notOk(store.current().isUnknown, 'no file names no route');
  home.write('subs.json', '{ broken');
  t.equal(store.current().isUnknown, true);
  t.end();
});

const asRoot = process.getuid?.() === 0 ? 'the superuser reads everything' : false;
t.test('SUB-2 · fixed permissions are noticed, though they leave the stamp as it is', { skip: asRoot }, (t) => {
  const { path, store, names } = fixture(t, one);
  chmodSync(path, 0);
  t.equal(store.current().fault?.code, 'subscriptions-unreadable');
  t.equal(store.current().fault, store.current().fault, 'one fault, told once');
  chmodSync(path, 0o600);
  t.same(names(), ['one']);
  t.end();
});

t.test('SUB-2 · a change is written under the lock and seen at once; a refused or failed one is a fault', async (t) => {
  const { home, path, store, names } = fixture(t);
  const added = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) =>
      store.update((text) => editSubscriptions(text, name, { secret: 'long-enough-secret' })),
    ),
  );
  t.same(
    added.map(({ ok }) => ok),
    [true, true, true, true],
  );
  t.same(names().sort(), ['a', 'b', 'c', 'd'], 'no change is lost');
  t.match(await store.update((text) => editSubscriptions(text, 'b', undefined)), { ok: true });
  t.same(names().sort(), ['a', 'c', 'd']);

  for (const text of ['{"a":', '']) {
    home.write('subs.json', text);
    t.match(await store.update(() => '{}'), { ok: false, fault: { code: 'subscriptions-corrupt' } });
    t.equal(readFileSync(path, 'utf8'), text, 'a corrupt file is left for a person to mend');
  }
  t.notOk(existsSync(`${path}.lock`));

  rmSync(path);
  mkdirSync(path);
  t.match(await store.update(() => '{}'), { ok: false, fault: { code: 'subscriptions-unreadable' } });
});

t.test('SUB-2 · a long file is read between other work before it is changed', async (t) => {
  const { store, names } = fixture(t);
  const records = Array.from({ length: 300 }, (_, at) => [`s${at}`, { secret: 'long-enough-secret' }] as const);
  await store.update(() => JSON.stringify(Object.fromEntries(records)));
  // Each look at the clock finds the time of a turn over.
  let turns = 0;
  t.intercept(performance, 'now', {
    value: () => {
      turns += 1;
      return turns * 10;
    },
  });
  let before = 0;
  let seen: readonly string[] = [];
  await store.update((text, known) => {
    before = turns;
    seen = [...known.keys()];
    return editSubscriptions(text, 's7', undefined);
  });
  t.ok(before >= 300, `a turn for each record: ${before}`);
  t.strictSame(
    seen,
    records.map(([name]) => name),
  );
  t.equal(names().length, 299);
});

t.test('HOME-3 · SUB-1 · the first change makes the folder that the file lies in, for its owner alone', async (t) => {
  const { home, path, store, names } = fixture(t);
  rmSync(home.path, { recursive: true });
  t.match(await store.update((text) => editSubscriptions(text, 'a', { secret: 'long-enough-secret' })), { ok: true });
  t.same(names(), ['a']);
  t.same(
    [home.path, path].map((one) => (statSync(one).mode & 0o777).toString(8)),
    ['700', '600'],
  );
});

t.test('SUB-2 · SIG-5 · new rules are held against the last good text, also while the file is corrupt', (t) => {
  const home = makeHome(t, {
    'subs.json': '{"open":{"secret":"INSECURE_NO_AUTH"},"shut":{"secret":"long-enough-secret"}}',
  });
  let host = '127.0.0.1';
  const store = createSubscriptionsStore({
    document: fileDocuments.at(`${home.path}/subs.json`),
    read: (text) => readingSubscriptions(text, { profile: defaultProfile, host, checkFilters: () => [] }),
  });
  const names = (): string[] => store.current().routes.map(({ route }) => route.name);
  t.same(names(), ['open', 'shut']);
  home.write('subs.json', '{ broken');
  t.same(names(), ['open', 'shut']);

  host = '0.0.0.0';
  store.reconsider();

  t.same(names(), ['shut']);
  t.match(store.current(), { problems: [{ name: 'open', code: 'insecure-not-loopback' }], fault: { code: /corrupt/ } });
  t.end();
});

t.test(
  'SUB-2 · what an update wrote is the last good set, also if the file was not read before it broke',
  async (t) => {
    const { home, store, names } = fixture(t);
    t.match(await store.update((text) => editSubscriptions(text, 'mine', { secret: 'long-enough-secret' })), {
      ok: true,
    });
    home.write('subs.json', '{ broken');
    t.same(names(), ['mine']);
  },
);

/** More than is read at once. */
function long(changed: Readonly<Record<string, object>> = {}): string {
  const all: Record<string, object> = {};
  for (let at = 0; at < 800; at += 1) all[`sub-${at}`] = { secret: 'long-enough-secret', description: 'x'.repeat(100) };
  return JSON.stringify({ ...all, ...changed }, null, 2);
}

/** Lets the loop turn until something holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

t.test('SUB-2 · a long file is read between other work; the set before it answers, and gives way whole', async (t) => {
  const { home, names, store } = fixture(t, long());
  t.equal(names().length, 800, 'the first set is waited for');
  const before = store.current().routes;
  home.write(
    'subs.json',
    long({ fresh: { secret: 'long-enough-secret' }, 'sub-7': { secret: 'another-long-secret' } }),
  );

  t.equal(store.current().routes, before, 'not a record of it is in force yet');
  await until(() => store.current().routes !== before);

  t.same([names().length, names().at(-1)], [801, 'fresh']);
  const { routes } = store.current();
  t.equal(routes[8]?.route, before[8]?.route, 'a record of the same text was not read again');
  t.not(routes[7]?.route, before[7]?.route);
});

t.test('SUB-2 · a long file that is spoilt keeps the last good set; a newer one is not kept waiting', async (t) => {
  const { home, names, store } = fixture(t, long());
  t.equal(names().length, 800);
  home.write('subs.json', `${long()}}`);
  await until(() => store.current().fault !== undefined);
  t.same([names().length, store.current().fault?.code], [800, 'subscriptions-corrupt']);

  home.write('subs.json', long({ late: { secret: 'long-enough-secret' } }));
  names();
  home.write('subs.json', one);
  t.same(names(), ['one']);
  for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  t.same([names(), store.current().fault], [['one'], undefined], 'what was being read is dropped');
});

t.test('SUB-2 · an update of a long file is in force when it has resolved', async (t) => {
  const { store, names } = fixture(t, long());
  t.equal(names().length, 800);
  const updated = await store.update((text) => editSubscriptions(text, 'mine', { secret: 'long-enough-secret' }));
  t.same([updated.ok, names().at(-1)], [true, 'mine']);
});

t.test(
  'SUB-2 · SIG-5 · new rules that come while a long file is read hold for what is in force and for it',
  async (t) => {
    const home = makeHome(t, { 'subs.json': long({ open: { secret: 'INSECURE_NO_AUTH' } }) });
    let host = '127.0.0.1';
    const store = createSubscriptionsStore({
      document: fileDocuments.at(`${home.path}/subs.json`),
      read: (text, known) =>
        readingSubscriptions(text, { profile: defaultProfile, host, checkFilters: () => [] }, known),
    });
    const names = (): string[] => store.current().routes.map(({ route }) => route.name);
    t.ok(names().includes('open'));
    home.write('subs.json', long({ open: { secret: 'INSECURE_NO_AUTH' }, next: { secret: 'long-enough-secret' } }));
    names();
    await new Promise((resolve) => setImmediate(resolve));

    host = '0.0.0.0';
    store.reconsider();

    t.notOk(names().includes('open'));
    await until(() => names().includes('next'));
    t.notOk(names().includes('open'));
  },
);

t.test('SUB-2 · subscriptions in a database are unread until it has answered once', async (t) => {
  const rows = memoryRows();
  const home = makeHome(t).path;
  const log = { log: () => {}, warnOnce: () => {} };
  const documents = createSharedDocuments({ home, place: 'postgres://host/db', connect: rows.connect, log });
  const store = createSubscriptionsStore({
    document: documents.at(join(home, 'subs.json')),
    read: (text, known) =>
      readingSubscriptions(text, { profile: defaultProfile, host: '0.0.0.0', checkFilters: () => [] }, known),
  });
  rows.isAway = true;
  t.match(store.current(), { isUnread: true, isUnknown: true, fault: { code: 'subscriptions-unreadable' } });
  t.match(await store.update((text) => text), {
    ok: false,
    fault: { message: /^subs\.json in postgres:.* cannot be changed: .*; see that the database answers$/ },
  });
  rows.isAway = false;
  await documents.refresh();
  t.same(store.current(), { routes: [], book: new Map(), problems: [] }, 'nothing is subscribed');
  t.match(await store.update((text) => editSubscriptions(text, 'mine', { secret: 'long-enough-secret' })), {
    ok: true,
  });
  rows.isAway = true;
  t.same(
    store.current().routes.map(({ route }) => route.name),
    ['mine'],
  );
  t.notOk(store.current().isUnread);
});
