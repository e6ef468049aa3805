/**
 * Makes a text harmless for platforms that read more than words in it: mentions, templates, tags and entities are shown as
 * they were written and do nothing. A word joiner, which no reader sees, breaks what would be read. Knows no platform; each
 * target applies what its platform reads.
 * @see DLV-4 in docs/specification.md
 */

const wordJoiner = '\u2060';

/** An `@`, or an HTML entity for it, where a mention could begin: not in an address, not before a space. */
const mention = /(?<![\p{L}\p{N}])(?:@|&(?:#0*64|#x0*40|commat);)(?![ \t\r\n]|$)/giu;

/**
 * Breaks every mention.
 *
 * @param codeUpTo a text that is no longer than this, in UTF-16 units, keeps its code as it is. A longer one is cut into
 *   messages, and a cut can turn code into prose. 0 where the platform reads mentions in code too.
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

/** Breaks a text that is one of `words`, a pattern, and nothing else. */
export function withoutCommand(text: string, words: RegExp): string {
  return words.test(text.trim()) ? `${text}${wordJoiner}` : text;
}

/** Breaks tags whose content begins with one of `names`, a pattern; a closing tag too. */
export function withoutTags(text: string, names: string): string {
  return text.replace(new RegExp(`<(?=/?(?:${names}))`, 'gi'), `<${wordJoiner}`);
}

/** Breaks lines that GitLab would run as commands: a slash and a letter after nothing but spaces. */
export function withoutQuickActions(text: string): string {
  return text.replace(/^([^\S\r\n]*\/)(?=\p{L})/gmu, `$1${wordJoiner}`);
}

/** Breaks addresses that contain one of `places`, a pattern, after it. */
export function withoutLinks(text: string, places: string): string {
  return text.replace(new RegExp(`(?:${places})(?=/)`, 'gi'), `$&${wordJoiner}`);
}

/** Breaks what Jira's markup begins with a bracket: mentions and links as `[`, macros as `{`, pictures as `!`. */
export function withoutWikiMarkup(text: string): string {
  return text.replace(/[[{](?=\S)|!(?=[^\s!|]+(?:\|[^\n!]*)?!)/g, `$&${wordJoiner}`);
}

/** Writes the three characters that begin markup as entities; `entities` in `split-text.ts` counts the same. */
export function withEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const fenceOpening = /^(`{3,8}(?=[^`]*$)|~{3,8})/;
const longestFenceLine = 100;
const longestSpanLine = 2_000;
/** HTML that does not end with an empty line, in which code is no code (CommonMark §4.6, types 1 to 5). */
const openEndedHtml = /<(?:pre|script|style|textarea|[!?])/i;

/**
 * Changes what is not code for certain: fences that begin a line, and spans within lines that hold nothing else of
 * Markdown's first order. In doubt a text is prose, since a platform that disagrees would read a mention in it.
 */
function outsideCode(text: string, change: (prose: string) => string): string {
  let fence: string | undefined;
  /** After a fence that only some parsers see, or HTML without an end, everything is prose. */
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
      fence = isCertain && !hasTags && bare.length <= longestFenceLine ? fenceOpening.exec(bare)?.[1] : undefined;
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

function closesFence(bare: string, fence: string): boolean {
  const marks = bare.replace(/^ {1,3}/, '');
  return marks.length >= fence.length && marks === fence.charAt(0).repeat(marks.length);
}

/** Prose and code spans by turns; undefined where a span is open at the end, or something else might bind closer. */
function spansOf(line: string): string[] | undefined {
  if (!line.includes('`')) return [line];
  if (line.length > longestSpanLine || /[\\|]/.test(line)) return undefined;
  const parts: string[] = [];
  let at = 0;
  for (const found of line.matchAll(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g)) {
    parts.push(line.slice(at, found.index), found[0]);
    at = found.index + found[0].length;
  }
  parts.push(line.slice(at));
  return parts.some((part, index) => index % 2 === 0 && part.includes('`')) ? undefined : parts;
}
