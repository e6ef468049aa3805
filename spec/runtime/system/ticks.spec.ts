import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { createTicks, wake } from '../../../runtime/system/ticks.ts';
import { lentTime } from '../../support/lent-time.ts';

t.test('CON-2 · all that looks again and again shares one timer, each at its own pace', (t) => {
  const time = lentTime(t);
  const { every, end } = createTicks();
  const heard: string[] = [];
  const stops = [
    every(() => heard.push('second'), 1_000),
    every(() => heard.push('third'), 3_000),
    every(() => heard.push('at least a second'), 10),
  ];
  for (const expected of [
    ['second', 'at least a second'],
    ['second', 'at least a second'],
    ['second', 'third', 'at least a second'],
  ]) {
    heard.length = 0;
    time.pass(1_000);
    t.same(heard, expected);
  }
  stops[0]?.();
  heard.length = 0;
  for (let second = 0; second < 3; second += 1) time.pass(1_000);
  t.same(heard, ['at least a second', 'at least a second', 'third', 'at least a second']);
  for (const stop of stops) stop();
  heard.length = 0;
  for (let second = 0; second < 3; second += 1) time.pass(1_000);
  t.same(heard, []);
  every(() => heard.push('again'), 1_000);
  time.pass(1_000);
  t.same(heard, ['again']);
  end();
  time.pass(1_000);
  t.same(heard, ['again']);
  every(() => heard.push('after'), 1_000);
  time.pass(1_000);
  t.same(heard, ['again', 'after'], 'what has ended is forgotten');
  end();
  t.end();
});

t.test('CON-2 · a timer that stops another in the same beat, or itself, is harmless', (t) => {
  const time = lentTime(t);
  const { every } = createTicks();
  const heard: string[] = [];
  const stopSelf = every(() => {
    heard.push('once');
    stopSelf();
    stopOther();
  }, 1_000);
  const stopOther = every(() => heard.push('never'), 1_000);
  const stopLast = every(() => heard.push('still'), 1_000);
  for (let second = 0; second < 2; second += 1) time.pass(1_000);
  t.same(heard, ['once', 'still', 'still']);
  stopLast();
  t.end();
});

const module = new URL('../../../runtime/system/ticks.js', import.meta.url).href;

t.test('INS-1 · wakes once after its wait, and not after it was taken back', async (t) => {
  // A wait that does not keep the process alive needs something else that does.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  const woken: string[] = [];
  wake(() => void woken.push('taken back'), 0)();
  wake(() => void woken.push('too long'), Number.POSITIVE_INFINITY);
  await new Promise<void>((resolve) => wake(resolve, -1));
  await new Promise<void>((resolve) => wake(resolve, 5));
  t.same(woken, []);
});

t.test('INS-1 · a process that has nothing else to do ends before the wait does', async (t) => {
  const program = `import { wake } from '${module}'; wake(() => {}, 3_600_000); console.log('waits');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  t.equal(stdout, 'waits\n');
});
