/**
 * Limits the body of an answer: one message must fit in memory, either a complete plain answer or one event of a stream, and
 * must not take the parser seconds. A stream itself may be endless. Counts bytes and values and looks for the blank lines
 * that end an event.
 * @see LIF-13 and LIF-14 in docs/specification.md
 * @see [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream)
 */

import { deepestRead } from '../../machines/base/read-json.ts';
import { ConnectError } from './connect-errors.ts';
import type { TurnShare } from './turn-share.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
/** The brackets that open and close a list or an object. */
const openings = [0x5b, 0x7b];
const closings = [0x5d, 0x7d];
/** 1 for each byte that `valuesOfMessage` reads; most are passed over, which halves its time. */
const isRead = new Uint8Array(256);
for (const byte of [lineFeed, carriageReturn, quote, backslash, comma, ...openings, ...closings]) isRead[byte] = 1;
/** A result of as many characters as a caller gets by default has no more values. */
export const maxValues = 1_000_000;
/** Lines of a stream that are passed on in one piece. */
const linesTogether = 16;

export interface BodyBounds {
  readonly maxBytes: number;
  /** Called once if the body is longer. */
  readonly exceeded?: () => void;
  /** Called once when the body was read, failed or was cancelled; at once if there is none. */
  readonly ended: () => void;
  /** The server's share of each turn, which an event stream uses. */
  readonly share?: TurnShare;
  /** Called with each chunk before it is passed on. */
  readonly passes?: (chunk: Uint8Array) => void;
}

/** Returns the response itself if it has no body; rejects if its declared length is too long. */
export async function boundBody(
  response: Response,
  { maxBytes, exceeded, ended: report, share, passes }: BodyBounds,
): Promise<Response> {
  const { body, headers, status, statusText } = response;
  let hasEnded = false;
  // Cancelling during a read reports the end twice.
  const ended = (): void => {
    if (!hasEnded) report();
    hasEnded = true;
  };
  if (body === null) {
    ended();
    return response;
  }
  const isStream = (headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
  const oversized = (message: string): Error => {
    exceeded?.();
    return new ConnectError({ kind: 'oversized', message });
  };
  const tooLong = () =>
    oversized(`${isStream ? 'an event of its stream' : 'its answer'} has more than ${maxBytes} bytes`);
  const tooMany = () =>
    oversized(`a message of it has more than ${maxValues} values, or is nested more than ${deepestRead} deep`);
  if (!isStream && Number(headers.get('content-length')) > maxBytes) {
    ended();
    await body.cancel();
    throw tooLong();
  }
  const isReadable = maxBytes === Number.POSITIVE_INFINITY ? () => true : valuesOfMessage(isStream);
  const bytesAfter = maxBytes === Number.POSITIVE_INFINITY ? () => 0 : isStream ? bytesOfEvent() : bytesOfAll();
  const reader = body.getReader();
  /** The part of a chunk that has not been passed on yet. */
  let rest: Uint8Array = new Uint8Array();
  const counted = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          if (rest.length === 0) {
            const { done, value } = await reader.read();
            if (done) {
              controller.close();
              ended();
              return;
            }
            if (bytesAfter(value) > maxBytes) throw tooLong();
            if (!isReadable(value)) throw tooMany();
            passes?.(value);
            rest = value;
          }
          const length = isStream && share !== undefined ? lengthOfLines(rest, linesTogether) : rest.length;
          controller.enqueue(rest.subarray(0, length));
          rest = rest.subarray(length);
          if (isStream && share?.spend(linesTogether) === false) await new Promise<void>((go) => share.next(go));
        } catch (thrown) {
          ended();
          controller.error(thrown);
          await reader.cancel().catch(() => {});
        }
      },
      cancel(reason) {
        ended();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(counted, { headers, status, statusText });
}

/** Bytes of the first `lines` lines of a chunk; all of it if it has fewer. */
function lengthOfLines(chunk: Uint8Array, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    const end = chunk.indexOf(lineFeed, at);
    if (end === -1) return chunk.length;
    at = end + 1;
  }
  return at;
}

/** Returns the bytes so far, after each chunk. */
type ByteCount = (chunk: Uint8Array) => number;

function bytesOfAll(): ByteCount {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    return bytes;
  };
}

/** A line ends with a line feed, a carriage return or both. */
const blankLines = ['\n\n', '\r\r', '\n\r\n'];
const maxBlankLength = 3;

/** Counts from the last blank line, which may span two chunks. */
function bytesOfEvent(): ByteCount {
  let bytes = 0;
  let before = Buffer.alloc(0);
  return (chunk) => {
    const text = Buffer.concat([before, chunk]);
    const ends = blankLines.map((blank) => {
      const at = text.lastIndexOf(blank, undefined, 'latin1');
      return at === -1 ? -1 : at + blank.length;
    });
    const end = Math.max(...ends);
    bytes = end > before.length ? text.length - end : bytes + chunk.byteLength;
    before = Buffer.from(text.subarray(-(maxBlankLength - 1)));
    return bytes;
  };
}

/**
 * Returns after each chunk whether the message has few enough values and is not nested too deep. Reads only the characters of
 * JSON that are outside of strings, which end with their line. A line of a stream closes nothing that lines before it have
 * opened: it may be a comment.
 */
function valuesOfMessage(isStream: boolean): (chunk: Uint8Array) => boolean {
  let values = 0;
  let depth = 0;
  /** How much the lines before have opened. */
  let least = 0;
  let quoted = false;
  /** Of the chunk before: whether a backslash ended it, the bytes of its last line, and its last byte. */
  let escaped = false;
  let lineBytes = 0;
  let last = 0;
  return (chunk) => {
    let lineStart = -lineBytes;
    let at = escaped && !endsLine(chunk[0]) ? 1 : 0;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (isRead[byte] === 0) continue;
      if (endsLine(byte)) {
        const isBlank = at === lineStart;
        lineStart = at + 1;
        quoted = false;
        // CR LF ends one line.
        if (!isStream || (byte === lineFeed && (at === 0 ? last : chunk[at - 1]) === carriageReturn)) continue;
        if (isBlank) values = 0;
        depth = least = isBlank ? 0 : Math.max(least, depth);
      } else if (byte === quote) quoted = !quoted;
      else if (!quoted && byte === comma) values += 1;
      else if (!quoted && closings.includes(byte)) depth -= 1;
      else if (!quoted && openings.includes(byte)) {
        values += 1;
        depth += 1;
      } else if (quoted && byte === backslash && !endsLine(chunk[at + 1])) at += 1;
      if (values > maxValues || depth > deepestRead) return false;
    }
    escaped = at > chunk.length;
    lineBytes = chunk.length - lineStart;
    last = chunk.at(-1) ?? last;
    return true;
  };
}

const endsLine = (byte: number | undefined): boolean => byte === lineFeed || byte === carriageReturn;
