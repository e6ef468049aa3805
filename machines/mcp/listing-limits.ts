/**
 * Decides which of the tools that a server lists are admitted: those with a usable name, of bounded size each, and in
 * bounded number and sum. The others are left out with a reason, and never cost the server its other tools. What reports
 * them stays short, however many they are.
 * @see LIF-14 and NAM-2 in docs/specification.md
 */

import { isJsonObject, type Json } from '../base/json.ts';
import { strangersWords } from './strangers-words.ts';
import { cleanTool } from './strip-tags.ts';

/** Bytes of one tool's definition. */
export const maxToolBytes = 262_144;
/** Bytes of all definitions of one server. */
export const maxListingBytes = 4_194_304;
/** Tools of one server. A small tool costs more to read than its bytes say. */
export const maxTools = 10_000;

/** What one listing leaves out. */
export interface LeftOut {
  /** Counts an entry; the name is undefined where it has none. */
  add(name: string | undefined, reason: string): void;
  /** One sentence for each reason, with the first names. */
  sentences(): readonly string[];
}

/** The admission of one listing, page by page. */
export interface Admission {
  /**
   * Returns the admitted entries of a page, without invisible characters; a name stays as the server lists it. A tool that
   * no longer fits does not keep out a smaller one of the same page. An entry that is no tool passes, and is counted.
   */
  admit(page: readonly Json[]): readonly Json[];
  /** Whether a tool was left out for the bounds of the listing, so that further pages are of no use. */
  isOver(): boolean;
}

const reasons = {
  name: 'a name must have a character and no control character',
  size: `a definition may have ${maxToolBytes / 1_024} KiB`,
  sum: `the definitions of one server may have ${maxListingBytes / 1_048_576} MiB together`,
  number: `one server may have ${maxTools} tools`,
} as const;
const maxNames = 3;
/** The reasons quote what a server lists, so it could make as many as it has entries. */
const maxReasons = 10;
const otherReasons = 'other reasons';

/** @param noun what an entry is called */
export function createLeftOut(noun: string): LeftOut {
  const rows = new Map<string, { count: number; readonly names: string[] }>();
  return {
    add(name, reason) {
      const key = rows.has(reason) || rows.size < maxReasons ? reason : otherReasons;
      const row = rows.get(key) ?? { count: 0, names: [] };
      rows.set(key, row);
      row.count += 1;
      if (row.names.length < maxNames)
        row.names.push(name === undefined ? 'without a name' : `"${strangersWords(name, 100)}"`);
    },
    sentences: () =>
      [...rows].map(([reason, { count, names }]) => {
        const more = count > names.length ? ` and ${count - names.length} more` : '';
        const which = `${count === 1 ? noun : `${noun}s`} ${names.join(', ')}${more}`;
        return `its ${which} ${count === 1 ? 'is' : 'are'} left out: ${reason}`;
      }),
  };
}

export function createAdmission(leftOut: LeftOut): Admission {
  let bytes = 0;
  let count = 0;
  let isOver = false;

  function reasonAgainst(tool: Json): keyof typeof reasons | undefined {
    if (count >= maxTools) return 'number';
    const name = nameOf(tool);
    if (name !== undefined && (name === '' || /\p{Cc}/u.test(name))) return 'name';
    const size = bytesOf(JSON.stringify(tool));
    if (size > maxToolBytes) return 'size';
    if (bytes + size > maxListingBytes) return 'sum';
    bytes += size;
    count += 1;
    return undefined;
  }

  return {
    admit: (page) =>
      page.flatMap((entry) => {
        // Bounds the depth too, before it is serialised.
        const tool = count < maxTools && isJsonObject(entry) ? cleaned(entry) : entry;
        const reason = reasonAgainst(tool);
        if (reason === undefined) return [tool];
        isOver ||= reason === 'sum' || reason === 'number';
        leftOut.add(nameOf(tool), reasons[reason]);
        return [];
      }),
    isOver: () => isOver,
  };
}

/** On the wire the name must stay as the server has it; it is sanitised where it is registered. */
function cleaned(tool: { readonly [key: string]: Json }): Json {
  return tool.name === undefined ? cleanTool(tool) : { ...cleanTool(tool), name: tool.name };
}

function nameOf(tool: Json): string | undefined {
  return isJsonObject(tool) && typeof tool.name === 'string' ? tool.name : undefined;
}

/** In UTF-8. */
function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
