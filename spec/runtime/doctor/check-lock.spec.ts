import { copyFileSync, existsSync, linkSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { tryLock } from '../../../actors/lock-file.ts';
import { checkLock } from '../../../runtime/doctor/check-lock.ts';
import { takeHome } from '../../../runtime/system/process.ts';
import { answering, codes, examined, troubles } from '../../support/examined.ts';

/** No process has it: the kernel's ids end below. */
const deadMark = JSON.stringify({ pid: 999_999_999, startedAt: '1' });

t.test('HOME-2 · CLI-2 · what a dead gateway left is found and removed; a living one’s is not touched', async (t) => {
  const one = examined(t, {
    'config.yaml': '',
    'gateway.lock': deadMark,
    '.env.lock': deadMark,
    'cron/jobs.json.lock': deadMark,
  });
  writeFileSync(one.paths.socket, '');
  const found = troubles(checkLock(one));
  t.same(codes(found), ['warning lock-stale', 'warning socket-stale', 'warning lock-stale', 'warning lock-stale']);
  t.same(found.map(({ place }) => place).sort(), ['.env.lock', 'cron/jobs.json.lock', 'gateway.lock', 'gateway.sock']);
  for (const { fix } of found) await fix?.();
  t.same(codes(checkLock(one)), []);
  t.notOk(existsSync(one.paths.lock));

  const held = tryLock(one.paths.lock);
  t.same(codes(checkLock(one)), ['wrong lock-hung'], 'it lives and does not answer');
  t.match(troubles(checkLock(one))[0], { fix: undefined, cure: /kill -9 \d+$/ });
  t.same(codes(checkLock({ ...one, gateway: answering({}) })), [], 'it lives and answers');
  if (held.kind === 'taken') held.lock.release();
});

t.test('HOME-2 · CLI-2 · nothing proposes to end the gateway of the home that a copy was made of', async (t) => {
  const [running, copy] = [examined(t, { 'config.yaml': '' }), examined(t, { 'config.yaml': '' })];
  tryLock(running.paths.lock);
  copyFileSync(running.paths.lock, copy.paths.lock);
  t.match(troubles(checkLock(copy)), [{ code: 'lock-stale', what: /copied from another home/, cure: /^rm / }]);
  t.equal(troubles(checkLock(copy)).length, 1);
  const refused = await takeHome(copy.paths);
  t.match(refused, { fault: { code: 'lock-copied', message: /gateway\.lock was copied from .*remove the file/ } });
  t.same(codes(checkLock(running)), ['wrong lock-hung']);

  const numberedAnew = `${running.paths.lock}.anew`;
  copyFileSync(running.paths.lock, numberedAnew);
  renameSync(numberedAnew, running.paths.lock);
  t.same(codes(checkLock(running)), ['wrong lock-hung'], 'a disk that numbers its files anew');
  const mounted = examined(t, { 'config.yaml': '' });
  rmSync(running.paths.lock);
  const again = tryLock(running.paths.lock);
  linkSync(running.paths.lock, mounted.paths.lock);
  t.same(codes(checkLock(mounted)), ['wrong lock-hung'], 'a container that has the home elsewhere');
  if (again.kind === 'taken') again.lock.release();
});

t.test('CLI-2 · HOME-3 · nothing is said of the locks of a home that this user may not enter', (t) => {
  t.same(
    checkLock(examined(t, { 'config.yaml': '' }), () => false),
    [],
  );
  t.end();
});

t.test('CLI-2 · HOME-2 · --fix removes no socket of a gateway that has started meanwhile', (t) => {
  const one = examined(t, { 'config.yaml': '' });
  writeFileSync(one.paths.socket, '');
  const [found] = troubles(checkLock(one));
  t.equal(found?.code, 'socket-stale');
  const taken = tryLock(one.paths.lock);
  void found?.fix?.();
  t.ok(existsSync(one.paths.socket));
  if (taken.kind === 'taken') taken.lock.release();
  void found?.fix?.();
  t.notOk(existsSync(one.paths.socket));
  t.notOk(existsSync(one.paths.lock));
  t.end();
});

t.test('CLI-2 · HOME-2 · a folder in the place of the lock or the socket is moved away, not removed', (t) => {
  const one = examined(t, { 'gateway.lock/kept': '', 'gateway.sock/kept': '' });
  const old = new Date(Date.now() - 60_000);
  utimesSync(one.paths.lock, old, old);
  const found = troubles(checkLock(one));
  t.same(codes(found), ['wrong lock-stale', 'wrong socket-stale']);
  for (const { cure, fix } of found) t.match({ cure, fix }, { cure: /^mv (\S+) \1\.moved$/, fix: undefined });
  t.end();
});

t.test('HOME-2 · CLI-2 · the lock of a gateway that answers from another container is not stale', (t) => {
  const one = examined(t, { 'gateway.lock': deadMark });
  t.same(codes(checkLock({ ...one, gateway: answering({}) })), []);
  t.end();
});

t.test('HOME-2 · CLI-2 · a lock whose holder is not known yet does not mean that no gateway runs', (t) => {
  const one = examined(t, { 'gateway.lock': '' });
  const soon = new Date(Date.now() + 1_000);
  utimesSync(one.paths.lock, soon, soon);
  t.match(checkLock(one), [{ level: 'good', what: /^a gateway is starting, or one of another user may run;/ }]);
  t.end();
});

t.test('CLI-2 · --fix removes no lock that another process has taken meanwhile', (t) => {
  const one = examined(t, { 'gateway.lock': deadMark });
  const [found] = troubles(checkLock(one));
  const taken = tryLock(one.paths.lock);
  void found?.fix?.();
  t.ok(taken.kind === 'taken' && taken.lock.isMine());
  t.end();
});
