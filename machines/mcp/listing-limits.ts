/**
 * Decides which tools, resources or prompts of a server's listing are admitted: limited in size, number and total size;
 * tools only with a usable name, and only if they can be called without a task. The others are left out with a reason and
 * do not affect those that fit. The report has a limited length.
 * @see LIF-14 and NAM-2 in docs/specification.md
 */

import { getOrMake } from '../base/get-or-make.ts';
import { isJsonObject, type Json } from '../base/json.ts';
import { cleanTool, mapStrings, stripTags } from './strip-tags.ts';
import { untrustedWords } from './untrusted-words.ts';

const maxDefinitionBytes = 262_144;
const maxListingBytes = 4_194_304;
/** The most definitions of one listing: a small one costs more to read than its bytes suggest. */
const maxDefinitions = 10_000;
/** The most bytes of one page's answer: twice the limit of all pages, to allow for what is left out. */
export const maxPageBytes = 2 * maxListingBytes;

/** The entries that one listing leaves out. */
export interface LeftOut {
  /** Counts an entry; the name is undefined if it has none. */
  add(name: string | undefined, reason: string): void;
  /** One sentence per reason, with the first names. */
  sentences(): readonly string[];
  /** Every name; undefined if an entry has none or a long one, or if there are more than a hundred entries. */
  names(): readonly string[] | undefined;
}

/** The admission of one listing, page by page. */
export interface Admission {
  /**
   * Returns the admitted entries of a page, without invisible characters; names and addresses are unchanged. An entry that
   * does not fit does not exclude a smaller one on the same page. An entry that is not an object is admitted and counted.
   */
  admit(page: readonly Json[]): readonly Json[];
  /** Whether an entry was left out because of the listing's limits, so that further pages are useless. */
  isOver(): boolean;
}

type Noun = 'tool' | 'resource' | 'resource template' | 'prompt';
type Reason = 'name' | 'task' | 'size' | 'sum' | 'number' | 'again';

const reasonsOf = (noun: Noun): Readonly<Record<Reason, string>> => ({
  name: 'a name must have a character and no control character',
  task: 'a tool that must be called as a task (execution.taskSupport) is not supported',
  size: `a definition may have ${maxDefinitionBytes / 1_024} KiB`,
  sum: `the definitions of one server may have ${maxListingBytes / 1_048_576} MiB together`,
  number: `one server may have ${maxDefinitions} ${noun}s`,
  again: 'it is listed again with another definition, which counts',
});
const maxNames = 3;
const maxAllNames = 100;
const maxNameLength = 256;
/** Reasons may quote what a server lists, so their number must be limited. */
const maxReasons = 10;
const otherReasons = 'other reasons';

/** @param noun the kind of entry */
export function createLeftOut(noun: Noun): LeftOut {
  const rows = new Map<string, { count: number; readonly names: string[] }>();
  let all: readonly string[] | undefined = [];
  return {
    names: () => all,
    add(name, reason) {
      const isKept = name !== undefined && name.length <= maxNameLength && (all?.length ?? 0) < maxAllNames;
      all = all !== undefined && isKept ? [...all, name] : undefined;
      const key = rows.has(reason) || rows.size < maxReasons ? reason : otherReasons;
      const row = getOrMake(rows, key, () => ({ count: 0, names: [] }));
      row.count += 1;
      if (row.names.length < maxNames)
        row.names.push(name === undefined ? 'without a name' : `"${untrustedWords(name, 100)}"`);
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
  /** The texts of the tools, by name: pages that shift while they are read repeat equal ones. */
  const texts = new Map<string, string>();
  let bytes = 0;
  let count = 0;
  let isOver = false;

  function reasonAgainst(entry: Json): Reason | undefined {
    if (count >= maxDefinitions) return 'number';
    const name = nameOf(entry);
    // Only tools are registered by name.
    if (noun === 'tool' && name !== undefined && (name === '' || /\p{Cc}/u.test(name))) return 'name';
    if (noun === 'tool' && mustBeTask(entry)) return 'task';
    const text = JSON.stringify(entry);
    const size = bytesOf(text);
    if (size > maxDefinitionBytes) return 'size';
    if (bytes + size > maxListingBytes) return 'sum';
    bytes += size;
    count += 1;
    if (noun !== 'tool' || name === undefined) return undefined;
    if ((texts.get(name) ?? text) !== text) leftOut.add(name, reasons.again);
    texts.set(name, text);
    return undefined;
  }

  return {
    admit: (page) =>
      page.flatMap((listed) => {
        // Also limits the depth, before serialization.
        const entry = count < maxDefinitions ? cleaned(listed) : listed;
        const reason = reasonAgainst(entry);
        if (reason === undefined) return [entry];
        isOver ||= reason === 'sum' || reason === 'number';
        leftOut.add(nameOf(entry), reasons[reason]);
        return [];
      }),
    isOver: () => isOver,
  };
}

/** Names and addresses must be sent back unchanged; a name is sanitised where it is registered. */
function cleaned(entry: Json): Json {
  if (!isJsonObject(entry)) return mapStrings(entry, stripTags);
  const { name, uri } = entry;
  return {
    ...cleanTool(entry),
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof uri === 'string' ? { uri } : {}),
  };
}

/** The name or address of an entry; undefined if it has neither. */
export function nameOf(entry: Json): string | undefined {
  const name = isJsonObject(entry) ? (entry.name ?? entry.uri) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** A call without a task is refused by such a tool; without the key, a tool is called without one. */
function mustBeTask(entry: Json): boolean {
  return isJsonObject(entry) && isJsonObject(entry.execution) && entry.execution.taskSupport === 'required';
}

/** In UTF-8. */
function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
