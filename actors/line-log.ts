/**
 * Keeps lines in a rotated file, such as the standard error of a server. Writes one piece after the other, never blocks
 * or fails its caller, and uses little memory: lines that the disk does not take in time, or at all, are dropped and
 * counted, always complete lines. A log may keep what fits until the disk takes it. Secrets are removed before writing.
 * @see LIF-10, OBS-1 and HOME-3 in docs/specification.md
 */

import { type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { causeOf } from '../machines/base/fault.ts';
import { ensurePrivateFolder, privateFile } from './files.ts';
import { createRedactedLines } from './mcp/redacted-lines.ts';
import { safeName } from './safe-name.ts';

interface LineLogSettings {
  readonly folder: string;
  /** The base of the file name, such as a server's name. */
  readonly name: string;
  /** Removes the secrets from a line. */
  readonly redact: (line: string) => string;
  /** How long an unfinished line is held back. */
  readonly patienceMs?: number;
  /** Limit of one file. */
  readonly maxBytes?: number;
  /** Keeps the lines that cannot be written now, as far as they fit; called with the cause when that begins. */
  readonly onKept?: (cause: string) => void;
}

export interface LineLog {
  /** Appends a piece of text; never throws. */
  write(chunk: Buffer): void;
  /** Resolves when the text so far is on disk or dropped. */
  settled(): Promise<void>;
  /** Settles and closes the file; later text is dropped. */
  close(): Promise<void>;
}

const defaultMaxBytes = 1_048_576;
/** Number of files, including the current one. */
const maxFiles = 3;
const defaultPatienceMs = 1_000;
/** From a failed attempt to the next one, which a further line makes at once. */
const againMs = 5_000;
const lineFeed = 0x0a;
/** Bytes that may wait for the disk; more is dropped. */
const maxPendingBytes = 262_144;

export function createLineLog(settings: LineLogSettings): LineLog {
  const { folder, name, maxBytes = defaultMaxBytes } = settings;
  const { redact, patienceMs = defaultPatienceMs, onKept } = settings;
  const file = createRotatedFile(folder, logFileName(name), maxBytes);
  const lines = createRedactedLines(redact);
  const room = Math.min(maxPendingBytes, maxBytes);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let droppedBytes = 0;
  /** The current line was cut off, so the rest of it is dropped too. */
  let skips = false;
  let waiting: NodeJS.Timeout | undefined;
  let closed = false;
  let flushing: Promise<void> | undefined;
  let again: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    while (pending.length > 0 || droppedBytes > 0) {
      const dropped = droppedBytes;
      const note = dropped > 0 ? [Buffer.from(`\n… ${dropped} bytes dropped\n`)] : [];
      const batch = Buffer.concat([...pending, ...note]);
      const bytes = pendingBytes;
      pending = [];
      pendingBytes = 0;
      droppedBytes = 0;
      try {
        await file.append(batch);
        again = undefined;
      } catch (thrown) {
        if (onKept !== undefined) {
          pending.unshift(batch.subarray(0, bytes));
          pendingBytes += bytes;
          droppedBytes += dropped;
          if (again === undefined) onKept(causeOf(thrown));
          clearTimeout(again);
          again = setTimeout(flushNow, againMs).unref();
          return;
        }
        // On a full disk or a missing folder the count is kept for the next piece, which tries again.
        droppedBytes += dropped + bytes;
        if (pending.length === 0) return;
      }
    }
  };

  const flushNow = (): void => {
    flushing ??= flush().finally(() => {
      flushing = undefined;
    });
  };

  const keep = (piece: Buffer): void => {
    if (piece.length === 0) return;
    pending.push(piece);
    pendingBytes += piece.length;
    flushNow();
  };

  const keepRest = (): void => {
    clearTimeout(waiting);
    waiting = undefined;
    keep(lines.rest());
  };

  /** Cut to complete lines that fit: half a line may contain half a secret, which redaction would miss. */
  const roomFor = (chunk: Buffer): Buffer => {
    const from = skips ? chunk.indexOf(lineFeed) + 1 : 0;
    skips &&= from === 0;
    const left = room - pendingBytes - lines.heldBytes;
    const came = skips ? chunk.subarray(0, 0) : chunk.subarray(from);
    if (came.length <= left) {
      droppedBytes += chunk.length - came.length;
      return came;
    }
    const taken = came.subarray(0, left > 0 ? came.lastIndexOf(lineFeed, left - 1) + 1 : 0);
    droppedBytes += chunk.length - taken.length + (taken.length === 0 ? lines.forget() : 0);
    skips = came.at(-1) !== lineFeed;
    return taken;
  };

  return {
    write: (chunk) => {
      if (closed) return;
      const taken = roomFor(chunk);
      if (taken.length === 0) return;
      keep(lines.add(taken));
      clearTimeout(waiting);
      waiting = lines.heldBytes === 0 ? undefined : setTimeout(keepRest, patienceMs).unref();
    },
    settled: async () => {
      keepRest();
      await flushing;
    },
    close: async () => {
      closed = true;
      keepRest();
      flushNow();
      await flushing;
      clearTimeout(again);
      await file.close();
    },
  };
}

