import { join } from 'node:path';
import t from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import { fileDocuments } from '../../../actors/documents.ts';
import { createDocumentsInForce } from '../../../runtime/config/documents-in-force.ts';
import { memoryRows } from '../../support/document-rows.ts';
import { makeHome } from '../../support/home.ts';

const log = { log: () => {}, warnOnce: () => {} };
const config = (host: string): string =>
  `gateway: {journal: postgres, postgres: {url: "\${DB}"}}\nagent: {runner: echo}\n# ${host}\n`;

t.test('SUB-2 · the first configuration chooses where the documents are, and they outlive a reload', async (t) => {
  const rows = memoryRows();
  const home = makeHome(t, { 'config.yaml': config('one'), '.env': 'DB=postgres://me:hunter2@one/agent\n' });
  const asked: string[] = [];
  const documents = createDocumentsInForce({
    home: home.path,
    log,
    connect(url, place) {
      asked.push(`${url} ${place}`);
      return rows.connect();
    },
  });
  const source = { home: home.path, env: {}, documents: documents.choose };
  const first = loadHome(source);
  const jobs = first.documents.at(join(home.path, 'cron/jobs.json'));
  t.equal(jobs.place, 'cron/jobs.json in postgres://one/agent');
  t.same(asked, [], 'nothing is connected before it is needed');

  rows.isAway = true;
  t.match(await documents.open(), { code: 'journal-unavailable' });
  t.equal(await documents.refresh(), false);
  rows.isAway = false;
  t.equal(await documents.open(), undefined);
  await jobs.update(() => '[]');
  t.equal(await documents.refresh(), true);

  home.write('.env', 'DB=postgres://me:hunter2@other/agent\n');
  t.equal(loadHome(source).documents, first.documents);
  home.write('config.yaml', 'agent: {runner: echo}\n');
  t.equal(loadHome(source).documents, first.documents);
  t.same(asked, ['postgres://me:hunter2@one/agent postgres://one/agent']);
  await documents.close();
  t.equal(await documents.refresh(), false);
});

t.test('SUB-2 · a home with a journal of its own keeps its documents in files', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n' });
  const documents = createDocumentsInForce({
    home: home.path,
    log,
    connect: () => Promise.reject(new Error('no database is configured')),
  });
  t.equal(loadHome({ home: home.path, env: {}, documents: documents.choose }).documents, fileDocuments);
  t.equal(await documents.open(), undefined);
  t.equal(await documents.refresh(), true);
  await documents.close();
});
