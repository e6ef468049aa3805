/**
 * Reads what the client of `agent mcp serve` writes, up to the ends of lines, before the SDK does: there, a message of more
 * than 10 MB ends the connection without an answer. Here it reaches the gateway, which refuses it with its limit.
 * @see CLI-5 in docs/specification.md
 */

import { Transform } from 'node:stream';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';

/** Far more than the gateway takes: what is longer is no message. */
const longestLine = 64 * 1_048_576;
const lineEnd = 0x0a;
/** An integer of so many digits may be one that a number rounds. */
const manyDigits = /\d{16}/;

/** Passes on complete lines only, as many as there are. */
export function completeLines(): Transform {
  let begun: Buffer[] = [];
  let length = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const end = chunk.lastIndexOf(lineEnd) + 1;
      if (end > 0) {
        const text = Buffer.concat([...begun, chunk.subarray(0, end)]).toString();
        this.push(text.split('\n').map(exactly).join('\n'));
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

/** The SDK would round an id of many digits among the arguments, so that it is another one: its digits become a text. */
function exactly(line: string): string {
  const exact = manyDigits.test(line) ? readJson(line) : undefined;
  if (!isJsonObject(exact) || !isJsonObject(exact.params) || !isJsonObject(exact.params.arguments)) return line;
  // All else stays as it is: an answer has the id of its request.
  const { params, ...message } = JSON.parse(line) as { readonly params: JsonObject };
  return JSON.stringify({ ...message, params: { ...params, arguments: exact.params.arguments } });
}
