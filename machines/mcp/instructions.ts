/**
 * Puts the instructions of several servers together as one text for a model: each under a line that names its server, of
 * bounded length, without invisible characters, and unable to pose as another server's. Knows no session.
 * @see CLI-5 and LIF-13 in docs/specification.md
 */

import { cut } from '../base/json.ts';
import { stripTags } from './strip-tags.ts';
import { toolPrefix } from './tool-name.ts';

/** Characters of one server's instructions. */
export const maxServerInstructions = 4_000;
/** Characters of all of them, with the lines that name the servers. */
export const maxInstructions = 32_000;

export interface ServerInstructions {
  readonly server: string;
  readonly instructions: string;
}

const heading = '## mcp server';
/** Blanks are looked for again only behind signs: two runs side by side would take the square of their length. */
const headingLine = /^(?=[^\S\n]*(?:#+[^\S\n]*)?mcp server)/gimu;
/** A word is looked for this far back from the cut; an unbroken text is cut within. */
const longestWord = 200;
/** Room for the last line. */
const reserve = 100;

/** Returns the text; undefined where no server has any. */
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

/** Lines and tabs stay; what begins like the line that names a server is quoted. */
function readable(given: string): string {
  // Only so much is looked at as may be kept.
  const looked = cut(given, 4 * maxServerInstructions);
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
  return `${end > kept.length - longestWord ? kept.slice(0, end).trimEnd() : kept}${mark}`;
}
