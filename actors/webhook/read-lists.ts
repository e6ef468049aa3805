/**
 * Reads the lists that `in_file` filters name: a JSON array, the keys of a JSON object, or lines. Confined to the
 * profile's home, and read again when the file changes.
 * @see FIL-3 and LIM-5 in docs/specification.md
 */

import { readFileSync, statSync } from 'node:fs';
import { isJsonObject, type Json, sameJson } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { ListMembership } from '../../machines/webhook/filter.ts';
import { confined } from '../confine.ts';
import { isExhausted } from '../exhaustion.ts';
import { stampOf } from '../files.ts';

export interface ListReader {
  /** The current list; undefined if there is none, and one without answers if its file cannot be read now or is broken. */
  list(name: string): ListMembership | undefined;
}

interface Cached {
  readonly stamp: string;
  readonly list: ListMembership;
}

/** Used even if an older state of the list is cached: an outdated list must not decide an event. */
const unread: ListMembership = { has: () => 'the system has no descriptors left to read the list' };
/** An editor may still be writing it. Read as lines, it would keep out other values than its author meant. */
const broken: ListMembership = { has: () => 'the list is JSON with a syntax error' };

export function createListReader({ home }: { readonly home: string }): ListReader {
  const cache = new Map<string, Cached>();
  return {
    list(name) {
      const file = confined(home, name);
      const stamp = file === undefined ? undefined : stampOf(file);
      if (file === undefined || stamp === undefined) {
        cache.delete(name);
        return undefined;
      }
      const standing = cache.get(name);
      if (standing?.stamp === stamp) return standing.list;
      try {
        const list = readList(file);
        // A file that could not be read has the same stamp once its permissions are corrected.
        if (list !== undefined) cache.set(name, { stamp, list });
        return list;
      } catch {
        // The next call reads it again.
        return unread;
      }
    },
  };
}

/** Throws if the system has no descriptor left. */
function readList(file: string): ListMembership | undefined {
  try {
    // Reading a pipe would block the gateway until another program writes to it.
    if (!statSync(file).isFile()) return undefined;
    return membership(readFileSync(file, 'utf8'), file);
  } catch (thrown) {
    if (isExhausted(thrown)) throw thrown;
    return undefined;
  }
}

/** A bracket and what JSON has after one. Other lines may begin with a bracket too, such as `[bot]`. */
const beginsAsJson = /^\s*(?:\[\s*(?:["[{\]]|-?\d|(?:true|false|null)\b|$)|\{\s*(?:["}]|$))/;

/** Whether the file of a list begins as JSON and is not; false where it cannot be read. */
export function isBrokenList(file: string): boolean {
  try {
    return readList(file) === broken;
  } catch {
    return false;
  }
}

/** Values of a JSON array are compared as they are; lines and keys are text, which a number matches by its digits. */
function membership(given: string, file: string): ListMembership {
  const text = given.replace(/^\uFEFF/, '');
  // An editor empties a file before it writes it.
  if (file.endsWith('.json') && text.trim() === '') return broken;
  if (/^\s*[[{]/.test(text)) {
    const value = readJson(text);
    if (Array.isArray(value)) return items(value);
    if (isJsonObject(value)) return texts(Object.keys(value));
    if (file.endsWith('.json') || beginsAsJson.test(text)) return broken;
  }
  const lines = text.split('\n').map((line) => line.trim());
  return texts(lines.filter((line) => line !== ''));
}

function items(found: readonly Json[]): ListMembership {
  const plain = new Set(found);
  const composed = found.filter((item) => typeof item === 'object');
  return { has: (value) => plain.has(value) || composed.some((item) => sameJson(item, value)) };
}

function texts(found: readonly string[]): ListMembership {
  const known = new Set(found);
  return { has: (value) => (typeof value === 'string' || typeof value === 'number') && known.has(String(value)) };
}
