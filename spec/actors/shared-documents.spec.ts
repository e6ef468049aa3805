import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createSharedDocuments, type SharedDocuments, writeHomeFiles } from '../../actors/shared-documents.ts';
import { createDocumentRows } from '../../actors/store/postgres-documents.ts';
import { migratePostgresJournal } from '../../actors/store/postgres-journal.ts';
import { schemaVersion } from '../../actors/store/postgres-schema.ts';
import { documentsContract, type Opener } from '../conformance/documents.ts';
import { type MemoryRows, memoryRows } from '../support/document-rows.ts';
import { makeHome } from '../support/home.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/processes.ts';
import { runs } from '../support/property.ts';

interface Opened extends Opener {
  readonly documents: SharedDocuments;
  readonly logged: readonly string[];
}

type Connect = MemoryRows['connect'];

function opener(t: Test, connect: Connect, files: Readonly<Record<string, string>> = {}): Opened {
  const home = makeHome(t, files).path;
  const logged: string[] = [];
  const documents = createSharedDocuments({
    home,
    place: 'postgres://host/db',
    connect,
    log: { log: (_, message) => void logged.push(message), warnOnce: (_, message) => void logged.push(message) },
  });
  t.teardown(() => documents.close());
  return { home, documents, logged, seen: documents.refresh };
}

/** The text of a document, or why there is none. */
function textOf({ documents, home }: Opener, name: string): string | undefined {
  const document = documents.at(join(home, name));
  return document.stamp() === undefined ? undefined : document.text();
}

documentsContract(t, 'rows in memory', {
  async open(t) {
    const { connect } = memoryRows();
    return [opener(t, connect), opener(t, connect)];
  },
  histories: runs(100, 20),
});

t.test('SCA-1 · SEC-1 · the documents of a database become files of a home, and nothing else does', async (t) => {
  // In a folder of its own, so that a file beside it is none of the machine.
  const outer = makeHome(t, { 'home/webhook_subscriptions.json': '{"old":{}}', 'home/cron/jobs.json': '[]' });
  const home = join(outer.path, 'home');
  const store = await memoryRows().connect();
  const write = (name: string, text: string | undefined, expected = 0) =>
    store.replace([{ name, expected, version: expected + 1, text }]);
  await write('webhook_subscriptions.json', '{"new":{}}');
  await write('profiles/work/mcp-tokens/srv.json', '{"token":"t"}');
  await write('cron/jobs.json', '[1]');
  await write('cron/jobs.json', undefined, 1);
  for (const name of [
    '../evil.json',
    'config.yaml',
    'scripts/run.js',
    'mcp-tokens/../../evil.json',
    'profiles/../cron/jobs.json',
  ])
    await write(name, 'evil');

  t.equal(await writeHomeFiles(store, home), 2);
  t.same((readdirSync(outer.path, { recursive: true }) as string[]).filter((name) => /\./.test(name)).sort(), [
    'home/profiles/work/mcp-tokens/srv.json',
    'home/webhook_subscriptions.json',
  ]);
  t.equal(readFileSync(join(home, 'webhook_subscriptions.json'), 'utf8'), '{"new":{}}');
});

t.test('SCA-3 · what was read stays readable while the database is away, and no change is taken', async (t) => {
  const rows = memoryRows();
  rows.isAway = true;
  let failures = 1;
  const one = opener(t, () => (failures-- > 0 ? Promise.reject(new Error('no driver')) : rows.connect()));
  const document = one.documents.at(join(one.home, 'cron/jobs.json'));
  t.throws(() => document.text(), /has not answered/);
  t.match(await one.documents.open(), { code: 'journal-unavailable' }, 'a client that cannot be made is made again');
  t.throws(() => document.text(), { message: 'no driver' });
  t.match(await one.documents.open(), { code: 'journal-unavailable', message: /^postgres:\/\/host\/db: / });
  t.equal(document.stamp(), 'unread');
  rows.isAway = false;
  t.equal(await one.documents.open(), undefined);
  t.equal(document.stamp(), undefined);
  await document.update(() => '[]');

  rows.isAway = true;

  await t.rejects(document.update(() => 'lost'));
  await t.rejects(one.documents.locked(join(one.home, 'x'), async () => t.fail('works without the lease')));
  t.same([document.text(), document.place], ['[]', 'cron/jobs.json in postgres://host/db']);
});

t.test("SCA-3 · a home's files become the documents that were never written, and no others", async (t) => {
  const { connect } = memoryRows();
  const files = {
    'webhook_subscriptions.json': '{}',
    'cron/jobs.json': '[]',
    'mcp-tokens/hub.json': '{"access_token":"secret"}',
    'mcp-tokens/hub.json.lock': '1',
    'profiles/work/mcp-tokens/hub.meta': '{}',
    'profiles/work/cron/jobs.json': '\0',
  };
  const one = opener(t, connect, files);
  // A change before the first reading does not hide the file.
  await one.documents.at(join(one.home, 'cron/jobs.json')).update((text) => `${text}!`);
  t.same(
    Object.keys(files).map((name) => textOf(one, name)),
    ['{}', '[]!', '{"access_token":"secret"}', undefined, '{}', undefined],
  );
  t.same(
    one.logged.map((line) => line.replace(one.home, '')),
    ['/profiles/work/cron/jobs.json: holds U+0000, which Postgres does not store; correct the file or remove it'],
  );
  await one.documents.write([{ path: join(one.home, 'mcp-tokens/hub.json'), text: undefined }]);

  const other = opener(t, connect, { ...files, 'cron/jobs.json': '["mine"]' });
  t.equal(await other.documents.open(), undefined);
  await other.documents.refresh();

  t.same(
    ['cron/jobs.json', 'mcp-tokens/hub.json'].map((name) => textOf(other, name)),
    ['[]!', undefined],
    'what was written or removed is not read from a file again',
  );
  t.match(other.logged, [/cron\/jobs\.json: differs from .*used instead/, /hub\.json: differs/, /U\+0000/]);
  t.notMatch(other.logged.join('\n'), /secret|mine/);
});

