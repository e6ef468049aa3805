/**
 * Writes the headings and the bold text of Markdown, in which agents respond, as chats do that know `*bold*` alone. Code is
 * left unchanged, and so is everything else: a link keeps its address in sight.
 * @see [Slack's markup](https://docs.slack.dev/messaging/formatting-message-text)
 * @see DLV-4 in docs/specification.md
 */

import { fencesOf } from './split-text.ts';

const heading = /^ {0,3}#{1,6}[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*(\r?)$/;
const codeSpan = /(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/;
/** A code span, or bold text. Chats read a star only beside a space or a mark, so that `2**3**4` and `**options` stay. */
const spanOrBold = new RegExp(
  `${codeSpan.source}|(?<![\\p{L}\\p{N}*\\\\])\\*\\*(?=[^\\s*])((?:\`[^\`]*\`|[^*\`])+?)(?<![\\s\\\\])\\*\\*(?![\\p{L}\\p{N}*])`,
  'gu',
);
const spanOrStar = new RegExp(`${codeSpan.source}|\\*`, 'g');
/** Of a longer line a search could take long. */
const longestLine = 4_000;

export function withSingleStars(text: string): string {
  let changed = '';
  let at = 0;
  for (const { start, end } of fencesOf(text, { most: Number.POSITIVE_INFINITY, unit: 'utf16' })) {
    changed += proseOf(text.slice(at, start)) + text.slice(start, end);
    at = end;
  }
  return changed + proseOf(text.slice(at));
}

function proseOf(text: string): string {
  return text.split('\n').map(lineOf).join('\n');
}

function lineOf(line: string): string {
  if (line.length > longestLine || !/[*#]/.test(line)) return line;
  const [, title, end = ''] = heading.exec(line) ?? [];
  if (title === undefined)
    return line.replace(spanOrBold, (span, _, words?: string) => (words === undefined ? span : `*${words}*`));
  return `*${title.replace(spanOrStar, (part) => (part === '*' ? '' : part))}*${end}`;
}
