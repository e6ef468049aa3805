/**
 * Releases streamed text word by word, redacted. A word is held back until it is complete, because half a secret is not
 * recognized; a secret of several words is recognized only at its last word.
 * @see CLI-4 and OBS-1 in docs/specification.md
 */

/** What ends a word, in scripts without spaces too. */
const border = /[\s\u3001\u3002\u3008-\u3011\uff01\uff0c\uff1a\uff1b\uff1f]/;
/** Longer lines are flushed without waiting for their last word; real prose never gets here. */
const maxLineLength = 4_096;

export function createHeldText(redact: (text: string) => string) {
  /** `line`: the current line so far; `out`: its redacted text that was already released. */
  let line = '';
  let out = '';

  /** Returns what the line's redacted beginning adds to the released text. */
  function advance(upTo: number): string {
    const clean = redact(line.slice(0, upTo));
    // Text released before a later word revealed a secret cannot be withdrawn; continue with the redacted text from there.
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
    /** Returns what can be shown now. */
    push(piece: string): string {
      const shown: string[] = [];
      for (const part of piece.split(/(?<=\n)/)) {
        line += part;
        if (part.endsWith('\n') || line.length > maxLineLength) shown.push(endLine());
        else if (border.test(part)) shown.push(advance(lastWordAt(line)));
      }
      return shown.join('');
    },
    /** Returns what was held back, and starts over. */
    flush: endLine,
  };
}

/** Where the last word of a line begins. Searches from the end: a pattern would try every position before it. */
function lastWordAt(line: string): number {
  let at = line.length;
  while (at > 0 && !border.test(line.charAt(at - 1))) at -= 1;
  return at;
}
