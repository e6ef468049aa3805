/**
 * What a model thinks, where its server leaves it in the text. It is no part of the answer.
 * @see DIS-3 and CLI-4 in docs/specification.md
 */

import type { ModelAnswer } from './model-talk.ts';

const opening = '<think>';
const closing = '</think>';
const thought = /^\s*<think>[\s\S]*?<\/think>\s*/;
/** The same where the opening tag is a part of the prompt, as in the templates of Qwen and DeepSeek. */
const begunThought = /^[\s\S]*?\n<\/think>\n\n\s*/;
/** White space before the opening tag; in front of more of it, the text is shown as it comes. */
const maxSpace = 100;

export function withoutThought({ text, reasoning }: Pick<ModelAnswer, 'text' | 'reasoning'>): string {
  if (text.includes(opening)) return text.replace(thought, '');
  const [begun = ''] = begunThought.exec(text) ?? [];
  // A server that sets thoughts apart leaves none here, and in a block of code the tag is what the answer is about.
  const isQuoted = (begun.match(/^ *(?:```|~~~)/gm) ?? []).length % 2 === 1;
  return (reasoning ?? '') !== '' || isQuoted ? text : text.slice(begun.length);
}

/** Takes the thought between its two tags out of an answer that is still being written. */
export function createThoughtFilter() {
  let stage: 'begins' | 'thinks' | 'thought' | 'answers' = 'begins';
  let held: string[] = [];
  /** The end of what is held, where a tag may have begun; to search all of it at each piece would take quadratic time. */
  let tail = '';

  function hold(piece: string, text: string): string {
    held.push(piece);
    tail = text;
    return '';
  }

  return {
    /** Returns what of the answer can be shown now. */
    push(piece: string): string {
      if (stage === 'answers') return piece;
      let text = tail + piece;
      if (stage === 'begins') {
        const begun = text.trimStart();
        if (opening.startsWith(begun) && text.length < maxSpace) return hold(piece, text);
        stage = begun.startsWith(opening) ? 'thinks' : 'answers';
      }
      if (stage === 'thinks') {
        const end = text.indexOf(closing);
        if (end < 0) return hold(piece, text.slice(1 - closing.length));
        stage = 'thought';
        text = text.slice(end + closing.length);
      }
      if (stage === 'thought') text = text.trimStart();
      if (text !== '') stage = 'answers';
      held = [];
      tail = '';
      return text;
    },
    /** Returns what was held back and is no complete thought, and starts over. */
    flush(): string {
      const rest = held.join('');
      held = [];
      tail = '';
      stage = 'begins';
      return rest;
    },
  };
}