t.test('SCA-3 · a gateway hears of what another one has changed, and not of its own changes', async (t) => {
  const { connect } = memoryRows();
  const [one, other] = [opener(t, connect), opener(t, connect)];
  await Promise.all([one.documents.open(), other.documents.open()]);
  const heard: string[] = [];
  const stop = one.documents.onChanged((path) => void heard.push(path));

  await one.documents.at(join(one.home, 'own')).update(() => 'x');
  await other.documents.at(join(other.home, 'other')).update(() => 'x');
  await until(() => heard.length > 0);
  stop();
  await other.documents.at(join(other.home, 'other')).update(() => 'y');
  await one.documents.refresh();

  t.same(heard, [join(one.home, 'other')]);
});

t.test('SCA-3 · documents in Postgres', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const connecting =
    (url: string): Connect =>
    async () =>
      createDocumentRows(url, 'postgres://host/db');
  documentsContract(t, 'Postgres', {
    async open(t) {
      const owned = await postgres.url();
      await migratePostgresJournal(owned);
      const connect = connecting(await postgres.least(owned));
      return [opener(t, connect), opener(t, connect)];
    },
    histories: runs(20, 4),
  });

  t.test('SCA-3 · news that is lost, or a database that restarts, costs a refresh', async (t) => {
    const connect = connecting(await postgres.url());
    const [one, other] = [opener(t, connect), opener(t, connect)];
    await Promise.all([one.documents.open(), other.documents.open()]);
    await other.documents.at(join(other.home, 'a')).update(() => 'told');
    await until(() => textOf(one, 'a') === 'told');

    await postgres.restart();

    t.equal(textOf(one, 'a'), 'told');
    await until(async () => (await other.documents.open()) === undefined);
    await other.documents.at(join(other.home, 'a')).update(() => 'not heard of');
    await until(async () => (await one.documents.open()) === undefined);
    t.equal(textOf(one, 'a'), 'not heard of');
  });

  t.test('SCA-2 · SCA-3 · after the database is set back, each gateway reads what is written then', async (t) => {
    const url = await postgres.url();
    const connect = connecting(url);
    const [one, other] = [opener(t, connect), opener(t, connect)];
    const write = (to: Opened, text: string) => to.documents.at(join(to.home, 'a')).update(() => text);
    await write(one, 'kept');
    const [kept] = await postgres.run(url, 'select version from agent_document');
    await write(one, 'lost');
    await one.documents.refresh();

    await postgres.run(url, `update agent_document set version = ${kept?.version}, text = 'kept'`);
    await write(other, 'new');

    await one.documents.refresh();
    t.equal(textOf(one, 'a'), 'new');
  });

  t.test('SCA-3 · OAU-1 · a lease outlives the connection of its holder, and runs out', async (t) => {
    const url = await postgres.url();
    const [one, other] = [createDocumentRows(url, ''), createDocumentRows(url, '')];
    await one.changed(new Map());
    await postgres.lendClock(url);
    t.equal(await one.lease('hub.json', 'one', 20_000), true);
    await one.close();

    t.equal(await other.lease('hub.json', 'other', 20_000), false);
    t.same(await other.changed(new Map()), [], 'a leased document was not written');
    await postgres.setClock(url, 20_000);

    t.equal(await other.lease('hub.json', 'other', 20_000), true);
    await other.giveBack('hub.json', 'one');
    t.equal(await other.lease('hub.json', 'third', 20_000), false, 'the holder alone gives it back');
    await other.close();
  });

  t.test('SCA-3 · OAU-1 · a lease from before the clock of the database was set back does not last', async (t) => {
    const url = await postgres.url();
    const rows = createDocumentRows(url, '');
    t.teardown(() => rows.close());
    await rows.changed(new Map());
    await postgres.lendClock(url);
    await postgres.setClock(url, 3_600_000);
    t.equal(await rows.lease('hub.json', 'one', 20_000), true);
    await postgres.setClock(url, 3_590_000);
    t.equal(await rows.lease('hub.json', 'other', 20_000), false, 'its holder may still work after a small correction');
    await postgres.setClock(url, 0);
    t.equal(await rows.lease('hub.json', 'other', 20_000), true);
  });

  t.test('SCA-3 · tables of a newer release are refused, and no fault holds the password', async (t) => {
    const url = await postgres.url();
    const first = createDocumentRows(url, '');
    await first.changed(new Map());
    await first.close();
    await postgres.run(url, `update agent_meta set value = ${schemaVersion + 1} where name = 'schema'`);
    const { documents } = opener(t, connecting(url));
    t.match(await documents.open(), { code: 'journal-version' });
    await postgres.run(url, `update agent_meta set value = ${schemaVersion} where name = 'schema'`);
    t.equal(await documents.open(), undefined);

    const unknown = opener(t, connecting('postgres://me:hunter2@127.0.0.1:1/db'));
    const fault = await unknown.documents.open();
    t.match(fault, { code: 'journal-unavailable', message: /ECONNREFUSED/ });
    t.notMatch(JSON.stringify(fault), /hunter2/);
  });
});
