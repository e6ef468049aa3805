/** `agent gateway logs`: the log of the background gateway; reads the file, so it works without a gateway. @see CLI-6 */

import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as wait } from 'node:timers/promises';
import { isJsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import { shownText } from '../../machines/base/shown-json.ts';
import { sinceMs } from '../../machines/base/since.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { type CommandContext, type ExitCode, hasFlag, textFlag } from '../context.ts';
import { systemHome } from '../systemd-unit.ts';
import { dim, oneLine } from '../terminal.ts';

const logLevels: readonly unknown[] = ['debug', 'info', 'warn', 'error'];

const defaultLines = 100;
const pollMs = 250;
/** Only the last part of the log is searched. */
const maxBytes = 16 * 1_048_576;

export function gatewayLog(home: string): string {
  return `${homePaths(home).logs}/gateway.log`;
}

export async function showGatewayLog(context: CommandContext): Promise<ExitCode> {
  const { out } = context;
  const path = gatewayLog(context.home);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) {
    const manager = context.home === systemHome ? '' : '--user ';
    out.complain(
      `agent: ${oneLine(path)} does not exist: only a gateway that \`agent gateway\` starts in the background writes it; one in the foreground logs to its own output, and one of systemd to the journal: \`journalctl ${manager}-u agent-gateway\`\n`,
    );
    return 1;
  }
  const fits = filterOf(context);
  const wordsOf = hasFlag(context, 'json') ? shownText : readableLine;
  const tail = createTail(path, size);
  const found = tail.read().filter(fits);
  const limit = Number(textFlag(context, 'limit') ?? defaultLines);
  const shown = found.slice(-limit);
  if (shown.length < found.length) {
    const count = (lines: number): string => lines.toLocaleString('en');
    const words = `${count(shown.length)} of ${count(found.length)} lines; --limit ${limit * 2} shows more`;
    if (out.isTerminal && !hasFlag(context, 'json')) out.print(`${dim(out, words)}\n`);
    else out.complain(`agent: ${words}\n`);
  }
  for (const line of shown) out.print(`${wordsOf(line)}\n`);
  if (!hasFlag(context, 'follow')) return 0;
  for (;;) {
    await wait(pollMs);
    for (const line of tail.read().filter(fits)) out.print(`${wordsOf(line)}\n`);
  }
}

/** A log line for people: time, level, message and fields. A line that is not JSON is returned unchanged. */
export function readableLine(line: string): string {
  const read = readJson(line);
  if (!isJsonObject(read) || typeof read.message !== 'string') return `  ${oneLine(line)}`;
  const { time, level, message, ...fields } = read;
  const more = Object.entries(fields).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const [date, clock] = [String(time).slice(0, 10), String(time).slice(11, 19)];
  return `  ${date} ${clock}Z ${String(level).padEnd(5)} ${oneLine([message, ...more].join(''))}`;
}

/** A line that is not JSON, such as one of a stack trace, belongs to the line before it. */
function filterOf(context: CommandContext): (line: string) => boolean {
  const least = logLevels.indexOf(textFlag(context, 'level'));
  const since = textFlag(context, 'since');
  const fromMs = since === undefined ? undefined : sinceMs(since, Date.now());
  let fitted = least < 0 && fromMs === undefined;
  return (line) => {
    const read = readJson(line);
    if (!isJsonObject(read)) return fitted;
    fitted =
      logLevels.indexOf(read.level) >= least && (fromMs === undefined || Date.parse(String(read.time)) >= fromMs);
    return fitted;
  };
}

/**
 * Reads the complete lines added since the last read, first those of the last part of the log. Where the file was
 * replaced or emptied, the earlier one has the lines that were not read yet.
 */
function createTail(path: string, size: number): { read(): readonly string[] } {
  const earlier = `${path}.1`;
  let at = Math.max(0, size - maxBytes);
  let inode: number | undefined;
  let rest = endOf(earlier, maxBytes - size);
  let decoder = new StringDecoder();
  let skipsFirst = at > 0;
  let last = '';
  const chunk = Buffer.alloc(1_048_576);
  return {
    read() {
      if (statSync(path, { throwIfNoEntry: false }) === undefined) return [];
      const file = openSync(path, 'r');
      try {
        const { ino, size } = fstatSync(file);
        if ((inode !== undefined && ino !== inode) || size < at) {
          at = 0;
          const text = endOf(earlier, maxBytes);
          const seen = text.lastIndexOf(`${last}\n`);
          rest = last === '' || seen < 0 ? '' : text.slice(seen + last.length + 1);
          decoder = new StringDecoder();
        }
        inode = ino;
        for (let length = readSync(file, chunk, 0, chunk.length, at); length > 0; ) {
          rest += decoder.write(chunk.subarray(0, length));
          at += length;
          length = readSync(file, chunk, 0, chunk.length, at);
        }
      } finally {
        closeSync(file);
      }
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      if (skipsFirst && lines.length > 0) {
        skipsFirst = false;
        lines.shift();
      }
      last = lines.at(-1) ?? last;
      return lines;
    },
  };
}

/** The complete lines at the end of a file, within so many bytes; empty if there is no file. */
function endOf(path: string, max: number): string {
  if (max <= 0 || statSync(path, { throwIfNoEntry: false }) === undefined) return '';
  const bytes = readFileSync(path);
  const from = Math.max(0, bytes.length - max);
  return bytes.subarray(from === 0 ? 0 : bytes.indexOf('\n', from) + 1).toString('utf8');
}
