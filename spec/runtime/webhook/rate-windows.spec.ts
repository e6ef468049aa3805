import t from 'tap';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import { createRateWindows } from '../../../runtime/webhook/rate-windows.ts';

const route = (name: string, profile = 'default'): Route =>
  ({ name: name as RouteName, profile: profile as ProfileName }) as Route;

t.test('LIM-2 · each route of each profile has a window of its own', (t) => {
  const windows = createRateWindows(() => 2);
  for (let n = 0; n < 2; n += 1) windows.take(route('a'), 0);
  t.equal(windows.secondsUntilFree(route('a'), 1_000), 59);
  t.equal(windows.secondsUntilFree(route('a'), 60_000), undefined, 'its minute is over');
  t.equal(windows.secondsUntilFree(route('b'), 1_000), undefined);
  t.equal(windows.secondsUntilFree(route('a', 'work'), 1_000), undefined);
  t.end();
});

t.test('LIM-2 · CFG-2 · a limit that a reload changes holds for the window under way', (t) => {
  let limit = 1;
  const windows = createRateWindows(() => limit);
  windows.take(route('a'), 0);
  t.equal(windows.secondsUntilFree(route('a'), 0), 60);
  limit = 2;
  t.equal(windows.secondsUntilFree(route('a'), 0), undefined);
  windows.take(route('a'), 0);
  t.equal(windows.secondsUntilFree(route('a'), 0), 60);
  limit = 0;
  t.equal(windows.secondsUntilFree(route('b'), 30_500), 30, 'zero lets nobody through');
  t.end();
});
