/**
 * Reads what the client of `agent mcp serve` writes, up to the ends of lines, before the SDK does: there, a message of more
 * than 10 MB ends the connection without an answer. Here it reaches the gateway, which refuses it with its limit.
 * @see CLI-5 in docs/specification.md
 */

import { Transform } from 'node:stream';

/** Far more than the gateway takes: what is longer is no message. */
const longestLine = 64 * 1_048_576;
const lineEnd = 0x0a;

/** Passes on complete lines only, as many as there are. */
export function completeLines(): Transform {
  let begun: Buffer[] = [];
  let length = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const end = chunk.lastIndexOf(lineEnd) + 1;
      if (end > 0) {
        this.push(Buffer.concat([...begun, chunk.subarray(0, end)]));
        begun = [];
        length = 0;
      }
      begun.push(chunk.subarray(end));
      length += chunk.length - end;
      const words = `the client sent ${longestLine / 1_048_576} MiB without a line end`;
      done(length > longestLine ? new Error(words) : null);
    },
  });
}
