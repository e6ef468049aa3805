/** The wall clock of a daemon at work is set back by an hour: what waits, waits by a clock that only rises. */

import { renameSync } from 'node:fs';
import t from 'tap';
import { openDelivering } from '../support/delivering.ts';

const preload = new URL('../support/shifted-clock.js', import.meta.url).href;

t.test('DLV-4 · DIS-2 · DUR-1 · a clock that is set back by an hour holds no delivery up', async (t) => {
  const it = await openDelivering(t);
  // In one step: a daemon that reads half of it would see another clock.
  const shiftClock = (ms: number): void => {
    it.home.write('clock.new', String(ms));
    renameSync(`${it.home.path}/clock.new`, `${it.home.path}/clock.txt`);
  };
  shiftClock(0);
  const daemon = await it.start({
    NODE_OPTIONS: `--import ${preload}`,
    SPEC_CLOCK_FILE: `${it.home.path}/clock.txt`,
  });
  await it.target('slack', 'connected');
  await it.post(daemon, 'slack', '1');
  await it.reaches('1', 'delivered');

  shiftClock(-3_600_000);

  t.equal((await it.post(daemon, 'slack', '2')).status, 202);
  t.match(await it.reaches('2', 'delivered'), { attempts: 1 });
  t.match(await it.post(daemon, 'directSlack', '3'), { status: 200, body: { status: 'delivered' } });
  t.same(
    it.slack.world.messages.map(({ text }) => text),
    ['Build 1 is green.', 'Build 2 is green.', 'Build 3 is green.'],
  );
});
