/**
 * Passes on the output of a child line by line, with secrets removed: a secret may arrive in two pieces, so an unfinished
 * line is held until it ends. Of a very long line only the last part is held.
 * @see OBS-1 and LIF-10 in docs/specification.md
 */

const lineFeed = 0x0a;
/** Up to this length an unfinished line is held completely. */
const maxLineLength = 16_384;
/** Longest secret that does not contain a line end. */
const maxSecretLength = 4_096;

export function createRedactedLines(redact: (line: string) => string) {
  let held: Buffer = Buffer.alloc(0);

  /** Redacts complete lines, each with its end. */
  function whole(bytes: Buffer): Buffer {
    const lines = bytes.toString('utf8').split('\n');
    return Buffer.from(lines.map((line) => (line === '' ? line : redact(line))).join('\n'));
  }

  return {
    /** Adds bytes; returns the redacted ones that can be written. */
    add(bytes: Buffer): Buffer {
      const end = bytes.lastIndexOf(lineFeed) + 1;
      const ended = end === 0 ? [] : [whole(Buffer.concat([held, bytes.subarray(0, end)]))];
      // Copied, because a subarray would keep the complete chunk in memory.
      held = end === 0 ? Buffer.concat([held, bytes]) : Buffer.from(bytes.subarray(end));
      if (held.length > maxLineLength) {
        const seam = seamOf(held, redact);
        ended.push(whole(held.subarray(0, seam)));
        held = Buffer.from(held.subarray(seam));
      }
      return Buffer.concat(ended);
    },
    /** Returns the held part of the unfinished line, redacted. */
    rest(): Buffer {
      const rest = whole(held);
      held = Buffer.alloc(0);
      return rest;
    },
    /** Drops the held part; returns its length in bytes. */
    forget(): number {
      const bytes = held.length;
      held = Buffer.alloc(0);
      return bytes;
    },
    get heldBytes() {
      return held.length;
    },
  };
}

/** Where a line may be split: not inside a character, and not inside anything that is redacted. */
function seamOf(line: Buffer, redact: (text: string) => string): number {
  const clean = redact(line.toString('utf8'));
  const last = line.length - maxSecretLength;
  for (let at = last; at > 0; at -= maxSecretLength / 8) {
    let seam = at;
    while (seam > 0 && ((line[seam] ?? 0) & 0xc0) === 0x80) seam -= 1;
    const [before, after] = [line.toString('utf8', 0, seam), line.toString('utf8', seam)];
    if (redact(before) + redact(after) === clean) return seam;
  }
  return line.length;
}
