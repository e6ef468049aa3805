/**
 * The lines that a person types, one at a time: the next thing said, or the answer to a question. What is typed ahead
 * waits its turn and never answers a question that was not there yet.
 * @see CLI-4 in docs/specification.md
 */

import { createInterface } from 'node:readline';

export interface Lines {
  /** The next line; undefined when there is none any more. */
  next(prompt: string): Promise<string | undefined>;
  /** A line that is typed from now on; undefined when the signal aborts first. */
  answer(question: string, signal: AbortSignal): Promise<string | undefined>;
  /** Calls back at Ctrl-C; what stands on the line is told, and whether a question stands before it. */
  onInterrupt(listener: (typed: string, isAsking: boolean) => void): void;
  /** Calls back when no line will come any more. */
  onClose(listener: () => void): void;
  /** Empties the line. */
  clear(): void;
  close(): void;
}

export interface LinesSettings {
  readonly isTerminal: boolean;
  /** Earlier lines, newest first. */
  readonly history: readonly string[];
}

const historySize = 500;

export function createLines({ isTerminal, history }: LinesSettings): Lines {
  const { stdin, stdout } = process;
  const typed = isTerminal
    ? createInterface({ input: stdin, output: stdout, terminal: true, history: [...history], historySize, prompt: '' })
    : createInterface({ input: stdin, terminal: false });
  const ahead: string[] = [];
  let waiter: ((line: string | undefined) => void) | undefined;
  let isOver = false;

  const give = (line: string | undefined): void => {
    const give = waiter;
    waiter = undefined;
    give?.(line);
  };
  typed.on('line', (line) => {
    if (waiter === undefined) ahead.push(line);
    else give(line);
  });
  typed.on('close', () => {
    isOver = true;
    give(undefined);
  });

  function show(prompt: string): void {
    if (!isTerminal) return;
    typed.setPrompt(prompt);
    typed.prompt(true);
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
      // What stands on the line was typed before the question.
      if (isTerminal) typed.write(null, { ctrl: true, name: 'u' });
      show(question);
      const stop = (): void => give(undefined);
      signal.addEventListener('abort', stop, { once: true });
      const line = await wait();
      signal.removeEventListener('abort', stop);
      if (isTerminal) typed.setPrompt('');
      return line;
    },
    onInterrupt(listener) {
      if (isTerminal) typed.on('SIGINT', () => listener(typed.line, waiter !== undefined));
      else process.on('SIGINT', () => listener('', false));
    },
    onClose: (listener) => void typed.on('close', listener),
    clear() {
      if (isTerminal) typed.write(null, { ctrl: true, name: 'u' });
    },
    close: () => typed.close(),
  };
}
