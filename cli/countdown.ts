/**
 * Shows the remaining time: a line that counts down on a terminal, one sentence in a pipe.
 * @see DEV-1 and CLI-2 in docs/specification.md
 */

import type { Output } from './context.ts';

interface CountdownSettings {
  readonly seconds: number;
  readonly line: (left: string) => string;
  readonly nowMs?: () => number;
  /** Calls back every second; returns a function that stops it. */
  readonly everySecond?: (tick: () => void) => () => void;
}

/** Returns a function that stops the countdown and removes the line. */
export function startCountdown(out: Output, settings: CountdownSettings): () => void {
  const { seconds, line, nowMs = () => performance.now(), everySecond = eachSecond } = settings;
  if (!out.isTerminal) {
    out.print(`${line(`${seconds} s`)}\n`);
    return () => {};
  }
  const endMs = nowMs() + seconds * 1_000;
  const show = (): void => {
    const left = Math.max(0, Math.ceil((endMs - nowMs()) / 1_000));
    // A wrapped line could not be removed again.
    out.print(`\r\u001b[K${line(clock(left)).slice(0, out.columns - 1)}`);
  };
  show();
  const stop = everySecond(show);
  let stopped = false;
  return () => {
    if (stopped) return;
    stopped = true;
    stop();
    out.print('\r\u001b[K');
  };
}

function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function eachSecond(tick: () => void): () => void {
  const timer = setInterval(tick, 1_000);
  return () => clearInterval(timer);
}
