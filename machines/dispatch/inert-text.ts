/**
 * Disarms text for platforms that interpret more than words: mentions, templates, tags and entities are shown as written and
 * have no effect. An invisible word joiner breaks their syntax. Each target applies what its platform interprets.
 * @see DLV-4 in docs/specification.md
 */

import { closesFence } from './split-text.ts';

const wordJoiner = '\u2060';

/**
 * An `@`, or an HTML entity for it, that could begin a mention: not in an address, not before a space. After a letter
 * beyond ASCII, GitHub and GitLab read one, as in 请@ada. Telegram reads an entity without its semicolon too.
 */
const mention = /(?<![A-Za-z\d])(?:@|&(?:#0*64(?!\d)|#[xX]0*40(?![\da-fA-F])|commat(?=;))(?:;|(?!;)))(?![ \t\r\n]|$)/gu;

/**
 * Breaks every mention.
 *
 * @param codeUpTo a text up to this length, in UTF-16 units, keeps its code unchanged. A longer one is split into messages,
 *   and a split can turn code into prose. 0 if the platform reads mentions in code too.
 */
export function withoutMentions(text: string, codeUpTo = 0): string {
  const spared = text.length <= codeUpTo ? outsideCode(text, breakMentions) : undefined;
  return spared !== undefined && spared.length <= codeUpTo ? spared : breakMentions(text);
}

function breakMentions(text: string): string {
  return text.replace(mention, `$&${wordJoiner}`);
}

/** Breaks the delimiters of Jinja: `{{`, `{%` and `{#`. */
export function withoutTemplates(text: string): string {
  return text.replace(/\{(?=[{%#])/g, `{${wordJoiner}`);
}

/** Breaks a text that consists only of one of `words`, a pattern. */
export function withoutCommand(text: string, words: RegExp): string {
  return words.test(text.trim()) ? `${text}${wordJoiner}` : text;
}

/** Breaks opening and closing tags whose content begins with one of `names`, a pattern. */
export function withoutTags(text: string, names: string): string {
  return text.replace(new RegExp(`<(?=/?(?:${names}))`, 'gi'), `<${wordJoiner}`);
}

/** Breaks lines that GitLab would run as quick actions: a slash and a letter after optional spaces. */
export function withoutQuickActions(text: string): string {
  return text.replace(/^([^\S\r\n]*\/)(?=\p{L})/gmu, `$1${wordJoiner}`);
}

/** Breaks links that contain one of `places`, a pattern, right after it. */
export function withoutLinks(text: string, places: string): string {
  return text.replace(new RegExp(`(?:${places})(?=/)`, 'gi'), `$&${wordJoiner}`);
}

/** Breaks Jira markup at its opening character: mentions and links at `[`, macros at `{`, pictures at `!`. */
export function withoutWikiMarkup(text: string): string {
  return text.replace(/[[{](?=\S)|!(?=[^\s!|]+(?:\|[^\n!]*)?!)/g, `$&${wordJoiner}`);
}

/** Escapes the three characters that begin markup as entities; the unit `entities` in `split-text.ts` counts the same. */
export function withEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const fenceOpening = /^(`{3,8}(?=[^`]*$)|~{3,8})/;
const maxFenceLineLength = 100;
const maxSpanLineLength = 2_000;
/** HTML blocks that do not end at an empty line and in which code marks have no meaning (CommonMark §4.6, types 1 to 5). */
const openEndedHtml = /<(?:pre|script|style|textarea|[!?])/i;

/**
 * Changes everything that is not certainly code: fences at the beginning of a line, and spans in lines without conflicting
 * Markdown. In doubt a text is prose, because a platform that parses it differently would read a mention in it.
 */
function outsideCode(text: string, change: (prose: string) => string): string {
  let fence: string | undefined;
  /** After a fence that only some parsers recognize, or unclosed HTML, everything is prose. */
  let isCertain = true;
  let hasTags = false;
  let spansAreClosed = true;
  return text
    .split(/(?<=\r\n|\n|\r(?!\n))/)
    .map((line) => {
      const bare = line.replace(/[ \t\r\n]+$/, '');
      if (fence !== undefined) {
        if (closesFence(bare, fence)) fence = undefined;
        return line;
      }
      if (bare === '') {
        hasTags = false;
        spansAreClosed = true;
        return line;
      }
      fence = isCertain && !hasTags && bare.length <= maxFenceLineLength ? fenceOpening.exec(bare)?.[1] : undefined;
      if (fence !== undefined) {
        spansAreClosed = true;
        return line;
      }
      isCertain &&= !/```|~~~/.test(bare) && !openEndedHtml.test(bare);
      hasTags ||= bare.includes('<');
      const spans = isCertain && !hasTags && spansAreClosed ? spansOf(line) : undefined;
      spansAreClosed &&= spans !== undefined;
      // Every second part is code.
      return spans === undefined
        ? change(line)
        : spans.map((part, at) => (at % 2 === 0 ? change(part) : part)).join('');
    })
    .join('');
}

/** Alternating prose and code spans; undefined if a span is not closed, or other syntax might take precedence. */
function spansOf(line: string): string[] | undefined {
  if (!line.includes('`')) return [line];
  if (line.length > maxSpanLineLength || /[\\|]/.test(line)) return undefined;
  const parts: string[] = [];
  let at = 0;
  for (const found of line.matchAll(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g)) {
    parts.push(line.slice(at, found.index), found[0]);
    at = found.index + found[0].length;
  }
  parts.push(line.slice(at));
  return parts.some((part, index) => index % 2 === 0 && part.includes('`')) ? undefined : parts;
}
