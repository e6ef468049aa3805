/**
 * Shows the source of a config.yaml line by line with secrets masked and references as written, even if the text is not
 * valid YAML. Lines whose meaning depends on a key above, such as block scalars or a server's headers, are masked by that
 * key.
 * @see CFG-2 and INS-4 in docs/specification.md
 */

import type { Pieces } from '../base/pieces.ts';
import { maskMark, maskSecrets, shortMasks, soundsSecret } from './diagnostic.ts';

const keyLine = /^(\s*(?:-\s+)*)["']?([\w-]+)["']?\s*:(.*)$/;
/** A key whose value is on the next lines: nothing, a tag or anchor, or a block scalar indicator. */
const opens = /^\s*(?:[!&]\S+\s*)*(?:[|>][-+\d]*)?\s*(?:#.*)?$/;
const openList = /^\s*\[[^\]]*$/;
/** A flag at the end of a line; the next line begins with its value, unless that is a flag too. */
const flagItem = /^\s*-\s+["']?--?([\w-]+)["']?\s*(?:\s#.*)?$/;
const flagMember = /(?<![\w-])--?([\w-]+)["']?\s*,\s*(?:#.*)?$/s;
const itemLine = /^\s*-\s+(?!\s|["']?-)/;
const isEmptyLine = /^\s*(?:#|$)/;
/** Headers in flow style, on one line. */
const flowHeaders = /(\bheaders["']?\s*:\s*\{)((?:\$\{[^{}]*\}|[^{}])*)/g;
/** Hides every character except references, quotes, brackets and separators. */
const shown = /(\$\{[\w:]+\}|[\s"'[\]{},])|[^\s"'[\]{},]/gu;

/** A few milliseconds of lines. */
const linesInPiece = 256;

export function* maskingSource(text: string): Pieces<readonly string[]> {
  return (yield* markingLines(text.split(/\r?\n/))).map(shortMasks);
}

/** The lines with a mark for each hidden character, so that columns stay. */
export function* markingLines(lines: readonly string[]): Pieces<readonly string[]> {
  /** The margin of the key whose lines below are secret, and whether those lines are headers with their own keys. */
  let above: { readonly margin: number; readonly kind: 'value' | 'headers' } | undefined;
  let flagAbove: 'item' | 'member' | undefined;
  const marked = (line: string): string => {
    const isEmpty = isEmptyLine.test(line);
    const below = isEmpty ? undefined : flagAbove;
    if (!isEmpty) flagAbove = flagAtEnd(line);
    const margin = line.search(/\S/);
    if (margin < 0) return line;
    if (above !== undefined && (margin < above.margin || (margin === above.margin && !/^\s*-/.test(line)))) {
      above = undefined;
    }
    if (above?.kind === 'value') return hidden(line);
    if (below === 'item' && itemLine.test(line)) {
      // A text of several lines is indented more than its dash.
      above = { margin: margin + 1, kind: 'value' };
      return line.slice(0, margin + 1) + hidden(line.slice(margin + 1));
    }
    const [, before = '', name = '', value = ''] = keyLine.exec(line) ?? [];
    const head = line.slice(0, line.length - value.length);
    if (above?.kind === 'headers') return name === '' ? hidden(line) : head + hidden(value);
    const isSecret = soundsSecret.test(name);
    if ((name === 'headers' || isSecret) && opens.test(value)) {
      above = { margin: before.length, kind: name === 'headers' ? 'headers' : 'value' };
      return line;
    }
    if (isSecret && openList.test(value)) {
      above = { margin: before.length, kind: 'value' };
      return head + hidden(value);
    }
    const flag = below === 'member' ? '--token, ' : '';
    const masked = line.slice(0, margin) + maskSecrets(flag + line.slice(margin)).slice(flag.length);
    return masked.replace(flowHeaders, (_, open: string, held: string) => open + hiddenPairs(held));
  };
  const all: string[] = [];
  for (const line of lines) {
    all.push(marked(line));
    if (all.length % linesInPiece === 0) yield undefined;
  }
  return all;
}

function flagAtEnd(line: string): 'item' | 'member' | undefined {
  if (soundsSecret.test(flagItem.exec(line)?.[1] ?? '')) return 'item';
  return soundsSecret.test(flagMember.exec(line)?.[1] ?? '') ? 'member' : undefined;
}

function hiddenPairs(text: string): string {
  return text.replace(/(:\s*)((?:\$\{[^{}]*\}|[^,])+)/g, (_, colon: string, held: string) => colon + hidden(held));
}

function hidden(text: string): string {
  return text.replace(shown, (one: string, kept?: string) => kept ?? maskMark.repeat(one.length));
}
