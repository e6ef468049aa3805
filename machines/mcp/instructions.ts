/**
 * Joins the instructions of several servers into one text for a model: each below a line that names its server, limited in
 * length, without invisible characters, and unable to imitate another server's.
 * @see CLI-5 and LIF-13 in docs/specification.md
 */

import { cut } from '../base/json.ts';
import { stripTags } from './strip-tags.ts';
import { toolPrefix } from './tool-name.ts';

const maxServerInstructions = 4_000;
/** The most characters of them that are read; more than may be kept, as invisible ones do not count. */
const maxReadInstructions = 4 * maxServerInstructions;
/** The most characters of all of them, including the lines that name the servers. */
export const maxInstructions = 32_000;

interface ServerInstructions {
  readonly server: string;
  readonly instructions: string;
}

const heading = '## mcp server';
/** Blanks are matched again only after `#`: two adjacent runs would take quadratic time. */
const headingLine = /^(?=[^\S\n]*(?:#+[^\S\n]*)?mcp server)/gimu;
/** How far before the cut a word boundary is searched; text without one is cut within a word. */
const maxWordLength = 200;
/** Room for the final remark. */
const reserve = 100;

export function joinInstructions(rows: readonly ServerInstructions[]): string | undefined {
  const sections: string[] = [];
  let length = 0;
  let left = 0;
  for (const { server, instructions } of rows) {
    const text = readable(instructions);
    if (text === '') continue;
    const section = `${heading} ${JSON.stringify(readable(server))}\nIts tools are named ${toolPrefix(server)}….\n\n${text}`;
    if (length + section.length + 2 > maxInstructions - reserve) {
      left += 1;
      continue;
    }
    length += section.length + 2;
    sections.push(section);
  }
  if (left > 0) sections.push(`[instructions of ${left} more servers left out: ${maxInstructions} characters in all]`);
  return sections.length === 0 ? undefined : sections.join('\n\n');
}

/** A server may send megabytes. One character more than is read shows that something is missing. */
export function boundInstructions(given: string): string {
  return cut(given, maxReadInstructions + 1);
}

/** Keeps lines and tabs; quotes a line that begins like the one that names a server. */
function readable(given: string): string {
  const looked = cut(given, maxReadInstructions);
  const clean = stripTags(looked)
    .replace(/\r\n?|[\u2028\u2029]/gu, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .trim();
  const kept = cut(clean, maxServerInstructions);
  const text = kept.replace(headingLine, '> ');
  const isWhole = looked === given && kept === clean && cut(text, maxServerInstructions) === text;
  return isWhole ? text : cutAtWord(text);
}

function cutAtWord(text: string): string {
  const mark = ` … [cut at ${maxServerInstructions} characters]`;
  const kept = cut(text, maxServerInstructions - mark.length);
  const end = kept.search(/\s\S*$/u);
  return `${end > kept.length - maxWordLength ? kept.slice(0, end).trimEnd() : kept}${mark}`;
}
