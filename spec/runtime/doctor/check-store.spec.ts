import { truncateSync } from 'node:fs';
import t from 'tap';
import { openLmdbJournal } from '../../../actors/store/lmdb-journal.ts';
import { checkStore } from '../../../runtime/doctor/check-store.ts';
import { answering, codes, examined, troubles } from '../../support/examined.ts';

const having =
  (bytes: number, files = 1e6) =>
  () => ({ disk: 1, bytes, files });
const plenty = having(1e12);

t.test('DUR-1 · CLI-2 · a damaged store and a full disk are found without changing anything', async (t) => {
  const one = examined(t);
  t.same(codes(await checkStore(one, plenty)), [], 'none yet');
  const opened = await openLmdbJournal({ directory: one.paths.state });
  if (opened.ok) await opened.value.close();
  t.same(codes(await checkStore(one, plenty)), []);
  t.same(codes(await checkStore(one, having(500e6))), ['warning disk-low']);
  t.same(codes(await checkStore(one, having(50e6))), ['wrong disk-low']);
  t.same(codes(await checkStore(one, having(1e12, 0))), ['wrong disk-low']);
  t.same(codes(await checkStore(one)), [], 'the disk of this machine');
  truncateSync(`${one.paths.state}/data.mdb`, 4_096);
  const [found] = troubles(await checkStore(one, plenty));
  t.match(found, { level: 'wrong', code: 'store-fault', what: /\[journal-corrupt\]/ });
});

t.test('DUR-1 · CLI-2 · a journal that is linked to another disk needs room there too', async (t) => {
  const one = examined(t);
  const measure = (path: string) =>
    path === one.paths.state ? { disk: 2, bytes: 50e6, files: 9 } : { disk: 1, bytes: 500e6, files: 9 };
  t.match(troubles(await checkStore(one, measure)), [
    { level: 'warning', place: one.paths.home, what: 'its disk has 476 MB left' },
    { level: 'wrong', place: 'state/', what: 'its disk has 47 MB left' },
  ]);
});

t.test('DUR-1 · CLI-2 · a journal of LMDB on a network disk is doubtful', async (t) => {
  const found = troubles(await checkStore(examined(t), plenty, 'NFS'));
  t.match(found, [{ level: 'warning', code: 'disk-remote', place: 'state/', what: /a network disk \(NFS\)/ }]);
  const memory = examined(t, { 'config.yaml': 'gateway: {journal: memory}\n' });
  t.same(codes(await checkStore(memory, plenty, 'NFS')), []);
});

t.test('CLI-2 · a running gateway is asked for its journal', async (t) => {
  const one = examined(t);
  const ask = (answers: Parameters<typeof answering>[0]) => checkStore({ ...one, gateway: answering(answers) }, plenty);
  t.same(codes(await ask({ 'webhook.deliveries': [] })), []);
  t.same(codes(await ask({})), ['wrong store-fault'], 'it cannot read');
  t.match(troubles(await ask({ status: { journal: 'full [journal-full]' } }))[0]?.what, /journal-full/);
  t.same(codes(await checkStore(examined(t, { 'config.yaml': 'gateway: {journal: memory}\n' }), plenty)), []);
  const elsewhere = examined(t, { 'config.yaml': 'gateway: {journal: postgres, postgres: {url: "${OURS}"}}\n' });
  const running = answering({ 'webhook.deliveries': [] });
  t.same(codes(await checkStore({ ...elsewhere, gateway: running }, plenty)), [], 'its variable is set at the gateway');
});
