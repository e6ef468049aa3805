/**
 * Reads what the client of `agent mcp serve` writes, up to the ends of lines, before the SDK does: there, a message of more
 * than 10 MB ends the connection without an answer, and a batch, or a message with `null`, gets none. Here the first reaches
 * the gateway, which refuses it with its limit, and the others are read as they are meant.
 * @see CLI-5 in docs/specification.md
 */

import { Transform } from 'node:stream';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { deepestJson, isTooDeep, readJson } from '../../machines/base/read-json.ts';
import { isEmptyList, messageWithoutNulls, withoutNulls } from '../../machines/mcp/without-nulls.ts';

/** Far more than the gateway takes: what is longer is no message. */
const maxLineLength = 64 * 1_048_576;
const lineEnd = 0x0a;
/** A batch, a member that is `null` or an empty list, or an integer that a number may round. */
const odd = /^\s*\[|:\s*(?:null|\[\s*\])|\d{16}/;

/** Passes on complete lines only, as many as there are. */
export function completeLines(): Transform {
  let begun: Buffer[] = [];
  let length = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const end = chunk.lastIndexOf(lineEnd) + 1;
      if (end > 0) {
        const text = Buffer.concat([...begun, chunk.subarray(0, end)]).toString();
        this.push(text.split('\n').map(readable).join('\n'));
        begun = [];
        length = 0;
      }
      begun.push(chunk.subarray(end));
      length += chunk.length - end;
      const words = `the client sent ${maxLineLength / 1_048_576} MiB without a line end`;
      done(length > maxLineLength ? new Error(words) : null);
    },
  });
}

function readable(line: string): string {
  // What is nested deeper than any call may be could not be written again.
  const exact = odd.test(line) && !isTooDeep(line, 2 * deepestJson) ? readJson(line) : undefined;
  // Each message of a batch is answered by itself.
  if (Array.isArray(exact) && exact.length > 0)
    return (JSON.parse(line) as readonly Json[]).map((rounded, at) => messageOf(rounded, exact[at])).join('\n');
  return isJsonObject(exact) && exact.params !== undefined ? messageOf(JSON.parse(line), exact) : line;
}

/** @param rounded all but the arguments is as the SDK would read it: an answer has the id of its request */
function messageOf(rounded: Json, exact: Json | undefined): string {
  if (!isJsonObject(rounded) || !isJsonObject(exact) || exact.params === undefined) return JSON.stringify(rounded);
  const message = messageWithoutNulls(rounded);
  const { params } = message;
  return JSON.stringify(isJsonObject(params) ? { ...message, params: readableParams(params, exact.params) } : message);
}

/** The arguments are the tool's: they keep each `null`, and an id of many digits, which the SDK would round, is a text. */
function readableParams({ arguments: rounded, _meta, ...params }: JsonObject, exact: Json | undefined): JsonObject {
  const { arguments: args = rounded } = isJsonObject(exact) ? exact : {};
  return {
    ...withoutNulls(params),
    ...(isJsonObject(_meta) ? { _meta: withoutNulls(_meta) } : {}),
    ...(args === undefined || args === null ? {} : { arguments: isEmptyList(args) ? {} : args }),
  };
}
