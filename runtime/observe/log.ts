/**
 * Writes the log: JSON lines on a pipe, readable lines on a terminal, every line redacted. Lines are collected and
 * written together, so that the hot path only appends.
 * @see OBS-1 and CON-2 in docs/specification.md
 */

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { LogFields, Logger, LogLevel } from '../../actors/ports.ts';
import { shownText } from '../../machines/base/shown-json.ts';
import type { Redactor } from './redact.ts';

export interface Log extends Logger {
  /** Writes all waiting lines at once. */
  flush(): void;
}

interface LogSettings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  /** Called with the level of each line that is written. */
  readonly counted?: (level: LogLevel) => void;
  /** Where lines go: a file descriptor and whether a person reads it. */
  readonly sink?: { readonly fd: number; readonly isTerminal: boolean };
  /** A file that is kept within bounds where the lines go there, and made again where it is removed or moved away. */
  readonly file?: string;
}

const ranks: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40 };
const colours: Readonly<Record<LogLevel, string>> = { debug: '2', info: '36', warn: '33', error: '31' };
/** What journald takes for the priority of a line; without one it is info. @see sd-daemon(3) */
const priorities: Readonly<Record<LogLevel, string>> = { debug: '<7>', info: '', warn: '<4>', error: '<3>' };
/** Bounds the remembered keys of `warnOnce`, some of which come from third parties. */
const maxWarned = 4_096;
/** Above this many waiting characters, lines are written before the turn of the loop ends. */
const maxWaiting = 1_048_576;
/** Unknown senders cause lines too; one earlier file is kept. */
const maxFileBytes = 16 * 1_048_576;
const betweenLooks = 1_048_576;
/** How long a full pipe is waited for, in milliseconds: meanwhile the gateway answers no one. */
const readerPatienceMs = 1_000;
/** After a loss, a reader that takes something is waited for this long: it may have stopped again. */
const resumedPatienceMs = 100;
const lineFeed = 0x0a;

export function createLog({ env, redactor, counted, sink, file }: LogSettings): Log {
  const { fd: given, isTerminal } = sink ?? standardOutput();
  let fd = given;
  let inode = file === undefined ? undefined : sharedInode(given, file);
  const threshold = ranks[levelOf(env.AGENT_LOG_LEVEL)];
  const coloured = isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const isJournal = isJournalStream(given, env.JOURNAL_STREAM);
  const warned = new Set<string>();
  let waiting = '';
  let scheduled = false;
  let unseen = betweenLooks;
  let isTorn = false;
  /** What no one took since the last lines that were written. */
  let lostBytes = 0;

  /** Lines are redacted together: one pass over a hundred lines costs less than a hundred passes. */
  function flush(): void {
    scheduled = false;
    const lines = waiting;
    waiting = '';
    if (lines === '') return;
    const clean = redactor.text(lines);
    if (file !== undefined) keepInPlace(file);
    const lost = `${lostBytes} bytes of the log are lost: its reader took nothing, or its disk is full`;
    const note = lostBytes === 0 ? '' : lineFor('warn', lost, {});
    const text = isTerminal ? clean : shownText(clean);
    const bytes = Buffer.from(`${isTorn ? '\n' : ''}${note}${text}`, 'utf8');
    const written = writeAll(fd, bytes, lostBytes === 0 ? readerPatienceMs : 0);
    lostBytes = written === 0 ? lostBytes + Buffer.byteLength(text) : bytes.length - written;
    // A full disk may take half a line, which the next one must not continue.
    if (written > 0) isTorn = bytes[written - 1] !== lineFeed;
    unseen += clean.length;
    if (file === undefined || inode === undefined || unseen < betweenLooks) return;
    unseen = 0;
    bound(fd, file);
  }

  /** The descriptor of a file that was removed or moved away takes lines that cannot be read any more. */
  function keepInPlace(path: string): void {
    if (inode === undefined) return;
    try {
      if (statSync(path, { throwIfNoEntry: false })?.ino === inode) return;
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const opened = openSync(path, 'a', 0o600);
      if (fd !== given) closeSync(fd);
      fd = opened;
      inode = fstatSync(opened).ino;
    } catch {
      // The folder cannot be read or written. It is tried again with the next lines.
    }
  }

  /** If JSON cannot represent a field, the line has a bounded copy of the fields. */
  function lineOf(level: LogLevel, message: string, fields: LogFields): string {
    try {
      return jsonLine(level, message, fields);
    } catch {
      return jsonLine(level, message, redactor.value(fields) as LogFields);
    }
  }

  function lineFor(level: LogLevel, message: string, fields: LogFields): string {
    const line = isTerminal ? readable(level, message, fields, coloured) : lineOf(level, message, fields);
    return `${isJournal ? priorities[level] : ''}${line}\n`;
  }

  function log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (ranks[level] < threshold) return;
    counted?.(level);
    waiting += lineFor(level, message, fields);
    if (waiting.length > maxWaiting) flush();
    else if (!scheduled) {
      scheduled = true;
      setImmediate(flush);
    }
  }

  const named = env.AGENT_LOG_LEVEL ?? '';
  if (named !== '' && !Object.hasOwn(ranks, named))
    log('warn', `AGENT_LOG_LEVEL is "${named}"; write debug, info, warn or error. Until then it is info`);
  return {
    log,
    flush,
    warnOnce(key, message, fields) {
      if (warned.has(key)) return;
      if (warned.size === maxWarned) for (const oldest of [...warned].slice(0, maxWarned / 2)) warned.delete(oldest);
      warned.add(key);
      log('warn', message, fields);
    },
  };
}