/** A file that is renamed when it is full. A batch that cannot be written leaves no part of itself. */
function createRotatedFile(folder: string, name: string, maxBytes: number) {
  const path = join(folder, name);
  let file: FileHandle | undefined;
  let fileBytes = 0;
  let inode = 0;

  async function opened(more: number): Promise<FileHandle> {
    if (file !== undefined) {
      const there = await stat(path).catch(() => undefined);
      if (there?.ino === inode) fileBytes = there.size;
      else {
        // A file that was removed or moved away takes lines that cannot be read any more.
        await file.close();
        file = undefined;
      }
    }
    if (file !== undefined && fileBytes > 0 && fileBytes + more > maxBytes) {
      await file.close();
      file = undefined;
      await rotate(path);
    }
    if (file === undefined) {
      await ensurePrivateFolder(folder);
      file = await open(path, 'a', privateFile);
      ({ size: fileBytes, ino: inode } = await file.stat());
      // A file from an earlier run may already be full.
      if (fileBytes > 0 && fileBytes + more > maxBytes) return opened(more);
    }
    return file;
  }

  async function close(): Promise<void> {
    await file?.close().catch(() => {});
    file = undefined;
  }

  return {
    async append(batch: Buffer): Promise<void> {
      try {
        const handle = await opened(batch.length);
        await handle.appendFile(batch);
        fileBytes += batch.length;
      } catch (thrown) {
        // What a full disk took of it may end within a line.
        await file?.truncate(fileBytes).catch(() => {});
        await close();
        throw thrown;
      }
    },
    close,
  };
}

/** The last lines of a log, oldest first; empty if there is no log. */
export async function readLog(folder: string, name: string, lastLines: number): Promise<readonly string[]> {
  const path = join(folder, logFileName(name));
  let lines: string[] = [];
  for (let number = 0; lines.length <= lastLines; number += 1) {
    const text = await readFile(numbered(path, number), 'utf8').catch(() => undefined);
    if (text === undefined) break;
    // A line may span two files.
    lines = (text + lines.join('\n')).split('\n');
  }
  if (lines.at(-1) === '') lines.pop();
  return lastLines === 0 ? [] : lines.slice(-lastLines);
}

export function logFileName(name: string): string {
  return `${safeName(name)}.log`;
}

function numbered(path: string, number: number): string {
  return number === 0 ? path : `${path}.${number}`;
}

/** Renames each file to the next number; the last one is overwritten. */
async function rotate(path: string): Promise<void> {
  for (let number = maxFiles - 1; number > 0; number -= 1) {
    await rename(numbered(path, number - 1), numbered(path, number)).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'ENOENT') throw thrown;
    });
  }
}
