import { spawnSync } from 'node:child_process';
import { chownSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs';
import t from 'tap';
import { stampForReader } from '../../../actors/files.ts';
import { watchConfig } from '../../../runtime/config/config-watch.ts';
import { createTicks } from '../../../runtime/system/ticks.ts';
import { makeHome } from '../../support/home.ts';
import { type LentTime, lentTime } from '../../support/lent-time.ts';

t.test('CFG-2 · LIF-12 · every way of changing a file is noticed once, within two seconds', (t) => {
  const time = lentTime(t);
  const home = makeHome(t, { 'config.yaml': 'a: 1\n' });
  const config = `${home.path}/config.yaml`;
  let watched = [config, `${home.path}/.env`];
  const started = stampsOf(watched);
  let changes = 0;
  const stop = watchConfig(
    {
      read: () => started,
      paths: () => watched,
      changed: async () => {
        changes += 1;
        return true;
      },
    },
    createTicks().every,
  );
  const rows: readonly (readonly [string, () => void, number])[] = [
    ['nothing happened', () => {}, 0],
    ['written over', () => home.write('config.yaml', 'a: 12\n'), 1],
    ['nothing since', () => {}, 0],
    ['a file that was not there', () => home.write('.env', 'A=1\n'), 1],
    ['touched', () => utimesSync(config, 1, 1), 1],
    [
      'replaced by another of the same length and time',
      () => {
        home.write('next.yaml', 'a: 34\n');
        utimesSync(`${home.path}/next.yaml`, 1, 1);
        renameSync(`${home.path}/next.yaml`, config);
      },
      1,
    ],
    ['removed', () => rmSync(config), 1],
    [
      'other files to look at',
      () => {
        watched = [`${home.path}/.env`];
      },
      1,
    ],
  ];
  for (const [title, act, expected] of rows) {
    changes = 0;
    act();
    passSeconds(time, 2);
    t.equal(changes, expected, title);
  }
  changes = 0;
  stop();
  home.write('.env', 'A=2222\n');
  passSeconds(time, 5);
  t.equal(changes, 0, 'nobody watches any more');
  t.end();
});

t.test('LIF-12 · a change between the first reading and the first look is noticed', (t) => {
  const time = lentTime(t);
  const home = makeHome(t, { 'config.yaml': 'a: 1\n' });
  const paths = [`${home.path}/config.yaml`, `${home.path}/.env`];
  const read = stampsOf(paths);
  home.write('config.yaml', 'a: 12\n');
  let changes = 0;
  const changed = async (): Promise<boolean> => {
    changes += 1;
    return true;
  };
  const stop = watchConfig({ read: () => read, paths: () => paths, changed }, createTicks().every);
  t.teardown(stop);
  passSeconds(time, 3);
  t.equal(changes, 1);
  t.end();
});

t.test('LIF-12 · CFG-2 · a file that is being written is not read before it is at rest', (t) => {
  const time = lentTime(t);
  const home = makeHome(t, { 'config.yaml': 'a: 1\n' });
  const config = `${home.path}/config.yaml`;
  const read = stampsOf([config]);
  const found: string[] = [];
  const changed = async (): Promise<boolean> => {
    found.push(readFileSync(config, 'utf8'));
    return true;
  };
  const stop = watchConfig({ read: () => read, paths: () => [config], changed }, createTicks().every);
  t.teardown(stop);
  home.write('config.yaml', '');
  time.pass(1_000);
  home.write('config.yaml', 'a: 12\n');
  time.pass(1_000);
  t.same(found, []);
  time.pass(1_000);
  t.same(found, ['a: 12\n']);
  passSeconds(time, 2);
  t.equal(found.length, 1);
  t.end();
});

t.test('LIF-12 · a change is shown until a person has seen it', async (t) => {
  const time = lentTime(t);
  const home = makeHome(t, { 'config.yaml': 'a: 1\n' });
  const paths = [`${home.path}/config.yaml`];
  const read = stampsOf(paths);
  const answers = [false, false, true];
  let changes = 0;
  const changed = async (): Promise<boolean> => answers[changes++] ?? true;
  const stop = watchConfig({ read: () => read, paths: () => paths, changed }, createTicks().every);
  t.teardown(stop);
  home.write('config.yaml', 'a: 12\n');
  for (let second = 0; second < 5; second += 1) {
    time.pass(1_000);
    await Promise.resolve();
  }
  t.equal(changes, 3);
});

t.test('CFG-2 · LIF-12 · what a reload that was asked for has read is not read again', (t) => {
  const time = lentTime(t);
  const home = makeHome(t, { 'config.yaml': 'a: 1\n' });
  const paths = [`${home.path}/config.yaml`];
  let read = stampsOf(paths);
  let changes = 0;
  const changed = async (): Promise<boolean> => {
    changes += 1;
    return true;
  };
  const stop = watchConfig({ read: () => read, paths: () => paths, changed }, createTicks().every);
  t.teardown(stop);
  home.write('config.yaml', 'a: 12\n');
  read = stampsOf(paths);
  passSeconds(time, 3);
  t.equal(changes, 0);
  home.write('config.yaml', 'a: 123\n');
  passSeconds(time, 3);
  t.equal(changes, 1, 'the next change is noticed');
  home.write('config.yaml', 'a: 1234\n');
  read = stampsOf(paths);
  passSeconds(time, 3);
  read = new Map();
  passSeconds(time, 3);
  t.equal(changes, 2, 'that reload failed after it had read the file');
  t.end();
});

t.test('CFG-2 · a file that could not be read is read once its permissions are corrected', (t) => {
  const home = makeHome(t, { 'config.yaml': 'a: 1\n' });
  const config = `${home.path}/config.yaml`;
  // The superuser reads everything.
  const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (other.uid !== undefined) for (const path of [home.path, config]) chownSync(path, other.uid, other.gid);
  const program = `
import { chmodSync } from 'node:fs';
import { stampForReader } from ${JSON.stringify(new URL('../../../actors/files.js', import.meta.url).href)};
import { watchConfig } from ${JSON.stringify(new URL('../../../runtime/config/config-watch.js', import.meta.url).href)};
const [config] = process.argv.slice(1);
let look;
let changes = 0;
let read;
const reading = () => { read = new Map([[config, stampForReader(config)]]); };
const changed = async () => { changes += 1; reading(); return true; };
const every = (callback) => { look = callback; };
reading();
watchConfig({ read: () => read, paths: () => [config], changed }, every);
const seen = [0, 0o600, 0o600].map((mode) => {
  chmodSync(config, mode);
  look();
  look();
  return changes;
});
process.stdout.write(JSON.stringify(seen));`;
  const words = ['--input-type=module', '-e', program, config];
  const { stdout, stderr } = spawnSync(process.execPath, words, { ...other, env: {}, encoding: 'utf8' });
  t.equal(stdout, '[1,2,2]', stderr);
  t.end();
});

/** One after the other, as the beats of a second come. */
function passSeconds(time: LentTime, seconds: number): void {
  for (let second = 0; second < seconds; second += 1) time.pass(1_000);
}

function stampsOf(paths: readonly string[]): ReadonlyMap<string, string | undefined> {
  return new Map(paths.map((path) => [path, stampForReader(path)]));
}
