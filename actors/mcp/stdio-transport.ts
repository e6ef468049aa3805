/**
 * Carries MCP messages over the standard streams of a command in a process group of its own: the group ends with this
 * connection, and with the daemon however that ends. Reads one message a line and skips what is none; a line without an
 * end is cut off. Knows nothing of protocols, reconnecting or where standard error goes.
 * @see LIF-9, LIF-10, ERA-3 and TRU-4 in docs/specification.md
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { redactShapes } from '../../machines/mcp/redact-shapes.ts';
import type { StdioPlan } from '../../machines/mcp/server-settings.ts';
import type { Logger } from '../ports.ts';
import { endOf, streamsOf } from '../process-group.ts';
import { createFloodMeter, linesOf } from './flood-meter.ts';
import { createLineReader, type ReadState } from './line-reader.ts';
import { endGroup, settlesWithin, signalGroup } from './process-exit.ts';
import { notStarted, spawnServer } from './spawn-server.ts';
import { createTurnShare } from './turn-share.ts';

export interface StdioSettings {
  readonly server: string;
  readonly plan: StdioPlan;
  readonly cwd: string;
  readonly log: Logger;
  /** Takes standard error as it comes, and the lines of standard output that are no messages. */
  readonly onStderr: (chunk: Buffer) => void;
  readonly maxMessageBytes?: number;
  /** How long the child may take from the end of its input to its own, and from SIGTERM to SIGKILL. */
  readonly graceMs?: number;
}

export interface StdioTransport extends Transport {
  /** With `stderr` the mark of a stdio transport, by which the SDK probes in place and reads silence as "legacy". */
  readonly pid: number | null;
  readonly stderr: null;
  /** The code or the signal that the child ended with by itself; undefined while it runs, or where it was closed. */
  exitStatus(): number | string | null | undefined;
  /** How the child ended and its last words, for the reason of a failure; undefined while it runs. */
  whyClosed(): string | undefined;
  /** Whether a message was cut off: of which request it was an answer is not known. */
  isCut(): boolean;
  /** The length of the message that is being handed on. */
  messageBytes(): number;
  /** Has the flood meter see each message before whatever was put in front of the client. */
  meterFirst(): void;
}

/** What waits for the end of the turn, and of the write before it: none of it was handed to the system. */
interface Outbox {
  text: string;
  readonly senders: Sender[];
}

interface Sender {
  readonly resolve: () => void;
  readonly reject: (thrown: Error) => void;
}

/** What the SDK's own transport allows. */
const defaultMaxMessageBytes = 10 * 1_048_576;
/** What may wait for a child that does not read. */
const mostBacklogBytes = 16 * 1_048_576;
const defaultGraceMs = 2_000;
/** What a descendant that escaped the group may hold the pipes open for. */
const pipeGraceMs = 500;
/** The end of standard error is where the reason stands. */
const keptStderrBytes = 2_048;
/** A shorter value is no secret, and blotting it out would spoil the reason. */
const shortestSecret = 6;
const lineFeed = Buffer.of(0x0a);

