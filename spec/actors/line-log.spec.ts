import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createLineLog, logFileName, readLog } from '../../actors/line-log.ts';
import { heldBytes } from '../support/collect-garbage.ts';
import { makeHome } from '../support/home.ts';
import { lentTime } from '../support/lent-time.ts';
import { until } from '../support/processes.ts';
import { runs } from '../support/property.ts';

const noFullDisk = spawnSync('unshare', ['-m', 'true']).status === 0 ? false : 'needs `mount`: run as root on Linux';

const redact = (line: string): string => line.replaceAll('s3cret-value', '[redacted]');

t.test('LIF-10 · what a server says is kept in a private file and read back', async (t) => {
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const folder = join(makeHome(t).path, 'logs', 'mcp');
  const log = createLineLog({ folder, name: 'files', redact });
  log.write(Buffer.from('one\ntw'));
  log.write(Buffer.from('o\nthree\n'));
  await log.close();

  t.same(await readLog(folder, 'files', 2), ['two', 'three']);
  t.same(await readLog(folder, 'files', 100), ['one', 'two', 'three']);
  t.same(await readLog(folder, 'files', 0), []);
  t.same(await readLog(folder, 'other', 100), []);
  t.equal(statSync(join(folder, 'files.log')).mode & 0o777, 0o600);
  t.equal(statSync(folder).mode & 0o777, 0o700);
});

t.test('LIF-10 · the files rotate and the oldest goes', async (t) => {
  const folder = makeHome(t).path;
  const settings = { folder, name: 'files', redact, maxBytes: 100, files: 3 };
  let log = createLineLog(settings);
  for (let line = 0; line < 60; line += 1) {
    log.write(Buffer.from(`line ${String(line).padStart(4, '0')}\n`));
    // Each run of ten is written by another process, as it were.
    if (line % 10 === 9) {
      await log.close();
      log = createLineLog(settings);
    }
  }
  await log.close();

  t.same(readdirSync(folder).sort(), ['files.log', 'files.log.1', 'files.log.2']);
  for (const name of readdirSync(folder)) t.ok(statSync(join(folder, name)).size <= 100, name);
  const lines = await readLog(folder, 'files', 1_000);
  t.equal(lines.at(-1), 'line 0059');
  t.equal(lines.length, 30);
  t.same(await readLog(folder, 'files', 12), lines.slice(-12));
});

t.test('LIF-10 · a flood is bounded in memory and on the disk, and what was dropped is counted', async (t) => {
  const folder = makeHome(t).path;
  const log = createLineLog({ folder, name: 'files', redact });
  const before = heldBytes();
  for (let round = 0; round < runs(20, 5); round += 1) {
    for (let each = 0; each < 500; each += 1) log.write(Buffer.alloc(65_536, 'x\n'));
    t.ok(heldBytes() - before < 2_000_000, 'of thirty million bytes a turn');
    await new Promise((resolve) => setImmediate(resolve));
  }
  log.write(Buffer.alloc(50_000_000, 'y'));
  t.ok(heldBytes() - before < 2_000_000, 'of fifty million in one piece');
  await log.close();

  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  t.ok(sizes.length <= 3 && sizes.every((size) => size <= 1_048_576 + 100));
  t.ok((await readLog(folder, 'files', 1_000_000)).some((line) => /^… \d+ bytes dropped$/.test(line)));
});

t.test('OBS-1 · LIF-10 · no secret reaches the disk, in however many pieces it came', async (t) => {
  const folder = makeHome(t).path;
  const file = join(folder, 'files.log');
  const log = createLineLog({ folder, name: 'files', redact });
  const line = Buffer.from('key=s3cret-value; also s3cret-value\n');
  for (let at = 0; at <= line.length; at += 1) {
    log.write(line.subarray(0, at));
    log.write(line.subarray(at));
  }
  for (const byte of line) log.write(Buffer.of(byte));
  await log.settled();

  const clean = 'key=[redacted]; also [redacted]\n';
  t.equal(readFileSync(file, 'utf8'), clean.repeat(line.length + 2));

  log.write(Buffer.from('a prompt without an end: s3cret-value'));
  await log.settled();
  t.match(readFileSync(file, 'utf8'), /an end: \[redacted\]$/, 'whoever waits has what came so far');
  log.write(Buffer.from(' and more\nlast s3cret-value'));
  await log.close();
  t.match(readFileSync(file, 'utf8'), /an end: \[redacted\] and more\nlast \[redacted\]$/);
});

t.test('LIF-10 · a line that does not end is there after a while', async (t) => {
  const folder = makeHome(t).path;
  const log = createLineLog({ folder, name: 'files', redact, patienceMs: 1 });
  t.teardown(() => log.close());

  log.write(Buffer.from('starting…'));

  await until(async () => (await readLog(folder, 'files', 1))[0] === 'starting…');
});

