import t from 'tap';
import { createFrames, frameMs } from '../../../../../runtime/inspector/page/data/frames.ts';

/** Frames with a clock that stands still between its timers. */
function frozen() {
  let now = 0;
  const page = { isHidden: false };
  const timers: { readonly act: () => void; readonly at: number }[] = [];
  const frames = createFrames({
    isHidden: () => page.isHidden,
    nowMs: () => now,
    later: (act, ms) => timers.push({ act, at: now + ms }),
  });
  const pass = (ms: number): void => {
    for (const end = now + ms; ; ) {
      const next = timers.findIndex(({ at }) => at <= end);
      if (next < 0) {
        now = end;
        return;
      }
      const [timer] = timers.splice(next, 1);
      now = Math.max(now, timer?.at ?? 0);
      timer?.act();
    }
  };
  return { frames, page, pass };
}

t.test('INS-2 · however much is heard, it is drawn four times a second', async (t) => {
  const { frames, pass } = frozen();
  const drawn: string[] = [];
  const rows = (): void => void drawn.push('rows');
  const health = (): void => void drawn.push('health');

  for (let ms = 0; ms < 990; ms += 10) {
    frames.request(rows);
    if (ms === 500) frames.request(health);
    pass(10);
  }

  t.equal(drawn.filter((one) => one === 'rows').length, 1_000 / frameMs);
  t.equal(drawn.filter((one) => one === 'health').length, 1);
});

t.test('INS-2 · a hidden page draws nothing, and all that came once it is in sight', async (t) => {
  const { frames, page, pass } = frozen();
  let drawn = 0;
  const draw = (): void => {
    drawn += 1;
  };
  frames.request(draw);
  page.isHidden = true;
  pass(1_000);
  for (let ms = 0; ms < 1_000; ms += 100) frames.request(draw);
  pass(60_000);
  t.equal(drawn, 0);

  page.isHidden = false;
  frames.resume();
  pass(0);

  t.equal(drawn, 1);
});
