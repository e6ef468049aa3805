/**
 * Limits the body of an answer: one message must fit in memory, either a complete plain answer or one event of a stream.
 * A stream itself may be endless. Counts bytes and looks for the blank lines that end an event.
 * @see LIF-13 in docs/specification.md
 * @see [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream)
 */

import type { TurnShare } from './turn-share.ts';

const lineFeed = 0x0a;
/** Lines of a stream that are passed on in one piece. */
const linesTogether = 16;

export interface BodyBounds {
  readonly maxBytes: number;
  /** Named in the error. */
  readonly who: string;
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
  { maxBytes, who, exceeded, ended: tell, share, passes }: BodyBounds,
): Promise<Response> {
  const { body, headers, status, statusText } = response;
  let hasEnded = false;
  // Cancelling during a read reports the end twice.
  const ended = (): void => {
    if (!hasEnded) tell();
    hasEnded = true;
  };
  if (body === null) {
    ended();
    return response;
  }
  const isStream = (headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
  const tooLong = (): Error => {
    exceeded?.();
    return new Error(`${who}: answers with ${isStream ? 'an event of ' : ''}more than ${maxBytes} bytes`);
  };
  if (!isStream && Number(headers.get('content-length')) > maxBytes) {
    ended();
    await body.cancel();
    throw tooLong();
  }
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
const longestBlank = 3;

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
    before = Buffer.from(text.subarray(-(longestBlank - 1)));
    return bytes;
  };
}
