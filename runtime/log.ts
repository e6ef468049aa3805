/**
 * Writes the log: JSON lines on a pipe, readable lines on a terminal, every line redacted. Lines gather and leave
 * together, so that the hot path pays for a push and not for a write.
 * @see OBS-1 and CON-2 in docs/specification.md
 */

import { writeSync } from 'node:fs';
import type { LogFields, Logger, LogLevel } from '../actors/ports.ts';
import type { Redactor } from './redact.ts';

export interface Log extends Logger {
  /** Writes everything that waits, at once. */
  flush(): void;
}

export interface LogSettings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  /** Where lines go: a file descriptor and whether a person reads it. */
  readonly sink?: { readonly fd: number; readonly isTerminal: boolean };
}

const ranks: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40 };
const colours: Readonly<Record<LogLevel, string>> = { debug: '2', info: '36', warn: '33', error: '31' };
/** So many waiting characters are written without waiting for the loop's turn to end. */
const mostWaiting = 1_048_576;

export function createLog({ env, redactor, sink }: LogSettings): Log {
  const { fd, isTerminal } = sink ?? { fd: 1, isTerminal: process.stdout.isTTY === true };
  const threshold = ranks[levelOf(env.AGENT_LOG_LEVEL)];
  const coloured = isTerminal && (env.NO_COLOR ?? '') === '';
  const warned = new Set<string>();
  let waiting = '';
  let scheduled = false;

  /** Lines are redacted together: one look at a hundred lines costs less than a hundred looks. */
  function flush(): void {
    scheduled = false;
    const lines = waiting;
    waiting = '';
    if (lines !== '') writeAll(fd, redactor.text(lines));
  }

  function log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (ranks[level] < threshold) return;
    const line = isTerminal ? readable(level, message, fields, coloured) : jsonLine(level, message, fields);
    waiting += `${line}\n`;
    if (waiting.length > mostWaiting) flush();
    else if (!scheduled) {
      scheduled = true;
      setImmediate(flush);
    }
  }

  return {
    log,
    flush,
    warnOnce(key, message, fields) {
      if (warned.has(key)) return;
      warned.add(key);
      log('warn', message, fields);
    },
  };
}

let spelledMs = 0;
let spelled = '';

/** Many lines share a millisecond; its spelling costs more than the rest of the line. */
function timeNow(): string {
  const nowMs = Date.now();
  if (nowMs !== spelledMs) {
    spelledMs = nowMs;
    spelled = new Date(nowMs).toISOString();
  }
  return spelled;
}

/** JSON escapes control characters, so that no value can forge a line. */
function jsonLine(level: LogLevel, message: string, fields: LogFields): string {
  return JSON.stringify({ time: timeNow(), level, message, ...fields });
}

function readable(level: LogLevel, message: string, fields: LogFields, coloured: boolean): string {
  const time = timeNow().slice(11, 19);
  const tag = coloured ? `\u001b[${colours[level]}m${level.padEnd(5)}\u001b[0m` : level.padEnd(5);
  const tail = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${shown(value)}`)
    .join('');
  return `${time} ${tag} ${printable(message)}${tail}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"=]/.test(text) ? JSON.stringify(text) : printable(text);
}

/** Control characters could move a terminal's cursor or forge a line. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, (unit) => `\\x${unit.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

function levelOf(name: string | undefined): LogLevel {
  return name !== undefined && Object.hasOwn(ranks, name) ? (name as LogLevel) : 'info';
}

/** A full pipe is tried again; a closed one has no reader to disappoint. */
function writeAll(fd: number, text: string): void {
  let rest = Buffer.from(text, 'utf8');
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code !== 'EAGAIN') return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
