/**
 * Reads the lines that a person types, one at a time: the next message, or the answer to a question. Lines typed ahead are
 * queued and never answer a question that was not yet shown. A paste is one line even if it has several: the terminal is
 * asked to mark pastes (bracketed paste), and the Enter after a paste ends it.
 * @see CLI-4 and CLI-6 in docs/specification.md
 */

import { clearScreenDown, createInterface, cursorTo, moveCursor } from 'node:readline';

export interface Lines {
  /** The next line; undefined at the end of the input. */
  next(prompt: string): Promise<string | undefined>;
  /** The next line typed after this call; undefined if the signal aborts first. */
  answer(question: string, signal: AbortSignal): Promise<string | undefined>;
  /** Calls back at Ctrl-C with the typed text and whether a line is being read. Drops lines typed ahead. */
  onInterrupt(listener: (typed: string, isAsking: boolean) => void): void;
  /** Calls back at the end of the input. */
  onClose(listener: () => void): void;
  clear(): void;
  /** Prints something that comes unasked, above the line that is being typed. */
  aside(print: () => void): void;
  close(): void;
}

interface LinesSettings {
  readonly isTerminal: boolean;
  /** Earlier lines, newest first. */
  readonly history: readonly string[];
}

const historySize = 500;
const marksPastes = '\u001b[?2004h';
const marksNoPastes = '\u001b[?2004l';

export function createLines({ isTerminal, history }: LinesSettings): Lines {
  const { stdin, stdout } = process;
  const typed = isTerminal
    ? createInterface({ input: stdin, output: stdout, terminal: true, history: [...history], historySize, prompt: '' })
    : createInterface({ input: stdin, terminal: false });
  const ahead: string[] = [];
  /** Lines of a paste that Enter has not ended yet. */
  const pasted: string[] = [];
  let isPasting = false;
  let waiter: ((line: string | undefined) => void) | undefined;
  let isOver = false;

  const give = (line: string | undefined): void => {
    const give = waiter;
    waiter = undefined;
    give?.(line);
  };
  if (isTerminal) {
    stdout.write(marksPastes);
    stdin.on('keypress', (_, key?: { readonly name?: string }) => {
      if (key?.name === 'paste-start') isPasting = true;
      else if (key?.name === 'paste-end') isPasting = false;
    });
  }
  typed.on('line', (last) => {
    pasted.push(last);
    if (isPasting) return;
    const line = pasted.splice(0).join('\n');
    if (waiter === undefined) ahead.push(line);
    else give(line);
  });
  // After Node's own stop nothing reads the keys, and none is read again where no shell could stop the program.
  typed.on('SIGTSTP', () => {
    stdout.write(marksNoPastes);
    stdin.setRawMode(false);
    process.kill(0, 'SIGTSTP');
    stdin.setRawMode(true);
    stdout.write(marksPastes);
    if (waiter !== undefined) typed.prompt(true);
  });
  typed.on('close', () => {
    isOver = true;
    if (isTerminal) stdout.write(marksNoPastes);
    give(undefined);
  });

  function show(prompt: string): void {
    if (!isTerminal) return;
    typed.setPrompt(prompt);
    typed.prompt(true);
  }

  function clear(): void {
    pasted.length = 0;
    // A terminal interrupted in mid-paste never sends the end mark.
    isPasting = false;
    if (!isTerminal) return;
    // Ctrl-U alone keeps what is right of the cursor.
    typed.write(null, { ctrl: true, name: 'e' });
    typed.write(null, { ctrl: true, name: 'u' });
  }

  function wait(): Promise<string | undefined> {
    return new Promise((resolve) => {
      waiter = resolve;
    });
  }

  return {
    next(prompt) {
      const first = ahead.shift();
      if (first !== undefined) return Promise.resolve(first);
      if (isOver) return Promise.resolve(undefined);
      show(prompt);
      return wait();
    },
    async answer(question, signal) {
      if (isOver || signal.aborted) return undefined;
      // Text on the line was typed before the question.
      clear();
      show(question);
      const stop = (): void => give(undefined);
      signal.addEventListener('abort', stop, { once: true });
      const line = await wait();
      signal.removeEventListener('abort', stop);
      if (isTerminal) typed.setPrompt('');
      return line;
    },
    onInterrupt(listener) {
      if (isTerminal)
        typed.on('SIGINT', () => {
          ahead.length = 0;
          listener([...pasted, typed.line].join('\n'), waiter !== undefined);
        });
      else process.on('SIGINT', () => listener('', false));
    },
    onClose: (listener) => void typed.on('close', listener),
    clear,
    aside(print) {
      if (!isTerminal || waiter === undefined) return print();
      const { rows } = typed.getCursorPos();
      moveCursor(stdout, 0, -rows);
      cursorTo(stdout, 0);
      clearScreenDown(stdout);
      print();
      // The line is drawn again from where it began, so many rows above.
      stdout.write('\n'.repeat(rows));
      typed.prompt(true);
    },
    close: () => typed.close(),
  };
}
