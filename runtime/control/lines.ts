/** Cuts a stream of bytes into lines, up to a length; a longer one is reported once and the rest is dropped. */

export function createLineSplitter(maxLength: number, line: (text: string) => void, overflow: () => void) {
  let waiting: Buffer[] = [];
  let size = 0;
  const put = (chunk: Buffer, from: number, end: number): void => {
    // Most lines are in one chunk. A blank one is skipped without decoding.
    if (waiting.length === 0 && isBlank(chunk, from, end)) return;
    const text =
      waiting.length === 0
        ? chunk.toString('utf8', from, end)
        : Buffer.concat([...waiting, chunk.subarray(from, end)]).toString('utf8');
    waiting = [];
    size = 0;
    if (text.trim() !== '') line(text);
  };
  return {
    add(chunk: Buffer): void {
      let from = 0;
      for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, from)) {
        put(chunk, from, end);
        from = end + 1;
        while (waiting.length === 0 && chunk[from] === lineEnd) from += 1;
      }
      if (from === chunk.length) return;
      size += chunk.length - from;
      if (size > maxLength) {
        waiting = [];
        size = 0;
        overflow();
        return;
      }
      waiting.push(chunk.subarray(from));
    },
  };
}

const lineEnd = 10;

/** Whether there are only spaces, tabs and carriage returns. */
function isBlank(chunk: Buffer, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) {
    const byte = chunk[at];
    if (byte !== 32 && byte !== 9 && byte !== 13) return false;
  }
  return true;
}
