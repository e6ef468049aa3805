import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  ensurePrivateFolder,
  readText,
  stampOf,
  sweepAbandoned,
  unwritableFault,
  updateFileLocked,
  writeFileAtomic,
} from '../../actors/files.ts';
import { makeHome } from '../support/home.ts';
import { until } from '../support/processes.ts';

t.test('HOME-3 · a folder that was wider becomes private', async (t) => {
  const home = makeHome(t);
  mkdirSync(`${home.path}/wide`);
  chmodSync(`${home.path}/wide`, 0o755);
  await ensurePrivateFolder(`${home.path}/wide`);
  t.equal(statSync(`${home.path}/wide`).mode & 0o777, 0o700);
});

const notRoot = process.getuid?.() !== 0 && 'only root can do this';
t.test(
  'HOME-3 · a folder of all users, as /tmp, is refused to root and stays as it was',
  { skip: notRoot },
  async (t) => {
    const home = makeHome(t);
    mkdirSync(`${home.path}/tmp`);
    chmodSync(`${home.path}/tmp`, 0o1777);
    const refused: unknown = await ensurePrivateFolder(`${home.path}/tmp`).catch((thrown: unknown) => thrown);
    const message =
      /^home .*\/tmp: cannot be written: .*belongs to all users of the machine; make it a folder that you may/;
    t.match(unwritableFault(refused, `${home.path}/tmp`), { code: 'home-unwritable', message });
    await t.rejects(ensurePrivateFolder('/'), { message: /^EPERM: \/ belongs to all users/ });
    t.equal(statSync(`${home.path}/tmp`).mode & 0o7777, 0o1777);
  },
);

t.test('HOME-3 · a volume that is root’s is refused with the way out, which works', { skip: notRoot }, async (t) => {
  const home = makeHome(t);
  const volume = `${home.path}/volume`;
  chmodSync(home.path, 0o755);
  mkdirSync(volume);
  chmodSync(volume, 0o2777);
  process.seteuid?.(65_534);
  try {
    const message = /volume belongs to another user \(id 0\), .*a folder that is made in it can be closed$/;
    await t.rejects(ensurePrivateFolder(volume), { code: 'EPERM', message });
    await ensurePrivateFolder(`${volume}/home`);
  } finally {
    process.seteuid?.(0);
  }
  t.equal(statSync(`${volume}/home`).mode & 0o777, 0o700);
});

t.test('HOME-3 · what root makes in the home of another user is that user’s', { skip: notRoot }, async (t) => {
  const home = makeHome(t, { 'config.yaml': 'old' });
  chownSync(home.path, 65_534, 65_534);
  await writeFileAtomic(`${home.path}/config.yaml`, 'new');
  await ensurePrivateFolder(`${home.path}/profiles/one`);
  for (const made of ['config.yaml', 'profiles', 'profiles/one']) {
    const { uid, gid } = statSync(`${home.path}/${made}`);
    t.same([uid, gid], [65_534, 65_534], made);
  }
});

t.test(
  'HOME-3 · a change that a full disk refuses is an error about the home, although Node names no file',
  async (t) => {
    const home = makeHome(t).path;
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      syscall: 'write',
    });
    const refused: unknown = await updateFileLocked(`${home}/config.yaml`, () => {
      throw full;
    }).catch((thrown: unknown) => thrown);
    t.match(unwritableFault(refused, home), { code: 'home-unwritable', message: /^home .*: ENOSPC.*room on its disk/ });
    t.equal(unwritableFault(refused, '/elsewhere'), undefined);
  },
);

t.test('HOME-3 · a file that this user may not read is named, and the home only where it is at fault', async (t) => {
  const home = makeHome(t, { 'config.yaml': '' }).path;
  const refused = (name: string): Error =>
    Object.assign(new Error('EACCES: permission denied, open'), {
      code: 'EACCES',
      syscall: 'open',
      path: `${home}${name}`,
    });
  t.same(unwritableFault(refused('/config.yaml'), home), {
    code: 'home-unwritable',
    message: `${home}/config.yaml: EACCES: permission denied, open; check its owner and permissions`,
    cause: 'EACCES: permission denied, open',
  });
  for (const name of ['', '/absent.tmp']) {
    t.match(unwritableFault(refused(name), home), { message: /^home .*make it a folder that you may write/ }, name);
  }
});

t.test('HOME-3 · a write that fails leaves the old text and nothing else', async (t) => {
  const home = makeHome(t, { 'f/inner': 'x' });
  await t.rejects(writeFileAtomic(`${home.path}/f`, 'new'), 'a folder stands in the way');
  await t.rejects(writeFileAtomic(`${home.path}/gone/f`, 'new'));
  t.same(readdirSync(home.path), ['f']);
});

t.test('HOME-3 · a link that leads to no file yet stays too, and another file never takes its place', async (t) => {
  const home = makeHome(t, { 'kept/other': '' });
  const config = `${home.path}/config.yaml`;
  symlinkSync('kept/config.yaml', config);
  await updateFileLocked(config, (text) => `${text ?? 'none'}\n`);
  t.equal(readFileSync(`${home.path}/kept/config.yaml`, 'utf8'), 'none\n');
  t.ok(lstatSync(config).isSymbolicLink());
  const env = `${home.path}/.env`;
  symlinkSync('/no/such/disk/.env', env);
  await t.rejects(writeFileAtomic(env, 'A=1\n'), { code: 'ENOENT' });
  t.ok(lstatSync(env).isSymbolicLink(), 'the disk of the file may be away');
});

