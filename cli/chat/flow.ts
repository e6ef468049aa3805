/**
 * Lets a text that comes in pieces flow into a terminal's width: a line ends between words, never within one. All of it is
 * shown at once; a word that grows past the edge is taken back and stands on the next line. Code between fences keeps its
 * lines. Knows no terminal.
 * @see CLI-4 in docs/specification.md
 */

export interface Flow {
  /** What to write so that the text so far is shown. */
  push(text: string): string;
  /** The next text begins a line. */
  begin(): void;
}

const unseen = /^(?:\p{M}|[\u200b\u200c]|\u200d|\ufe0e|\ufe0f)$/u;
/** Scripts that stand in two cells and need no space to end a line at. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;
const picture = /^\p{Emoji_Presentation}$/u;
/** They belong to the word before them. */
const closing = /^[、。，．！？：；）」』】》〉]$/u;
const fence = '```';
const tab = 8;
const clearToEnd = '\u001b[K';

/** How many cells of a terminal a character takes. */
export function cellsOf(character: string): number {
  if (character === '\t') return tab;
  if (unseen.test(character)) return 0;
  return wide.test(character) || picture.test(character) ? 2 : 1;
}

export function createFlow(columns: () => number): Flow {
  /** Cells that are taken on this line, and on it before the word that may still grow. */
  let column = 0;
  let start = 0;
  let word = '';
  /** No word stands before it on its line. */
  let isFirst = true;
  /** Spaces that are shown where a word follows on the same line. */
  let gap = '';
  let isWide = false;
  /** How the line begins, for as long as a fence is. */
  let head = '';
  let isFenced = false;

  /** A further part of the word. The last cell stays free: what stands in it cannot be taken back. */
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

  /** The terminal itself continues below with what is longer than a line. */
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
    push(text) {
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
    begin() {
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
