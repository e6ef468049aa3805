/**
 * Lets a text that comes in pieces out word by word, clean: a word is held back until it is whole, for half a secret is
 * not known for one. A secret of several words is known only with its last. Knows no secret itself.
 * @see CLI-4 and OBS-1 in docs/specification.md
 */

export interface HeldText {
  /** What may be shown now. */
  push(piece: string): string;
  /** What was held back; begins anew. */
  flush(): string;
}

/** A line this long is let out as it is; nobody writes prose so. */
const longestLine = 4_096;

export function createHeldText(redact: (text: string) => string): HeldText {
  /** The line so far, and what of its clean text is out already. */
  let line = '';
  let out = '';

  /** What the clean text of a line's beginning adds to what is out. */
  function advance(upTo: number): string {
    const clean = redact(line.slice(0, upTo));
    // What a later word betrayed cannot be taken back; from where the two part, the clean one continues.
    let same = 0;
    while (same < out.length && clean[same] === out[same]) same += 1;
    const more = clean.slice(same < out.length ? same : out.length);
    out = clean;
    return more;
  }

  function endLine(): string {
    const more = advance(line.length);
    line = '';
    out = '';
    return more;
  }

  return {
    push(piece) {
      const shown: string[] = [];
      for (const part of piece.split(/(?<=\n)/)) {
        line += part;
        if (part.endsWith('\n') || line.length > longestLine) shown.push(endLine());
        else if (/\s/.test(part)) shown.push(advance(lastWordAt(line)));
      }
      return shown.join('');
    },
    flush: endLine,
  };
}

/** Where the last word of a line begins, found from its end: a pattern would try every place before it. */
function lastWordAt(line: string): number {
  let at = line.length;
  while (at > 0 && !/\s/.test(line.charAt(at - 1))) at -= 1;
  return at;
}
