/**
 * Writes messages to the standard input of a server's process. The messages of one turn are written together, and one
 * write at a time, so that it is known of each message whether the process may have read it.
 * @see TRU-4 in docs/specification.md
 */

import type { Writable } from 'node:stream';
import { type JSONRPCMessage, SdkError, SdkErrorCode, serializeMessage } from '@modelcontextprotocol/client';
import { settlesWithin } from './process-exit.ts';

interface StdioInputPorts {
  readonly server: string;
  readonly stdin: () => Writable | null | undefined;
  readonly exited: () => Promise<void>;
  /** Ends the process, because it does not read; returns the error of the message that is not sent. */
  readonly cutOff: () => Error;
}

/** Messages that wait for the end of the turn and of the previous write: none of them was passed to the system. */
interface Outbox {
  text: string;
  readonly senders: Sender[];
}

interface Sender {
  readonly resolve: () => void;
  readonly reject: (thrown: Error) => void;
}

/** What may be queued for a process that does not read. */
const maxBacklogBytes = 16 * 1_048_576;
/** A pipe breaks just before its process exits, and the reason should include the exit. */
const exitGraceMs = 500;

export function createStdioInput({ server, stdin, exited, cutOff }: StdioInputPorts) {
  let outbox: Outbox = { text: '', senders: [] };
  let writing = false;
  let isFinished = false;

  function refuse(senders: readonly Sender[], code: SdkErrorCode): void {
    const refusal = new SdkError(code, `mcp server "${server}" took no input: it has ended`);
    void settlesWithin(exited(), exitGraceMs).then(() => {
      for (const { reject } of senders) reject(refusal);
    });
  }

  function flush(isLast = false): void {
    const { text, senders } = outbox;
    const pipe = stdin();
    if (!pipe || senders.length === 0 || (writing && !isLast)) return;
    outbox = { text: '', senders: [] };
    if (!pipe.writable) {
      refuse(senders, SdkErrorCode.SendFailed);
      return;
    }
    writing = true;
    // Called when the pipe has accepted the messages. A pipe that was destroyed meanwhile reports success.
    pipe.write(text, (error) => {
      writing = false;
      if (!error && !pipe.destroyed) {
        for (const { resolve } of senders) resolve();
      } else {
        // However the write failed, the process may have read and executed a part of it (TRU-4).
        refuse(senders, SdkErrorCode.ConnectionClosed);
      }
      flush();
    });
  }

  return {
    /** Resolves when the pipe has accepted the message. */
    send: (message: JSONRPCMessage): Promise<void> =>
      new Promise((resolve, reject) => {
        const pipe = stdin();
        if (isFinished || !pipe?.writable) {
          reject(new SdkError(SdkErrorCode.NotConnected, `mcp server "${server}" is not running`));
          return;
        }
        if (pipe.writableLength + outbox.text.length > maxBacklogBytes) {
          reject(cutOff());
          return;
        }
        // The write is the most expensive part of a call.
        if (outbox.senders.length === 0) process.nextTick(() => flush());
        outbox.text += serializeMessage(message);
        outbox.senders.push({ resolve, reject });
      }),
    /** Passes the last messages on, without waiting for the write before them; takes no more. */
    finish(): void {
      isFinished = true;
      flush(true);
    },
  };
}
