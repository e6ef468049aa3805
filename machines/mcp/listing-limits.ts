/**
 * Decides which of the tools, resources or prompts that a server lists are admitted: those of bounded size each, and in
 * bounded number and sum; tools with a usable name only. The others are left out with a reason, and never cost the server
 * those that fit. What reports them stays short, however many they are.
 * @see LIF-14 and NAM-2 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { strangersWords } from './strangers-words.ts';
import { cleanTool } from './strip-tags.ts';

/** Bytes of one definition. */
const maxDefinitionBytes = 262_144;
/** Bytes of all definitions of one listing. */
const maxListingBytes = 4_194_304;
/** Definitions of one listing. A small one costs more to read than its bytes say. */
const maxDefinitions = 10_000;
/** Bytes of the answer with one page of a listing: twice what may be kept of all pages, for what is left out. */
export const maxPageBytes = 2 * maxListingBytes;

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
   * Returns the admitted entries of a page, without invisible characters; names and addresses stay as the server lists
   * them. An entry that no longer fits does not keep out a smaller one of the same page. One that is no object passes, and
   * is counted.
   */
  admit(page: readonly Json[]): readonly Json[];
  /** Whether an entry was left out for the bounds of the listing, so that further pages are of no use. */
  isOver(): boolean;
}

type Noun = 'tool' | 'resource' | 'resource template' | 'prompt';
type Reason = 'name' | 'size' | 'sum' | 'number';

const reasonsOf = (noun: Noun): Readonly<Record<Reason, string>> => ({
  name: 'a name must have a character and no control character',
  size: `a definition may have ${maxDefinitionBytes / 1_024} KiB`,
  sum: `the definitions of one server may have ${maxListingBytes / 1_048_576} MiB together`,
  number: `one server may have ${maxDefinitions} ${noun}s`,
});
const maxNames = 3;
/** The reasons quote what a server lists, so it could make as many as it has entries. */
const maxReasons = 10;
const otherReasons = 'other reasons';

/** @param noun what an entry is called */
export function createLeftOut(noun: Noun): LeftOut {
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

export function createAdmission(noun: Noun, leftOut: LeftOut): Admission {
  const reasons = reasonsOf(noun);
  let bytes = 0;
  let count = 0;
  let isOver = false;

  function reasonAgainst(entry: Json): Reason | undefined {
    if (count >= maxDefinitions) return 'number';
    const name = nameOf(entry);
    // Only tools are registered by their names.
    if (noun === 'tool' && name !== undefined && (name === '' || /\p{Cc}/u.test(name))) return 'name';
    const size = bytesOf(JSON.stringify(entry));
    if (size > maxDefinitionBytes) return 'size';
    if (bytes + size > maxListingBytes) return 'sum';
    bytes += size;
    count += 1;
    return undefined;
  }

  return {
    admit: (page) =>
      page.flatMap((listed) => {
        // Bounds the depth too, before it is serialised.
        const entry = count < maxDefinitions && isJsonObject(listed) ? cleaned(listed) : listed;
        const reason = reasonAgainst(entry);
        if (reason === undefined) return [entry];
        isOver ||= reason === 'sum' || reason === 'number';
        leftOut.add(nameOf(entry), reasons[reason]);
        return [];
      }),
    isOver: () => isOver,
  };
}

/** On the wire names and addresses must stay as the server has them; a name is sanitised where it is registered. */
function cleaned(entry: JsonObject): JsonObject {
  const { name, uri } = entry;
  return {
    ...cleanTool(entry),
    ...(name === undefined ? {} : { name }),
    ...(uri === undefined ? {} : { uri }),
  };
}

/** What an entry is called; undefined where it has no name and no address. */
export function nameOf(entry: Json): string | undefined {
  const name = isJsonObject(entry) ? (entry.name ?? entry.uri) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** In UTF-8. */
function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
