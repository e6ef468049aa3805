/**
 * Carries MCP messages over the standard streams of a command in its own process group, which ends with this connection,
 * and with the daemon however that ends. Reads one message per line and skips other lines; a line over the limit ends the
 * connection.
 * @see LIF-9, LIF-10, ERA-3 and TRU-4 in docs/specification.md
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type JSONRPCMessage, SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client';
import { deepestRead, isBeyondReading, parseObject } from '../../machines/base/read-json.ts';
import { redactShapes } from '../../machines/mcp/redact-shapes.ts';
import type { StdioPlan } from '../../machines/mcp/server-settings.ts';
import { messageWithoutNulls } from '../../machines/mcp/without-nulls.ts';
import type { Logger } from '../ports.ts';
import { endOf, streamsOf } from '../process-group.ts';
import { lineUp, type PutBefore } from './adapt-transport.ts';
import { createFloodMeter, linesOf } from './flood-meter.ts';
import { createLineReader, type ReadState } from './line-reader.ts';
import { endGroup, settlesWithin, signalGroup } from './process-exit.ts';
import { notStarted, spawnServer } from './spawn-server.ts';
import { createStdioInput } from './stdio-input.ts';
import { createTurnShare } from './turn-share.ts';

export interface StdioSettings {
  readonly server: string;
  readonly plan: StdioPlan;
  readonly cwd: string;
  readonly log: Logger;
  /** Receives standard error as it arrives, and the lines of standard output that are not messages. */
  readonly onStderr: (chunk: Buffer) => void;
  readonly maxMessageBytes?: number;
  /** Grace period from the end of its input to its exit, and from SIGTERM to SIGKILL. */
  readonly graceMs?: number;
}

export interface StdioTransport extends Transport {
  /**
   * With `stderr`, this marks a stdio transport for the SDK, which then probes in place and reads silence as "legacy".
   */
  readonly pid: number | null;
  readonly stderr: null;
  /** The exit code or signal if the child ended by itself; undefined while it runs, or if it was closed. */
  exitStatus(): number | string | null | undefined;
  /** How the child ended, with its last output, as the reason of a failure; undefined while it runs. */
  whyClosed(): string | undefined;
  /** Its last output that is no message, secrets redacted; empty if there is none. */
  lastWords(): string;
  /** Whether a message was cut off; which request it answered is unknown. */
  isCut(): boolean;
  /** The length of the current message. */
  messageBytes(): number;
  /** Adds handlers of its messages, behind the flood meter. */
  readonly putBefore: PutBefore;
}