t.test('HOME-3 · a file behind a link is written where it lies, and the link stays', async (t) => {
  const home = makeHome(t, { 'kept/config.yaml': 'old' });
  symlinkSync('kept/config.yaml', `${home.path}/config.yaml`);

  await updateFileLocked(`${home.path}/config.yaml`, (text) => `${text} and new`);

  t.ok(lstatSync(`${home.path}/config.yaml`).isSymbolicLink());
  t.equal(readFileSync(`${home.path}/kept/config.yaml`, 'utf8'), 'old and new');
  t.same(readdirSync(`${home.path}/kept`), ['config.yaml']);
});

t.test('HOME-3 · a change that returns nothing, or throws, writes nothing and lets go of the lock', async (t) => {
  const home = makeHome(t, { f: 'old' });
  const path = `${home.path}/f`;
  await updateFileLocked(path, () => undefined);
  await t.rejects(
    updateFileLocked(path, () => {
      throw new Error('no');
    }),
    /no/,
  );
  await updateFileLocked(path, (text) => `${text}!`);
  t.equal(await readText(path), 'old!');
  t.equal(await readText(`${home.path}/gone`), undefined);
  t.same(readdirSync(home.path), ['f']);
});

t.test('HOME-3 · a change waits for a living writer and sees what it wrote', async (t) => {
  const home = makeHome(t, { f: 'old' });
  const path = `${home.path}/f`;
  // Holds the lock until it is killed; what it has written by then stands.
  const writer = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { writeFileSync } from 'node:fs';
import { tryLock } from ${JSON.stringify(new URL('../../actors/lock-file.js', import.meta.url).href)};
tryLock(process.argv[1] + '.lock');
writeFileSync(process.argv[1], 'theirs');
setInterval(() => {}, 1000);`,
      path,
    ],
    { stdio: 'inherit' },
  );
  t.teardown(() => writer.kill('SIGKILL'));
  await until(() => readFileSync(path, 'utf8') === 'theirs');
  let changed = false;
  const change = updateFileLocked(path, (text) => {
    changed = true;
    return `${text} and ours`;
  });
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  t.notOk(changed, 'it waits');

  writer.kill('SIGKILL');

  await change;
  t.equal(readFileSync(path, 'utf8'), 'theirs and ours');
});

t.test('HOME-3 · SUB-2 · what a person writes into a file while its change is computed stays', async (t) => {
  const path = `${makeHome(t, { f: 'before' }).path}/f`;
  let calls = 0;
  await updateFileLocked(path, (text) => {
    calls += 1;
    if (calls === 1) writeFileSync(path, 'by hand');
    return `${text} and ours`;
  });
  t.same([readFileSync(path, 'utf8'), calls], ['by hand and ours', 2]);
});

t.test('HOME-3 · a writer killed at any point leaves a whole file', async (t) => {
  const home = makeHome(t, { f: '0\n' });
  const path = `${home.path}/f`;
  const files = JSON.stringify(new URL('../../actors/files.js', import.meta.url).href);
  const writer = `import { updateFileLocked } from ${files};
for (let n = 0; ; n += 1) await updateFileLocked(process.argv[1], () => (n + '\\n').repeat(20000));`;
  for (let round = 0; round < 3; round += 1) {
    const before = stampOf(path);
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer, path], { stdio: 'inherit' });
    await until(() => stampOf(path) !== before);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    t.same([lines.length, new Set(lines).size], [20_000, 1], 'one writing, whole');
  }
});

t.test('SUB-2 · the stamp moves with the text, the size and the file itself', async (t) => {
  const home = makeHome(t, { f: 'one' });
  const path = `${home.path}/f`;
  const stamps = [stampOf(path)];
  await writeFileAtomic(path, 'two');
  stamps.push(stampOf(path));
  writeFileSync(path, 'longer');
  stamps.push(stampOf(path));
  spawnSync('touch', ['-d', '2001-01-01', path]);
  stamps.push(stampOf(path));
  t.equal(new Set(stamps).size, 4);
  t.equal(stampOf(path), stampOf(path));
  t.equal(stampOf(`${home.path}/gone`), undefined);
});

t.test('HOME-3 · temporary files of dead writers go, those of living ones and all others stay', async (t) => {
  const { path } = makeHome(t);
  const nowMs = 1_800_000_000_000;
  const make = (name: string, ageMs: number): string => {
    writeFileSync(join(path, name), 'a secret');
    const atSeconds = (nowMs - ageMs) / 1_000;
    utimesSync(join(path, name), atSeconds, atSeconds);
    return name;
  };
  const day = 86_400_000;
  make(`.${randomUUID()}.tmp`, day);
  make(`gateway.lock.${randomUUID()}.tmp`, day);
  const kept = [
    make(`.${randomUUID()}.tmp`, 60_000),
    make('.notes.tmp', day),
    make(`${randomUUID()}.txt`, day),
    make('config.yaml', day),
  ];

  t.equal(await sweepAbandoned([join(path, 'none'), path], nowMs), 2);
  t.same(readdirSync(path).sort(), kept.sort());
  t.equal(await sweepAbandoned([path], nowMs), 0);
});