/** A terminal is opened once more: a write by the descriptor that there is waits while Ctrl-S holds the terminal. */
function standardOutput(): NonNullable<LogSettings['sink']> {
  const isTerminal = process.stdout.isTTY === true;
  try {
    if (isTerminal) return { fd: openSync('/dev/fd/1', constants.O_WRONLY | constants.O_NONBLOCK), isTerminal };
  } catch {
    // It is another user's, as after `su`.
  }
  return { fd: 1, isTerminal };
}

let formattedMs = 0;
let isoText = '';

/** Many lines share a millisecond, and formatting the time costs more than the rest of the line. */
function timeNow(): string {
  const nowMs = Date.now();
  if (nowMs !== formattedMs) {
    formattedMs = nowMs;
    isoText = new Date(nowMs).toISOString();
  }
  return isoText;
}

/** JSON escapes control characters, so that no value can forge a line; no field can replace the line's own fields. */
function jsonLine(level: LogLevel, message: string, fields: LogFields): string {
  const tail = JSON.stringify(writableFields(fields));
  const head = `{"time":"${timeNow()}","level":"${level}","message":${JSON.stringify(message)}`;
  return tail === '{}' ? `${head}}` : `${head},${tail.slice(1)}`;
}

const own: ReadonlySet<string> = new Set(['time', 'level', 'message']);

/** The fields, renamed if they have a name of the line's own, and with errors as their messages, which JSON would omit. */
function writableFields(fields: LogFields): LogFields {
  let copy: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    if (!own.has(name) && !(value instanceof Error)) continue;
    copy ??= { ...fields };
    delete copy[name];
    copy[own.has(name) ? `field_${name}` : name] = value instanceof Error ? value.message : value;
  }
  return copy ?? fields;
}

function readable(level: LogLevel, message: string, fields: LogFields, coloured: boolean): string {
  const time = `${timeNow().slice(11, 19)}Z`;
  const tag = coloured ? `\u001b[${colours[level]}m${level.padEnd(5)}\u001b[0m` : level.padEnd(5);
  const tail = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${printable(name).replace(/\s/g, '_')}=${shown(value)}`)
    .join('');
  // Further lines of a message are indented, so that none can be taken for a line of the log.
  return `${time} ${tag} ${printable(message).replace(/\n/g, '\n      ')}${tail}`;
}

function shown(value: unknown): string {
  const text = value instanceof Error ? value.message : typeof value === 'string' ? value : jsonOf(value);
  return printable(/[\s"=]/.test(text) ? JSON.stringify(text) : text);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return String(value);
  }
}

/** Characters that end a line, reverse it, or format it invisibly. */
const hostile = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Control characters could move a terminal's cursor or forge a line. */
function printable(text: string): string {
  return text.replace(hostile, (unit) => `\\x${unit.codePointAt(0)?.toString(16).padStart(2, '0')}`);
}

function levelOf(name: string | undefined): LogLevel {
  return name !== undefined && Object.hasOwn(ranks, name) ? (name as LogLevel) : 'info';
}

/** The inode of the path, if the descriptor is open on it. */
function sharedInode(fd: number, path: string): number | undefined {
  try {
    const { ino } = fstatSync(fd);
    return statSync(path).ino === ino ? ino : undefined;
  } catch {
    return undefined;
  }
}

/** Whether systemd connected the descriptor to its journal: children inherit the variable, but have other descriptors. */
function isJournalStream(fd: number, named: string | undefined): boolean {
  if (named === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return named === `${dev}:${ino}`;
}

/** The descriptor comes from the process that started this one and stays, so the file is copied and emptied. */
function bound(fd: number, path: string): void {
  try {
    const { size } = fstatSync(fd);
    if (size <= maxFileBytes) return;
    const kept = Buffer.alloc(maxFileBytes);
    const from = openSync(path, 'r');
    readSync(from, kept, 0, maxFileBytes, size - maxFileBytes);
    closeSync(from);
    writeFileSync(`${path}.1`, kept.subarray(kept.indexOf('\n') + 1), { mode: 0o600 });
    ftruncateSync(fd);
  } catch {
    // There is no room for the copy. It is tried again after `betweenLooks` further characters.
  }
}

/**
 * Retries while a pipe is full, until it has taken nothing for so many milliseconds; drops the rest then, and if the pipe is
 * closed or the disk full. Returns how many bytes it wrote.
 */
function writeAll(fd: number, bytes: Buffer, patienceMs: number): number {
  let at = 0;
  for (let leftMs = patienceMs; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
      leftMs = Math.max(patienceMs, resumedPatienceMs);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code !== 'EAGAIN' || leftMs === 0) break;
      leftMs -= 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
  return at;
}
