/**
 * Cuts a stream of bytes into lines without ever holding more than one line's cap: what is left of a chunk is kept as
 * it came and joined once, when its line ends, so that a long line costs no more than its bytes. Knows nothing of JSON
 * or of processes.
 * @see LIF-9 in docs/specification.md
 */

export interface LineReader {
  /** Hands each whole line on; false once a line is longer than the cap, and from then on. */
  push(chunk: Buffer): boolean;
}

const lineFeed = 0x0a;

export function createLineReader(maxLineBytes: number, onLine: (line: Buffer) => void): LineReader {
  let parts: Buffer[] = [];
  let bytes = 0;
  let overflowed = false;

  const keep = (part: Buffer): boolean => {
    bytes += part.length;
    overflowed = bytes > maxLineBytes;
    if (overflowed) parts = [];
    else if (part.length > 0) parts.push(part);
    return !overflowed;
  };

  return {
    push: (chunk) => {
      if (overflowed) return false;
      let from = 0;
      for (;;) {
        const end = chunk.indexOf(lineFeed, from);
        if (!keep(chunk.subarray(from, end === -1 ? undefined : end))) return false;
        if (end === -1) return true;
        const line = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
        parts = [];
        bytes = 0;
        from = end + 1;
        onLine(line);
      }
    },
  };
}
