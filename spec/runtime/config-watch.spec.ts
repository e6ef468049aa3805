import { renameSync, rmSync, utimesSync } from 'node:fs';
import { mock } from 'node:test';
import t from 'tap';
import { watchConfig } from '../../runtime/config-watch.ts';
import { createTicks } from '../../runtime/ticks.ts';
import { makeHome } from '../support/home.ts';

t.test('CFG-2 · LIF-12 · every way of changing a file is noticed once, within a second', (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const home = makeHome(t, { 'config.yaml': 'a: 1\n' });
  const config = `${home.path}/config.yaml`;
  let watched = [config, `${home.path}/.env`];
  let changes = 0;
  const stop = watchConfig(
    () => watched,
    () => {
      changes += 1;
    },
    createTicks(),
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
    mock.timers.tick(1_000);
    t.equal(changes, expected, title);
  }
  changes = 0;
  stop();
  home.write('.env', 'A=2222\n');
  mock.timers.tick(5_000);
  t.equal(changes, 0, 'nobody watches any more');
  t.end();
});
