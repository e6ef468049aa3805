/** Cuts a stream of bytes into lines, up to a length; a longer one is reported once and the rest is dropped. */

export interface LineSplitter {
  add(chunk: Buffer): void;
}

export function createLineSplitter(longest: number, line: (text: string) => void, overflow: () => void): LineSplitter {
  let waiting: Buffer[] = [];
  let size = 0;
  return {
    add(chunk) {
      let rest = chunk;
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const text = Buffer.concat([...waiting, rest.subarray(0, end)]).toString('utf8');
        waiting = [];
        size = 0;
        rest = rest.subarray(end + 1);
        if (text.trim() !== '') line(text);
      }
      if (rest.length === 0) return;
      size += rest.length;
      if (size > longest) {
        waiting = [];
        size = 0;
        overflow();
        return;
      }
      waiting.push(rest);
    },
  };
}
