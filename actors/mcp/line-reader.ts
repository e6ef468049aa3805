/**
 * Splits a byte stream into lines while holding at most the cap of one line: the rest of a chunk is kept as it came and
 * joined once, when its line ends, so that a long line costs only its bytes. Reads as far as it may in one turn.
 * Recognizes a possible message by its first byte; blank lines are dropped. Parses nothing.
 * @see LIF-9 and LIF-14 in docs/specification.md
 */

export interface LineSink {
  /**
   * Receives a line that begins with a brace, without its line feed. Returns whether the next may be read in this turn.
   */
  line(line: Buffer): boolean;
  /** Receives other lines in one piece, each with its line feed. Returns the same. */
  rubbish(lines: Buffer, count: number): boolean;
}

/** `waiting`: the rest of the chunk is kept until `resume`. `overflowed`: a line is longer than the cap; final. */
export type ReadState = 'drained' | 'waiting' | 'overflowed';

export interface LineReader {
  /** Reads the next chunk; only while none is waiting. */
  push(chunk: Buffer): ReadState;
  /** Continues with the waiting chunk. */
  resume(): ReadState;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const tab = 0x09;
const openingBrace = 0x7b;
/** A brace behind a byte order mark, as latin1. */
const markedBrace = '\u00ef\u00bb\u00bf{';
/** Garbage lines passed on in one piece, so that a flood of them does not cost a call each. */
const maxTogether = 16;
const nothing = Buffer.alloc(0);

export function createLineReader(maxLineBytes: number, sink: LineSink): LineReader {
  /** The parts of an unfinished line. */
  let parts: Buffer[] = [];
  let bytes = 0;
  let chunk: Buffer = nothing;
  let at = 0;
  let overflowed = false;

  /** Keeps a part of a line; false if the line is too long. */
  function keep(part: Buffer): boolean {
    bytes += part.length;
    overflowed = bytes > maxLineBytes;
    if (overflowed) parts = [];
    else parts.push(part);
    return !overflowed;
  }

  /** Passes on the line that the parts form. */
  function finish(): boolean {
    const line = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    parts = [];
    bytes = 0;
    const first = firstByte(line, 0);
    if (first === line.length) return sink.rubbish(nothing, 1);
    return line[first] === openingBrace ? sink.line(line) : sink.rubbish(Buffer.concat([line, Buffer.of(lineFeed)]), 1);
  }

  /** Skips blank lines and returns their number. Then `at` is the start of a line that is not blank, or the end. */
  function skipBlank(): number {
    let blank = 0;
    for (let next = at; next < chunk.length; next += 1) {
      const byte = chunk[next];
      if (byte === lineFeed) {
        blank += 1;
        at = next + 1;
      } else if (byte !== space && byte !== carriageReturn && byte !== tab) break;
    }
    return blank;
  }

  /** Passes on the lines from `at` that are not messages; stops before any other. */
  function rubbish(): boolean {
    const from = at;
    let count = 0;
    while (count < maxTogether) {
      const first = firstByte(chunk, at);
      const end = first === chunk.length || chunk[first] === openingBrace ? -1 : chunk.indexOf(lineFeed, first);
      if (end === -1 || chunk[first] === lineFeed || end - at > maxLineBytes) break;
      count += 1;
      at = end + 1;
    }
    return sink.rubbish(chunk.subarray(from, at), count);
  }

  function read(): ReadState {
    let mayGoOn = true;
    while (at < chunk.length) {
      if (!mayGoOn) return 'waiting';
      if (bytes === 0) {
        const blank = skipBlank();
        if (blank > 0) {
          mayGoOn = sink.rubbish(nothing, blank);
          continue;
        }
      }
      const end = chunk.indexOf(lineFeed, at);
      const isWhole = bytes === 0 && end !== -1 && end - at <= maxLineBytes;
      if (isWhole && chunk[firstByte(chunk, at)] !== openingBrace) {
        mayGoOn = rubbish();
        continue;
      }
      const part = chunk.subarray(at, end === -1 ? undefined : end);
      at += part.length + 1;
      if (!keep(part)) return 'overflowed';
      if (end !== -1) mayGoOn = finish();
    }
    chunk = nothing;
    return mayGoOn ? 'drained' : 'waiting';
  }

  return {
    push(next) {
      if (overflowed) return 'overflowed';
      chunk = next;
      at = 0;
      return read();
    },
    resume: () => (overflowed ? 'overflowed' : read()),
  };
}

/**
 * The index of the first byte that is not whitespace, nor a byte order mark before a message, which .NET may write; the
 * length if there is none.
 */
function firstByte(line: Buffer, from: number): number {
  let at = from;
  if (line[at] === 0xef && line.toString('latin1', at, at + markedBrace.length) === markedBrace)
    return at + markedBrace.length - 1;
  while (at < line.length && (line[at] === space || line[at] === tab || line[at] === carriageReturn)) at += 1;
  return at;
}
