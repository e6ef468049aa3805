import t from 'tap';
import type { Output } from '../../cli/context.ts';
import { startCountdown } from '../../cli/countdown.ts';

function output(isTerminal: boolean, columns = 80): { readonly out: Output; readonly printed: string[] } {
  const printed: string[] = [];
  const out = {
    isTerminal,
    coloured: false,
    columns,
    print: (text: string) => void printed.push(text),
    complain: () => {},
  };
  return { out, printed };
}

t.test('DEV-1 · a terminal counts down second by second, and the line is gone at the end', (t) => {
  const { out, printed } = output(true);
  let nowMs = 0;
  let tick = (): void => {};
  let stopped = 0;
  const end = startCountdown(out, {
    seconds: 125,
    line: (left) => `Left: ${left}`,
    nowMs: () => nowMs,
    everySecond: (each) => {
      tick = each;
      return () => {
        stopped += 1;
      };
    },
  });
  for (const at of [1_000, 65_500, 200_000]) {
    nowMs = at;
    tick();
  }
  end();
  end();

  t.same(printed, ['2:05', '2:04', '1:00', '0:00'].map((left) => `\r\u001b[KLeft: ${left}`).concat('\r\u001b[K'));
  t.equal(stopped, 1);
  t.end();
});

t.test('DEV-1 · a line never breaks, and a pipe gets one sentence', (t) => {
  const narrow = output(true, 10);
  startCountdown(narrow.out, { seconds: 5, line: (left) => `Waiting for ${left}`, everySecond: () => () => {} })();
  t.equal(narrow.printed[0], '\r\u001b[KWaiting f');

  const pipe = output(false);
  startCountdown(pipe.out, { seconds: 300, line: (left) => `Good for ${left}.` })();
  t.same(pipe.printed, ['Good for 300 s.\n']);
  t.end();
});
