/**
 * Reads the lists that `in_file` filters name: a JSON array, the keys of a JSON object, or lines. Confined to the
 * profile's home, and read again when the file changes.
 * @see FIL-3 and LIM-5 in docs/specification.md
 */

import { readFileSync, statSync } from 'node:fs';
import { isJsonObject, type Json } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { ListMembership } from '../../machines/webhook/filter.ts';
import { confined } from '../confine.ts';
import { isExhausted } from '../exhaustion.ts';
import { stampOf } from '../files.ts';

export interface ListReader {
  /** The current list; undefined if it cannot be read, and one without answers if no descriptor is left. */
  list(name: string): ListMembership | undefined;
}

interface Cached {
  readonly stamp: string;
  readonly list: ListMembership | undefined;
}

/** Used even if an older state of the list is cached: an outdated list must not decide an event. */
const unread: ListMembership = { has: () => undefined };

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
        cache.set(name, { stamp, list });
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
    return membership(readFileSync(file, 'utf8'));
  } catch (thrown) {
    if (isExhausted(thrown)) throw thrown;
    return undefined;
  }
}

/** Values of a JSON array are compared as they are; lines and keys are text, which a number matches by its digits. */
function membership(text: string): ListMembership {
  const start = text.trimStart()[0];
  if (start === '[' || start === '{') {
    const value = readJson(text);
    if (Array.isArray(value)) return new Set<Json>(value);
    if (isJsonObject(value)) return texts(Object.keys(value));
    // Not JSON: a text whose first line begins with a bracket.
  }
  const lines = text.split('\n').map((line) => line.trim());
  return texts(lines.filter((line) => line !== ''));
}

function texts(found: readonly string[]): ListMembership {
  const known = new Set(found);
  return { has: (value) => (typeof value === 'string' || typeof value === 'number') && known.has(String(value)) };
}
