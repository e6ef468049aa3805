import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import t from 'tap';
import { holderOf, tryLock } from '../../actors/lock-file.ts';
import { makeHome } from '../support/home.ts';

const here = new URL('../../actors/lock-file.js', import.meta.url).href;

/** The id of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

t.test('HOME-2 · a lock is one taker’s until it is released', (t) => {
  const home = makeHome(t);
  const path = `${home.path}/x.lock`;
  const first = tryLock(path, '1.2.3');
  t.equal(first.kind, 'taken');
  t.match(tryLock(path), { kind: 'held', holder: { pid: process.pid, sinceMs: Number, version: '1.2.3' } });
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.same(readdirSync(home.path), ['x.lock'], 'nothing else is left');

  if (first.kind === 'taken') first.lock.release();

  t.notOk(existsSync(path));
  t.equal(tryLock(path).kind, 'taken');
  t.end();
});

t.test('HOME-2 · the dead, the reused and the unreadable hold no lock', (t) => {
  const path = `${makeHome(t).path}/x.lock`;
  const dead = deadPid();
  const texts = [
    JSON.stringify({ pid: dead, startedAt: '1' }),
    String(dead),
    // This process lives, but it did not begin then.
    ...(process.platform === 'linux' ? [JSON.stringify({ pid: process.pid, startedAt: '1' })] : []),
    // As on macOS, which provides no start time: the machine has been started since.
    JSON.stringify({ pid: process.pid, startedAt: '', sinceMs: Date.now() - uptime() * 1_000 - 120_000 }),
  ];
  for (const text of texts) {
    writeFileSync(path, text);
    const verdict = tryLock(path);
    t.equal(verdict.kind, 'taken', text);
    if (verdict.kind === 'taken') verdict.lock.release();
  }
  const standing = JSON.stringify({ pid: process.pid, startedAt: '', sinceMs: Date.now() });
  writeFileSync(path, standing);
  t.match(tryLock(path), { kind: 'held', holder: { pid: process.pid } }, 'it may be the one that took it');
  for (const rubbish of ['', '{', 'null', '{"pid":"x"}', '{"pid":-1}', '[]']) {
    writeFileSync(path, rubbish);
    // However slow this is, it was made a moment ago.
    const soon = new Date(Date.now() + 1_000);
    utimesSync(path, soon, soon);
    t.same(tryLock(path), { kind: 'held', holder: undefined }, `${rubbish}: perhaps in the making`);
    utimesSync(path, 1, 1);
    const verdict = tryLock(path);
    t.equal(verdict.kind, 'taken', `${rubbish}: old`);
    if (verdict.kind === 'taken') verdict.lock.release();
    writeFileSync(path, rubbish);
    const tomorrow = new Date(Date.now() + 86_400_000);
    utimesSync(path, tomorrow, tomorrow);
    const after = tryLock(path);
    t.equal(after.kind, 'taken', `${rubbish}: made before the clock was set back`);
    if (after.kind === 'taken') after.lock.release();
  }
  t.end();
});

const asRoot = process.getuid?.() === 0 ? 'the superuser reads everything' : false;
t.test(
  'HOME-2 · a lock that this user may not read, as one of root, is never taken for a dead one',
  { skip: asRoot },
  (t) => {
    const path = `${makeHome(t).path}/x.lock`;
    writeFileSync(path, JSON.stringify({ pid: deadPid(), startedAt: '1' }));
    utimesSync(path, 1, 1);
    chmodSync(path, 0);
    t.same([tryLock(path), holderOf(path)], [{ kind: 'held', holder: undefined }, { kind: 'making' }]);
    chmodSync(path, 0o600);
    t.equal(tryLock(path).kind, 'taken', 'once it is read');
    t.end();
  },
);

t.test('HOME-2 · who lost the lock knows it and takes nothing from the next', (t) => {
  const path = `${makeHome(t).path}/x.lock`;
  const first = tryLock(path);
  rmSync(path);
  const second = tryLock(path);
  if (first.kind !== 'taken' || second.kind !== 'taken') throw new Error('both were free to take it');

  t.same([first.lock.isMine(), second.lock.isMine()], [false, true]);
  first.lock.release();

  t.ok(second.lock.isMine());
  t.end();
});

t.test('HOME-2 · of many that take over a dead one’s lock exactly one has it, again and again', async (t) => {
  const home = makeHome(t);
  const path = `${home.path}/x.lock`;
  const dying = JSON.stringify({ pid: deadPid(), startedAt: '1' });
  writeFileSync(path, dying);
  // Each taker checks that nobody is with it, counts, and leaves as a killed one would: its file stays.
  const taker = `
import { appendFileSync, mkdirSync, renameSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { tryLock } from ${JSON.stringify(here)};
const [path, dying] = process.argv.slice(1);
const mine = path + '.' + process.pid;
const count = () => { try { return statSync(path + '.count').size; } catch { return 0; } };
while (count() < 200) {
  if (tryLock(path).kind !== 'taken') continue;
  try {
    mkdirSync(path + '.inside');
  } catch {
    process.stdout.write('two at once\\n');
    process.exit(1);
  }
  appendFileSync(path + '.count', '.');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  writeFileSync(mine, dying);
  rmdirSync(path + '.inside');
  renameSync(mine, path);
}`;
  const codes = await Promise.all(
    Array.from(
      { length: 6 },
      () =>
        new Promise((resolve) =>
          spawn(process.execPath, ['--input-type=module', '-e', taker, path, dying], { stdio: 'inherit' }).once(
            'exit',
            resolve,
          ),
        ),
    ),
  );
  t.same(codes, [0, 0, 0, 0, 0, 0]);
  t.ok(readFileSync(`${path}.count`, 'utf8').length >= 200);
  t.same(
    readdirSync(home.path).filter((name) => /tmp|takeover/.test(name)),
    [],
  );
});

t.test('HOME-2 · a process that died while it took the lock blocks no other', (t) => {
  const path = `${makeHome(t).path}/x.lock`;
  const dead = JSON.stringify({ pid: deadPid(), startedAt: '1' });
  writeFileSync(path, dead);
  writeFileSync(`${path}.takeover`, dead);
  t.equal(tryLock(path).kind, 'taken');
  t.notOk(existsSync(`${path}.takeover`));
  t.end();
});
