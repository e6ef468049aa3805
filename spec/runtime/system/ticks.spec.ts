import t from 'tap';
import { createTicks } from '../../../runtime/system/ticks.ts';
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

t.test('CON-2 · one that stops another in the same beat, or itself, harms nobody', (t) => {
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
