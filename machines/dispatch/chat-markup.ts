/**
 * Writes the headings and the bold text of Markdown, in which agents respond, as chats do that know `*bold*` alone. Code is
 * left unchanged, and so is everything else: a link keeps its address in sight.
 * @see [Slack's markup](https://docs.slack.dev/messaging/formatting-message-text)
 * @see DLV-4 in docs/specification.md
 */

import { fencesOf } from './split-text.ts';

const heading = /^ {0,3}#{1,6}[ \t]+(?=\S)/;
const codeSpan = /(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/;
/** A code span, or bold text. Chats read a star only beside a space or a mark, so that `2**3**4` and `**options` stay. */
const spanOrBold = new RegExp(
  `${codeSpan.source}|(?<![\\p{L}\\p{N}*\\\\])\\*\\*(?=[^\\s*])((?:\`[^\`]*\`|[^*\`])+?)(?<![\\s\\\\])\\*\\*(?![\\p{L}\\p{N}*])`,
  'gu',
);
const spanOrStar = new RegExp(`${codeSpan.source}|\\*`, 'g');
/** Of a longer line a search could take long. */
const maxLineLength = 4_000;

const anyLength = { max: Number.POSITIVE_INFINITY, unit: 'utf16' } as const;

export function withSingleStars(text: string): string {
  let changed = '';
  let at = 0;
  for (const { start, end } of fencesOf(text, anyLength)) {
    changed += proseOf(text.slice(at, start)) + text.slice(start, end);
    at = end;
  }
  return changed + proseOf(text.slice(at));
}

/** Writes the fences of code blocks as `mark`, a line that begins and ends such a block in wikis. */
export function withFencesAs(mark: string, text: string): string {
  let changed = '';
  let at = 0;
  for (const { start, contentStart, closeStart, end } of fencesOf(text, anyLength)) {
    const content = text.slice(contentStart, closeStart).replace(/[^\n]$/, '$&\n');
    changed += `${text.slice(at, start)}${mark}\n${content}${mark}${closeStart < end && text[end - 1] === '\n' ? '\n' : ''}`;
    at = end;
  }
  return changed + text.slice(at);
}

function proseOf(text: string): string {
  return text.split('\n').map(lineOf).join('\n');
}

function lineOf(line: string): string {
  if (line.length > maxLineLength || !/[*#]/.test(line)) return line;
  const [mark] = heading.exec(line) ?? [];
  if (mark === undefined)
    return line.replace(spanOrBold, (span, _, words?: string) => (words === undefined ? span : `*${words}*`));
  const title = withoutClosing(line.slice(mark.length).trimEnd());
  return `*${title.replace(spanOrStar, (part) => (part === '*' ? '' : part))}*${line.endsWith('\r') ? '\r' : ''}`;
}

/** A title without the number signs that may end it. By hand, as a pattern would take long for a line of blanks. */
function withoutClosing(title: string): string {
  let end = title.length;
  while (title[end - 1] === '#') end -= 1;
  return /\s/.test(title[end - 1] ?? '') ? title.slice(0, end).trimEnd() : title;
}