t.test('OBS-1 · LIF-10 · a flood leaves no half of a secret, and whole lines alone', async (t) => {
  const folder = makeHome(t).path;
  const log = createLineLog({ folder, name: 'files', redact, maxBytes: 1_000_000 });
  const line = `${'x'.repeat(20)} s3cret-value\n`;
  const flood = Buffer.from(line.repeat(60_000));
  for (let from = 0; from < flood.length; from += 10_007) log.write(flood.subarray(from, from + 10_007));
  await log.close();

  const lines = await readLog(folder, 'files', 100_000);
  t.ok(lines.length > 1_000);
  const whole = `${'x'.repeat(20)} [redacted]`;
  t.same(
    [...new Set(lines)].filter((one) => one !== whole && one !== '' && !/^… \d+ bytes dropped$/.test(one)),
    [],
  );
});

t.test('LIF-10 · a disk that takes nothing is no failure, and writing goes on when it does again', async (t) => {
  const folder = join(makeHome(t).path, 'logs');
  writeFileSync(folder, 'a file where the folder should be');
  const log = createLineLog({ folder, name: 'files', redact });
  log.write(Buffer.from('lost\n'));
  await log.settled();
  rmSync(folder);
  mkdirSync(folder);
  log.write(Buffer.from('kept\n'));
  await log.close();
  log.write(Buffer.from('too late\n'));

  t.same(await readLog(folder, 'files', 100), ['kept', '', '… 5 bytes dropped']);
});

t.test('SEC-1 · a log that keeps what the disk does not take writes it, in order, once the disk does', async (t) => {
  const time = lentTime(t);
  const folder = join(makeHome(t).path, 'logs');
  writeFileSync(folder, 'a file where the folder should be');
  const causes: string[] = [];
  const log = createLineLog({ folder, name: 'audit', redact, onKept: (cause) => causes.push(cause) });
  for (const line of ['one\n', 'two\n']) {
    log.write(Buffer.from(line));
    await log.settled();
  }
  t.match(causes, [/EEXIST|ENOTDIR/]);
  t.equal(causes.length, 1);
  log.write(Buffer.from(`${'x'.repeat(300_000)}\nthree\n`));
  await log.settled();
  rmSync(folder);

  time.pass(5_000);

  await log.settled();
  t.strictSame(await readLog(folder, 'audit', 100), ['one', 'two', '', '… 300007 bytes dropped']);
  writeFileSync(join(folder, 'audit.log'), '');
  log.write(Buffer.from('four\n'));
  await log.close();
  t.strictSame(await readLog(folder, 'audit', 100), ['four']);
});

t.test('SEC-1 · a full disk leaves no half of a row', { skip: noFullDisk }, async (t) => {
  const { path } = makeHome(t);
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'none', path]);
  t.teardown(() => void spawnSync('umount', ['-l', path]));
  const log = createLineLog({ folder: path, name: 'audit', redact, onKept: () => {} });
  const lines = Array.from({ length: 2_000 }, (_, number) => `${number} ${'x'.repeat(80)}`);
  for (const line of lines) log.write(Buffer.from(`${line}\n`));
  await log.settled();
  const taken = readFileSync(join(path, 'audit.log'), 'utf8');
  t.ok(taken === '' || taken.endsWith('\n'));
  spawnSync('mount', ['-o', 'remount,size=1m', path]);

  await log.close();

  t.strictSame(await readLog(path, 'audit', 3_000), lines);
});

t.test('OBS-1 · LIF-10 · lines after the folder was removed or the file was moved are in a new file', async (t) => {
  const folder = join(makeHome(t).path, 'logs');
  const log = createLineLog({ folder, name: 'files', redact });
  const write = async (line: string): Promise<void> => {
    log.write(Buffer.from(`${line}\n`));
    await log.settled();
  };
  await write('removed');
  rmSync(folder, { recursive: true });
  await write('two');
  t.same(await readLog(folder, 'files', 100), ['two']);
  renameSync(join(folder, 'files.log'), join(folder, 'files.log.1'));
  await write('three');
  t.same(readFileSync(join(folder, 'files.log'), 'utf8'), 'three\n');
  await log.close();
  t.same(await readLog(folder, 'files', 100), ['two', 'three']);
});

t.test('OAU-2 · no server name leaves the folder, and no two share a file', async (t) => {
  const names = [
    '../x',
    '..',
    '.',
    '',
    '/etc/passwd',
    'a/b',
    'a%2Fb',
    'a b',
    'ä',
    '\0',
    '.hidden',
    'v1.2',
    'n'.repeat(400),
  ];
  names.push(`${'n'.repeat(399)}m`);
  const made = names.map(logFileName);
  for (const name of made) t.match(name, /^(?!\.)[\w%.-]{1,200}\.log$/);
  t.equal(new Set(made).size, names.length);
  t.match(made.slice(0, 2), ['%2E.%2Fx.log', '%2E..log']);

  const folder = makeHome(t).path;
  const log = createLineLog({ folder, name: '../x', redact });
  log.write(Buffer.from('inside\n'));
  await log.close();
  t.same(readdirSync(folder), ['%2E.%2Fx.log']);
  t.same(await readLog(folder, '../x', 1), ['inside']);
});
