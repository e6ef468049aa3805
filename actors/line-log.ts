/**
 * Keeps lines in a rotated file, such as what a server writes to its standard error. Writes one piece after the other, never
 * makes its caller wait or fail, and holds little in memory: what the disk does not take in time, or at all, is dropped
 * and counted, always whole lines. No secret reaches the disk. Knows nothing of processes and reads no meaning into the
 * text.
 * @see LIF-10, OBS-1 and HOME-3 in docs/specification.md
 */

import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateFolder, privateFile } from './files.ts';
import { createRedactedLines } from './mcp/redacted-lines.ts';
import { safeName } from './safe-name.ts';

export interface LineLogSettings {
  readonly folder: string;
  /** What the file is called after, such as a server. */
  readonly name: string;
  /** Takes the secrets out of a line. */
  readonly redact: (line: string) => string;
  /** How long a line that has not ended is waited for. */
  readonly patienceMs?: number;
  /** Of one file. */
  readonly maxBytes?: number;
  /** How many files there are at most, the current one among them. */
  readonly files?: number;
}

export interface LineLog {
  /** Takes a piece of text; never throws. */
  write(chunk: Buffer): void;
  /** Resolves when what was taken so far is on the disk, or dropped. */
  settled(): Promise<void>;
  /** Ends it when it has settled; what comes later is dropped. */
  close(): Promise<void>;
}

const defaultMaxBytes = 1_048_576;
const defaultFiles = 3;
const defaultPatienceMs = 1_000;
const lineFeed = 0x0a;
/** What may wait for the disk; a flood above it is dropped. */
const mostPendingBytes = 262_144;

export function createLineLog(settings: LineLogSettings): LineLog {
  const { folder, name, maxBytes = defaultMaxBytes, files = defaultFiles } = settings;
  const { redact, patienceMs = defaultPatienceMs } = settings;
  const path = join(folder, logFileName(name));
  const lines = createRedactedLines(redact);
  const room = Math.min(mostPendingBytes, maxBytes);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let droppedBytes = 0;
  /** The line under way is lost, and what still comes of it. */
  let skips = false;
  let waiting: NodeJS.Timeout | undefined;
  let file: FileHandle | undefined;
  let fileBytes = 0;
  let closed = false;
  let flushing: Promise<void> | undefined;

  const opened = async (more: number): Promise<FileHandle> => {
    if (file !== undefined && fileBytes > 0 && fileBytes + more > maxBytes) {
      await file.close();
      file = undefined;
      await rotate(path, files);
    }
    if (file === undefined) {
      await ensurePrivateFolder(folder);
      file = await open(path, 'a', privateFile);
      fileBytes = (await file.stat()).size;
      // A file of an earlier run may be full already.
      if (fileBytes > 0 && fileBytes + more > maxBytes) return opened(more);
    }
    return file;
  };

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
        const handle = await opened(batch.length);
        await handle.appendFile(batch);
        fileBytes += batch.length;
      } catch {
        // A full disk, a folder that is gone: the count stays for the next piece, which tries again.
        droppedBytes += dropped + bytes;
        await file?.close().catch(() => {});
        file = undefined;
        if (pending.length === 0) return;
      }
    }
  };

  const keep = (piece: Buffer): void => {
    if (piece.length === 0) return;
    pending.push(piece);
    pendingBytes += piece.length;
    flushing ??= flush().finally(() => {
      flushing = undefined;
    });
  };

  const keepRest = (): void => {
    clearTimeout(waiting);
    waiting = undefined;
    keep(lines.rest());
  };

  /** What there is room for: half a line could be half a secret, which nothing would know. */
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
      await flushing;
      await file?.close().catch(() => {});
      file = undefined;
    },
  };
}

/** The last lines of a log, oldest first; none where there is no log. */
export async function readLog(folder: string, name: string, lastLines: number): Promise<readonly string[]> {
  const path = join(folder, logFileName(name));
  let lines: string[] = [];
  for (let number = 0; lines.length <= lastLines; number += 1) {
    const text = await readFile(numbered(path, number), 'utf8').catch(() => undefined);
    if (text === undefined) break;
    // A line may go through the border of two files.
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

/** Moves each file one number up; the last one is overwritten. */
async function rotate(path: string, files: number): Promise<void> {
  for (let number = files - 1; number > 0; number -= 1) {
    await rename(numbered(path, number - 1), numbered(path, number)).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'ENOENT') throw thrown;
    });
  }
}
