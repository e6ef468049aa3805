import t from 'tap';
import { createRespawns } from '../../../runtime/system/respawns.ts';

function stage() {
  let steadyMs = 0;
  const waits: { readonly callback: () => void; readonly waitMs: number }[] = [];
  const respawns = createRespawns({
    steadyMs: () => steadyMs,
    random: () => 0,
    wake: (callback, waitMs) => {
      const mine = { callback, waitMs };
      waits.push(mine);
      return () => void waits.splice(waits.indexOf(mine), 1);
    },
  });
  return {
    respawns,
    waits: () => waits.map(({ waitMs }) => waitMs),
    passes(ms: number): void {
      steadyMs += ms;
      for (const { callback } of waits.splice(0)) callback();
    },
  };
}

t.test('INS-1 · a chart that crashes comes again later and later, five times a minute, and then no more', (t) => {
  const { respawns, waits, passes } = stage();
  let came = 0;
  const again = (): void => {
    came += 1;
  };
  for (const waitMs of [200, 400, 800, 1_600, 3_200]) {
    t.ok(respawns.crashed('k', again));
    t.same([respawns.rests('k'), waits()], [true, [waitMs]]);
    passes(waitMs);
    t.same([respawns.rests('k'), respawns.isSpent('k')], [false, false]);
  }
  t.notOk(respawns.crashed('k', again));
  passes(120_000);
  t.notOk(respawns.crashed('k', again), 'and not after the minute either');
  t.same([respawns.rests('k'), respawns.isSpent('k'), came], [true, true, 5]);
  t.ok(respawns.crashed('other', again), 'each key has its own budget');
  respawns.forget('k');
  t.same([respawns.rests('k'), respawns.crashed('k', again)], [false, true]);
  respawns.clear();
  t.same([respawns.rests('k'), waits()], [false, []]);
  t.end();
});

t.test('INS-1 · crashes that lie far apart are the first each', (t) => {
  const { respawns, waits, passes } = stage();
  for (let crashes = 0; crashes < 20; crashes += 1) {
    t.ok(respawns.crashed('k', () => {}));
    t.same(waits(), [200]);
    passes(60_000);
  }
  t.end();
});
