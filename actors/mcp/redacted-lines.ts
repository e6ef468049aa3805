/**
 * Hands on what a child writes line by line, each without its secrets: one may come in two pieces, so the line under way is
 * held until it ends. Of a line without end only its last part is held. Writes nothing and knows no secret.
 * @see OBS-1 and LIF-10 in docs/specification.md
 */

export interface RedactedLines {
  /** Takes bytes; returns those that are fit to be written. */
  add(bytes: Buffer): Buffer;
  /** What is held of a line that has not ended, fit to be written. */
  rest(): Buffer;
  /** Forgets what is held; returns how many bytes that were. */
  forget(): number;
  readonly heldBytes: number;
}

const lineFeed = 0x0a;
/** A line is held whole up to here. */
const longestLine = 16_384;
/** No secret without a line end is longer. */
const longestSecret = 4_096;

export function createRedactedLines(redact: (line: string) => string): RedactedLines {
  let held: Buffer = Buffer.alloc(0);

  /** Lines that have ended, each with its end. */
  function whole(bytes: Buffer): Buffer {
    const lines = bytes.toString('utf8').split('\n');
    return Buffer.from(lines.map((line) => (line === '' ? line : redact(line))).join('\n'));
  }

  return {
    add(bytes) {
      const end = bytes.lastIndexOf(lineFeed) + 1;
      const ended = end === 0 ? [] : [whole(Buffer.concat([held, bytes.subarray(0, end)]))];
      // A copy, for a piece of a chunk keeps the whole of it in memory.
      held = end === 0 ? Buffer.concat([held, bytes]) : Buffer.from(bytes.subarray(end));
      if (held.length > longestLine) {
        const seam = seamOf(held, redact);
        ended.push(whole(held.subarray(0, seam)));
        held = Buffer.from(held.subarray(seam));
      }
      return Buffer.concat(ended);
    },
    rest() {
      const rest = whole(held);
      held = Buffer.alloc(0);
      return rest;
    },
    forget() {
      const bytes = held.length;
      held = Buffer.alloc(0);
      return bytes;
    },
    get heldBytes() {
      return held.length;
    },
  };
}

/** Where a line may be cut in two: not through a character, nor through anything that is redacted. */
function seamOf(line: Buffer, redact: (text: string) => string): number {
  const clean = redact(line.toString('utf8'));
  const last = line.length - longestSecret;
  for (let at = last; at > 0; at -= longestSecret / 8) {
    let seam = at;
    while (seam > 0 && ((line[seam] ?? 0) & 0xc0) === 0x80) seam -= 1;
    const [before, after] = [line.toString('utf8', 0, seam), line.toString('utf8', seam)];
    if (redact(before) + redact(after) === clean) return seam;
  }
  return line.length;
}