/** The same limit as in the SDK's own transport. */
const defaultMaxMessageBytes = 10 * 1_048_576;
const defaultGraceMs = 2_000;
/** How long a descendant that escaped the group may keep the pipes open. */
const pipeGraceMs = 500;
/** The reason is usually at the end of standard error, or before the usage there. A reason is read up to 4,000 characters. */
const keptStderrBytes = 3_800;
/** A shorter value is not a secret, and redacting it would garble the reason. */
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
  let sweep = (): Promise<void> => Promise.resolve();
  /** Of the current message. */
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
    if (lines.length > 0) keepSaid(lines);
    return share.spend(count);
  };

  const keepSaid = (chunk: Buffer): void => {
    // Twice the shown length, so that a secret that is cut here is cut off again below.
    tail = Buffer.concat([tail, chunk.subarray(-2 * keptStderrBytes)]).subarray(-2 * keptStderrBytes);
    onStderr(chunk);
  };

  const onLine = (line: Buffer): boolean => {
    if (ending !== undefined) return true;
    const message = messageOf(line);
    if (message === undefined && isBeyondReading(line.toString('latin1'))) {
      // Not even its id is read, so the caller would wait for the timeout.
      cutOff(`it wrote a message that is nested more than ${deepestRead} deep`);
      return true;
    }
    if (message === undefined) return onRubbish(Buffer.concat([line, lineFeed]), 1);
    lineBytes = line.length;
    try {
      transport.onmessage?.(message);
    } catch (thrown) {
      transport.onerror?.(thrown as Error);
    }
    return share.spend(linesOf(line.length));
  };

  const input = createStdioInput({
    server,
    stdin: () => child?.stdin,
    exited: () => exited,
    cutOff: () => {
      cutOff('it does not read what it is sent');
      return new SdkError(SdkErrorCode.SendFailed, `mcp server "${server}" took no input: ${why}`);
    },
  });

  /** Runs once, for whichever is first: close, the child's exit, a line over the cap. */
  const end = (politeMs: number): Promise<void> => {
    ending ??= (async () => {
      input.finish();
      if (child?.pid !== undefined) {
        child.stdin?.end();
        await endGroup({ group: child.pid, exited, sweep, politeMs, termMs: graceMs });
        await drained;
        for (const stream of streamsOf(child)) stream?.destroy();
      }
      transport.onclose?.();
    })();
    return ending;
  };

  /** Ends a child that violates a limit. */
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
        const { pid } = started;
        if (pid !== undefined) void sweep().then(() => signalGroup(pid, 'SIGKILL'));
        // Node resumes the pipes of an exited child, even paused ones, so the rest is read without waiting for a turn. It
        // is limited in size and time.
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
        cutOff(`it wrote a message of more than ${maxMessageBytes} bytes: ask it for less at a time`);
      } else if (state === 'waiting') {
        stdout?.pause();
        share.next(() => {
          // A child that is being ended must not block on its output.
          if (ending === undefined) follow(lines.resume());
          else stdout?.resume();
        });
      } else stdout?.resume();
    };
    stdout?.on('data', (chunk: Buffer) => {
      if (ending === undefined) follow(lines.push(chunk));
    });
    // An ended child closes it too, and its exit says more.
    stdout?.once('end', () => {
      void settlesWithin(exited, pipeGraceMs).then((hasExited) => {
        if (!hasExited && ending === undefined) cutOff('it closed its standard output');
      });
    });
    stderr?.on('data', (chunk: Buffer) => {
      // One piece per turn, because it is searched for secrets.
      stderr.pause();
      errorShare.next(() => stderr.resume());
      keepSaid(chunk);
    });
    // A child that ends breaks its pipes; the exit event reports it.
    for (const stream of streamsOf(started)) stream?.on('error', () => {});
    // The pipes are read to their end, because every message that it wrote before its exit counts.
    void exited.then(() => drained).then(() => end(0));
  };

  const transport: Omit<StdioTransport, 'putBefore'> = {
    stderr: null,
    get pid() {
      return child?.pid ?? null;
    },
    start: async () => {
      if (child !== undefined || ending !== undefined)
        throw new SdkError(SdkErrorCode.AlreadyConnected, 'started before');
      const { child: started, sweep: sweepStarted } = spawnServer(settings);
      child = started;
      sweep = sweepStarted;
      watch(started);
      try {
        await once(started, 'spawn');
      } catch (thrown) {
        throw notStarted(server, plan.command, thrown);
      }
    },
    send: input.send,
    close: () => {
      why ??= 'it was closed';
      return end(graceMs);
    },
    exitStatus: () => status,
    isCut: () => overflowed,
    messageBytes: () => lineBytes,
    lastWords: () => endOf(redactShapes(blotted(tail.toString('utf8'), plan.env)), keptStderrBytes),
    whyClosed: () => {
      if (why === undefined) return undefined;
      const words = transport.lastWords();
      return words === '' ? why : `${why}; it said: ${words}`;
    },
  };
  const putBefore = lineUp(
    transport,
    meter.watch(() => lineBytes),
  );
  return Object.assign(transport, { putBefore });
}

export function messageOf(line: Buffer): JSONRPCMessage | undefined {
  // A byte order mark before the brace is no JSON.
  const message = parseObject(line.toString('utf8', line.indexOf('{')));
  if (message?.jsonrpc !== '2.0') return undefined;
  // The client validates each message itself; doing it here too would double the cost of reading.
  return messageWithoutNulls(message) as unknown as JSONRPCMessage;
}

/** A child's last output may quote its environment. */
function blotted(text: string, env: Readonly<Record<string, string>>): string {
  return Object.values(env)
    .filter((value) => value.length >= shortestSecret)
    .reduce((rest, value) => rest.replaceAll(value, '[redacted]'), text);
}
