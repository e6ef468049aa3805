/**
 * A full screen on a terminal: redrawn four times a second, scrolled by keys, and always restored at the end and while
 * Ctrl-Z stops the program.
 */

interface Screen {
  close(): void;
  /** Resolves at the end, with whether Ctrl-C ended it. */
  readonly closed: Promise<boolean>;
}

export interface Drawn {
  readonly lines: readonly string[];
  /** The offset drawn from, if the requested one was beyond the end. */
  readonly from: number;
}

const everyMs = 250;
const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
/** An arrow or paging key as terminals send it, or any single character. */
const keyPattern = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z~]|.`, 'gs');

/** @param jump answers a key that is not one of scrolling or ending with the offset to draw from, if it knows the key */
export function openScreen(
  draw: (width: number, height: number, offset: number) => Drawn,
  jump: (key: string) => number | undefined,
): Screen {
  const { stdin, stdout } = process;
  let offset = 0;
  let before = '';
  let open = true;
  let isCancelled = false;
  let settle: (isCancelled: boolean) => void = () => {};
  const closed = new Promise<boolean>((resolve) => {
    settle = resolve;
  });

  function redraw(): void {
    if (!open) return;
    // A terminal of unknown size reports 0. Erasing the rest of a line that fills the last column would take its end.
    const { lines, from } = draw((stdout.columns || 80) - 1, stdout.rows || 24, offset);
    offset = from;
    // Each line erases its old rest: clearing the screen would flicker.
    const text = `\u001b[H${lines.map((one) => `${one}\u001b[K`).join('\r\n')}\u001b[J`;
    if (text !== before) stdout.write(text);
    before = text;
  }

  function onKeys(keys: Buffer): void {
    const page = Math.max(1, stdout.rows - 3);
    for (const key of keys.toString('latin1').match(keyPattern) ?? []) {
      isCancelled ||= key === '\u0003';
      if (key === 'q' || key === '\u0003' || key === '\u001b') close();
      else if (key === '\u001a') suspend();
      else if (key === 'k' || key === '\u001b[A') offset = Math.max(0, offset - 1);
      else if (key === 'j' || key === '\u001b[B') offset += 1;
      else if (key === '\u001b[5~') offset = Math.max(0, offset - page);
      else if (key === ' ' || key === '\u001b[6~') offset += page;
      else if (key === 'g' || key === '\u001b[H') offset = 0;
      else offset = jump(key) ?? offset;
    }
    redraw();
  }

  function resized(): void {
    before = '';
    redraw();
  }

  function close(): void {
    if (!open) return;
    open = false;
    clearInterval(timer);
    stdin.off('data', onKeys);
    stdout.off('resize', resized);
    process.off('exit', restore).off('SIGTERM', close).off('SIGHUP', close);
    restore();
    settle(isCancelled);
  }

  function begin(): void {
    // First: where a shell has continued the program in the background, this stops it again.
    stdin.setRawMode(true);
    stdout.write(enter);
    stdin.resume();
  }

  function restore(): void {
    stdin.setRawMode(false);
    stdin.pause();
    stdout.write(leave);
  }

  /** Raw mode makes Ctrl-Z a key, so the stop is left to do here. */
  function suspend(): void {
    restore();
    // The call returns when a shell continues the program, or at once where no shell could.
    process.kill(0, 'SIGTSTP');
    begin();
    before = '';
  }

  begin();
  stdin.on('data', onKeys);
  stdout.on('resize', resized);
  process.on('exit', restore).on('SIGTERM', close).on('SIGHUP', close);
  const timer = setInterval(redraw, everyMs);
  redraw();
  return { close, closed };
}