export function createStdioTransport(settings: StdioSettings): StdioTransport {
  const { server, plan, log, onStderr, maxMessageBytes = defaultMaxMessageBytes } = settings;
  const { graceMs = defaultGraceMs } = settings;
  let child: ChildProcess | undefined;
  let ending: Promise<void> | undefined;
  let warned = false;
  let why: string | undefined;
  let status: number | string | null | undefined;
  let tail: Buffer = Buffer.alloc(0);
  let exited: Promise<void> = Promise.resolve();
  let drained: Promise<void> = Promise.resolve();
  let outbox: Outbox = { text: '', senders: [] };
  let writing = false;
  /** Of the message that is being handed on. */
  let lineBytes = 0;
  let overflowed = false;

  const onRubbish = (lines: Buffer, count: number): boolean => {
    meter.count(count);
    if (lines.length > 0 && !warned) {
      warned = true;
      log.warnOnce(
        `mcp/${server}/rubbish`,
        `mcp server "${server}": writes lines to its standard output that are no messages; they are in its log`,
        { server },
      );
    }
    if (lines.length > 0) onStderr(lines);
    return share.spend(count);
  };

  const onLine = (line: Buffer): boolean => {
    if (ending !== undefined) return true;
    const message = messageOf(line);
    if (message === undefined) return onRubbish(Buffer.concat([line, lineFeed]), 1);
    lineBytes = line.length;
    try {
      transport.onmessage?.(message);
    } catch (thrown) {
      transport.onerror?.(thrown as Error);
    }
    return share.spend(linesOf(line.length));
  };

  const refuse = (senders: readonly Sender[], code: SdkErrorCode): void => {
    const refusal = new SdkError(code, `mcp server "${server}" took no input: it has ended`);
    // A pipe breaks a moment before its child has ended, and whoever is told now wants to know how it did.
    void settlesWithin(exited, pipeGraceMs).then(() => {
      for (const { reject } of senders) reject(refusal);
    });
  };

  /** One write at a time, so that what waits behind it is known not to have left; but the last before the end. */
  const flush = (isLast = false): void => {
    const { text, senders } = outbox;
    const stdin = child?.stdin;
    if (!stdin || senders.length === 0 || (writing && !isLast)) return;
    outbox = { text: '', senders: [] };
    if (!stdin.writable) {
      refuse(senders, SdkErrorCode.SendFailed);
      return;
    }
    writing = true;
    // Called when the pipe has taken the messages. A pipe that was destroyed meanwhile is reported as success.
    stdin.write(text, (error) => {
      writing = false;
      if (!error && !stdin.destroyed) {
        for (const { resolve } of senders) resolve();
      } else {
        // However the write failed, the child may have read and executed a part of it (TRU-4).
        refuse(senders, SdkErrorCode.ConnectionClosed);
      }
      flush();
    });
  };

  /** Runs once, whatever is first: close, the child's own end, a line over the cap. */
  const end = (politeMs: number): Promise<void> => {
    ending ??= (async () => {
      if (child?.pid !== undefined) {
        flush(true);
        child.stdin?.end();
        await endGroup({ group: child.pid, exited, politeMs, termMs: graceMs });
        await drained;
        for (const stream of streamsOf(child)) stream?.destroy();
      }
      transport.onclose?.();
    })();
    return ending;
  };

  /** Ends a child that does what no server may. */
  const cutOff = (reason: string): void => {
    why ??= reason;
    transport.onerror?.(new Error(`mcp server "${server}": ${why}; it is ended`));
    void end(0);
  };
  const meter = createFloodMeter(cutOff);
  const share = createTurnShare(meter);
  const errorShare = createTurnShare();

  const watch = (started: ChildProcess): void => {
    exited = new Promise((resolve) => {
      started.once('exit', (code, signal) => {
        if (ending === undefined) status = code ?? signal;
        why ??= signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
        if (started.pid !== undefined) signalGroup(started.pid, 'SIGKILL');
        // Node resumes the pipes of a child that has exited, even paused ones: nothing may wait to be read before. What
        // is left in them is bounded, and so is the time for it.
        share.hurry();
        resolve();
      });
    });
    drained = new Promise((resolve) => {
      started.once('close', () => resolve());
      void exited.then(() => setTimeout(resolve, pipeGraceMs).unref());
    });
    const lines = createLineReader(maxMessageBytes, { line: onLine, rubbish: onRubbish });
    const { stdout, stderr } = started;
    const follow = (state: ReadState): void => {
      if (state === 'overflowed') {
        overflowed = true;
        stdout?.destroy();
        cutOff(`it wrote a message of more than ${maxMessageBytes} bytes`);
      } else if (state === 'waiting') {
        stdout?.pause();
        share.next(() => {
          // A child that is being ended must not wait for a reader.
          if (ending === undefined) follow(lines.resume());
          else stdout?.resume();
        });
      } else stdout?.resume();
    };
    stdout?.on('data', (chunk: Buffer) => {
      if (ending === undefined) follow(lines.push(chunk));
    });
    stderr?.on('data', (chunk: Buffer) => {
      // One piece a turn: it is searched for secrets.
      stderr.pause();
      errorShare.next(() => stderr.resume());
      // Twice what is shown, so that a secret which this cut goes through is cut off again below.
      tail = Buffer.concat([tail, chunk.subarray(-2 * keptStderrBytes)]).subarray(-2 * keptStderrBytes);
      onStderr(chunk);
    });
    // A child that ends breaks its pipes; the exit tells.
    for (const stream of streamsOf(started)) stream?.on('error', () => {});
    // Every message that it wrote before its end counts, so the pipes are read to theirs.
    void exited.then(() => drained).then(() => end(0));
  };

  const transport: StdioTransport = {
    stderr: null,
    get pid() {
      return child?.pid ?? null;
    },
    start: async () => {
      if (child !== undefined || ending !== undefined)
        throw new SdkError(SdkErrorCode.AlreadyConnected, 'started before');
      const started = spawnServer(settings);
      child = started;
      watch(started);
      try {
        await once(started, 'spawn');
      } catch (thrown) {
        throw notStarted(server, plan.command, thrown);
      }
    },
    send: (message) =>
      new Promise((resolve, reject) => {
        const stdin = child?.stdin;
        if (!stdin?.writable || ending !== undefined) {
          reject(new SdkError(SdkErrorCode.NotConnected, `mcp server "${server}" is not running`));
          return;
        }
        if (stdin.writableLength + outbox.text.length > mostBacklogBytes) {
          cutOff('it does not read what it is sent');
          reject(new SdkError(SdkErrorCode.SendFailed, `mcp server "${server}" took no input: ${why}`));
          return;
        }
        // What is sent in one turn goes out in one piece: a write is dearer than all else about a call.
        if (outbox.senders.length === 0) process.nextTick(() => flush());
        outbox.text += serializeMessage(message);
        outbox.senders.push({ resolve, reject });
      }),
    close: () => {
      why ??= 'it was closed';
      return end(graceMs);
    },
    exitStatus: () => status,
    isCut: () => overflowed,
    messageBytes: () => lineBytes,
    meterFirst: () => seeFirst(),
    whyClosed: () => {
      if (why === undefined) return undefined;
      const words = endOf(redactShapes(blotted(tail.toString('utf8'), plan.env)), keptStderrBytes);
      return words === '' ? why : `${why}; it said: ${words}`;
    },
  };
  const seeFirst = meter.watch(transport, () => lineBytes);
  return transport;
}

/** The message of a line; undefined for one that is none. */
export function messageOf(line: Buffer): JSONRPCMessage | undefined {
  try {
    // The client reads the shape of each message itself; twice would be as dear as the rest of reading.
    const message = JSON.parse(line.toString('utf8')) as { readonly jsonrpc?: unknown } | null;
    return message?.jsonrpc === '2.0' ? (message as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}

/** A child's last words may quote what it was given. */
function blotted(text: string, env: Readonly<Record<string, string>>): string {
  return Object.values(env)
    .filter((value) => value.length >= shortestSecret)
    .reduce((rest, value) => rest.replaceAll(value, '[redacted]'), text);
}
