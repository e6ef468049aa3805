/**
 * Wraps text that arrives in pieces to the terminal's width: lines break between words, never inside one. All text is shown
 * at once; a word that grows past the edge is erased and moved to the next line. Fenced code keeps its lines. Does no I/O.
 * @see CLI-4 in docs/specification.md
 */

const unseen = /^(?:\p{M}|[\u200b\u200c]|\u200d|\ufe0e|\ufe0f)$/u;
/** Characters that take two cells and allow a line break beside them without a space. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;
const picture = /^\p{Emoji_Presentation}$/u;
/** Closing punctuation, which stays with the word before it. */
const closing = /^[、。，．！？：；）」』】》〉]$/u;
const fence = '```';
const tab = 8;
const clearToEnd = '\u001b[K';

/** How many terminal cells a character takes. */
export function cellsOf(character: string): number {
  if (character === '\t') return tab;
  if (unseen.test(character)) return 0;
  return wide.test(character) || picture.test(character) ? 2 : 1;
}

export function createFlow(columns: () => number) {
  /** `column`: cells used on this line; `start`: cells used before the current, still growing word. */
  let column = 0;
  let start = 0;
  let word = '';
  /** Whether the current word is the first on its line. */
  let isFirst = true;
  /** Pending spaces, written only if a word follows on the same line. */
  let gap = '';
  let isWide = false;
  /** The first characters of the line, up to the length of a fence. */
  let head = '';
  let isFenced = false;

  /** Adds a part to the current word. The last cell stays free: the terminal could not erase what is written there. */
  function grown(part: string): string {
    if (part === '') return '';
    const before = column === start ? lengthOf(gap) : 0;
    const end = column + before + lengthOf(part);
    if (!isFenced && !isFirst && end > columns() - 1) {
      const back = column - start;
      const text = `${'\b'.repeat(back)}${back > 0 ? clearToEnd : ''}\n${word}${part}`;
      advance(lengthOf(word + part), 0);
      word += part;
      gap = '';
      isFirst = true;
      return text;
    }
    const text = before > 0 ? gap + part : part;
    advance(end, start + before);
    word += part;
    gap = '';
    return text;
  }

  /** The terminal itself wraps a word that is longer than a line. */
  function advance(end: number, from: number): void {
    column = end <= columns() ? end : ((end - 1) % columns()) + 1;
    start = from;
  }

  function endWord(): void {
    if (word !== '') isFirst = false;
    start = column;
    word = '';
    isWide = false;
  }

  function begin(): void {
    column = 0;
    endWord();
    isFirst = true;
    gap = '';
    head = '';
  }

  return {
    /** Returns what to write so that the text so far is shown. */
    push(text: string): string {
      let shown = '';
      let part = '';
      for (const character of text) {
        const isSpace = character === ' ' || character === '\t' || character === '\n';
        const breaks = wide.test(character) || (isWide && cellsOf(character) > 0);
        if (isSpace || (breaks && !closing.test(character))) {
          shown += grown(part);
          part = '';
          endWord();
        }
        if (character === '\n') {
          shown += '\n';
          if (head === fence) isFenced = !isFenced;
          begin();
        } else if (isSpace) gap += character;
        else {
          part += character;
          isWide = wide.test(character);
          if (head.length < fence.length) head += character;
        }
      }
      return shown + grown(part);
    },
    /** Marks that the next text begins a new line. */
    begin(): void {
      begin();
      isFenced = false;
    },
  };
}

function lengthOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += cellsOf(character);
  return cells;
}
