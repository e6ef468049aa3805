/**
 * Brings the messages of an HTTP server into the form that the SDK takes, before its transport reads them: it refuses a
 * message with a member that is `null`, or whose `_meta` is no object, before any handler sees it.
 * @see FLT-4 and LIF-13 in docs/specification.md
 */

import { type FetchLike, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { parseObject } from '../../machines/base/read-json.ts';
import { messageWithoutNulls } from '../../machines/mcp/without-nulls.ts';

export function readPlainAnswers(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const answer = await fetch(url, init);
    const isStream = /^text\/event-stream\b/i.test(answer.headers.get('content-type') ?? '');
    if (isStream && answer.body !== null) {
      return new Response(answer.body.pipeThrough(plainEvents(init?.body)), answer);
    }
    const read = answer.json.bind(answer);
    return Object.assign(answer, { json: async () => answering(init?.body, plainAnswer(await read())) });
  };
}

/** A stream is passed on in complete lines, since those that are odd are written anew. */
function plainEvents(posted: RequestInit['body']): TransformStream<Uint8Array, Uint8Array> {
  const begun: Uint8Array[] = [];
  return new TransformStream({
    transform(chunk, controller) {
      const end = Math.max(chunk.lastIndexOf(lineFeed), chunk.lastIndexOf(carriageReturn)) + 1;
      if (end > 0) controller.enqueue(plainLines(Buffer.concat([...begun.splice(0), chunk.subarray(0, end)]), posted));
      if (end < chunk.length) begun.push(chunk.subarray(end));
    },
    flush: (controller) => controller.enqueue(Buffer.concat(begun)),
  });
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** What a message may have that the SDK refuses, an error, which may lack its id, or a text that looks like either. */
const odd = /"(?:id|method|params|result|error)"\s*:\s*(?:null|\[\s*\])|"_meta"\s*:\s*[^{\s]|"error"\s*:\s*\{/;

function plainLines(lines: Buffer, posted: RequestInit['body']): Buffer {
  if (!odd.test(lines.toString('latin1'))) return lines;
  const plain = lines.toString().replace(/^data:([^\r\n]*)/gm, (line, data: string) => {
    const message = odd.test(data) ? parseObject(data) : undefined;
    // The data of one message may have several lines, of which one may look like a message.
    if (message?.jsonrpc !== '2.0') return line;
    const read = ofRequest(posted, messageWithoutNulls(message));
    return read === message ? line : `data:${JSON.stringify(read)}`;
  });
  return Buffer.from(plain);
}

/** An error without an id on the stream of a request can only be about it. */
function ofRequest(posted: RequestInit['body'], message: JsonObject): JsonObject {
  if (typeof posted !== 'string' || !isJsonObject(message.error) || (message.id ?? null) !== null) return message;
  return { ...message, id: idOf(posted) };
}

/** Messages of one batch: the client reads all of them in one turn. */
const maxTogether = 1_000;

function plainAnswer(given: unknown): unknown {
  if (Array.isArray(given)) {
    if (given.length > maxTogether) throw new Error(`answers with a batch of more than ${maxTogether} messages`);
    return given.map(plainAnswer);
  }
  return isJsonObject(given) ? messageWithoutNulls(given) : given;
}

/**
 * An error with another id, or without one, can only be about the message that was posted. A result with another id may be
 * that of another request.
 */
function answering(posted: RequestInit['body'], given: unknown): unknown {
  const messages: readonly unknown[] = Array.isArray(given) ? given : [given];
  const answers = messages.filter(isJsonObject).filter(({ method }) => method === undefined);
  if (typeof posted !== 'string' || answers.some(({ id = null }) => hasId(posted, id))) return given;
  // What is no message is refused by the SDK.
  if (!messages.every((message) => isJsonObject(message) && message.jsonrpc === '2.0')) return given;
  const id = idOf(posted);
  if (answers.some((answer) => String(answer.id) === String(id))) return given;
  const error = answers.find((answer) => isJsonObject(answer.error));
  if (error !== undefined) return messages.map((message) => (message === error ? { ...error, id } : message));
  const ids = answers.map((answer) => JSON.stringify(answer.id ?? null)).join(', ');
  const words = ids === '' ? 'it answers nothing' : `it has the id ${ids}, not that of the request`;
  throw new SdkError(SdkErrorCode.InvalidResult, words);
}

/** Whether a request has the id, without parsing it: our own begin with it, and those of the SDK's client end with it. */
function hasId(posted: string, id: Json): boolean {
  const written = `"jsonrpc":"2.0","id":${JSON.stringify(id)}`;
  return posted.startsWith(`{${written},`) || posted.endsWith(`,${written}}`);
}

function idOf(posted: string): Json {
  const { id = null } = JSON.parse(posted) as JsonObject;
  return id;
}
