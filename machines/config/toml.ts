/**
 * Reads TOML into JSON values: tables, lists of tables, dotted keys, inline tables, all four kinds of strings, numbers in
 * every base, lists. Dates stay the text that they are. The first fault is told with its line; nothing is guessed.
 * @see CLI-5 in docs/specification.md
 * @see [TOML 1.0.0](https://toml.io/en/v1.0.0)
 */

import type { Json, JsonObject } from '../base/json.ts';
import { readString } from './toml-string.ts';

export type TomlVerdict =
  | { readonly kind: 'read'; readonly value: JsonObject }
  | { readonly kind: 'malformed'; readonly line: number; readonly why: string };

/** Where reading stands; the first fault stays. */
export interface TomlCursor {
  readonly text: string;
  at: number;
  fault: string | undefined;
}

interface Table {
  readonly kind: 'table';
  readonly entries: Map<string, Value>;
  /** By a header, so that a second header of the same name is a fault. */
  headed: boolean;
  /** Made by a dotted key, which headers may not enter; an inline table takes nothing more at all. */
  origin: 'header' | 'dotted' | 'inline';
}

interface Tables {
  readonly kind: 'tables';
  readonly items: Table[];
}

type Value = Table | Tables | { readonly kind: 'plain'; readonly value: Json | readonly Value[] };

/** Deeper lists and inline tables than this are an attack, not a configuration. */
const deepest = 64;
const bareKey = /[A-Za-z0-9_-]+/y;
const scalarEnd = /[^\s,\]}#]+(?: \d{2}:[^\s,\]}#]+)?/y;

export function parseToml(text: string): TomlVerdict {
  const cursor: TomlCursor = { text: text.replace(/^\uFEFF/, ''), at: 0, fault: undefined };
  const root = emptyTable('header');
  let current = root;
  for (skipLines(cursor); cursor.at < cursor.text.length; skipLines(cursor)) {
    if (cursor.text[cursor.at] === '[') current = readHeader(cursor, root) ?? current;
    else readPair(cursor, current, 0);
    if (cursor.fault === undefined) endLine(cursor);
    if (cursor.fault !== undefined) break;
  }
  if (cursor.fault === undefined) return { kind: 'read', value: plainTable(root) };
  const before = cursor.text.slice(0, cursor.at);
  return { kind: 'malformed', line: before.split('\n').length, why: cursor.fault };
}

/** `[a.b]` and `[[a.b]]`. */
function readHeader(cursor: TomlCursor, root: Table): Table | undefined {
  const isList = cursor.text.startsWith('[[', cursor.at);
  cursor.at += isList ? 2 : 1;
  const path = readKeyPath(cursor);
  const close = isList ? ']]' : ']';
  if (cursor.fault !== undefined) return undefined;
  if (!cursor.text.startsWith(close, cursor.at)) return fail(cursor, `the header lacks "${close}"`);
  cursor.at += close.length;
  const holder = path.slice(0, -1).reduce<Table | undefined>((at, key) => at && stepInto(cursor, at, key), root);
  const last = path.at(-1) ?? '';
  if (holder === undefined) return undefined;
  const standing = holder.entries.get(last);
  if (isList) {
    const table = emptyTable('header');
    if (standing === undefined) holder.entries.set(last, { kind: 'tables', items: [table] });
    else if (standing.kind === 'tables') standing.items.push(table);
    else return fail(cursor, `"${last}" is no list of tables`);
    return table;
  }
  if (standing === undefined) {
    const table = emptyTable('header');
    table.headed = true;
    holder.entries.set(last, table);
    return table;
  }
  if (standing.kind !== 'table' || standing.headed || standing.origin !== 'header') {
    return fail(cursor, `"${last}" stands already`);
  }
  standing.headed = true;
  return standing;
}

/** A step of a header's path: tables are made on the way, and a list of tables means its last. */
function stepInto(cursor: TomlCursor, table: Table, key: string): Table | undefined {
  const standing = table.entries.get(key);
  if (standing === undefined) {
    const made = emptyTable('header');
    table.entries.set(key, made);
    return made;
  }
  if (standing.kind === 'table' && standing.origin !== 'inline') return standing;
  return standing.kind === 'tables' ? standing.items.at(-1) : fail(cursor, `"${key}" is no table`);
}

function readPair(cursor: TomlCursor, into: Table, depth: number): void {
  const path = readKeyPath(cursor);
  if (cursor.fault !== undefined) return;
  if (cursor.text[cursor.at] !== '=') {
    fail(cursor, 'a key needs "=" and a value');
    return;
  }
  cursor.at += 1;
  skipBlanks(cursor);
  const value = readValue(cursor, depth);
  if (value === undefined) return;
  let table: Table | undefined = into;
  for (const key of path.slice(0, -1)) table = table && stepDotted(cursor, table, key);
  const last = path.at(-1) ?? '';
  if (table === undefined) return;
  if (table.entries.has(last)) fail(cursor, `"${last}" stands already`);
  else table.entries.set(last, value);
}

function stepDotted(cursor: TomlCursor, table: Table, key: string): Table | undefined {
  const standing = table.entries.get(key);
  if (standing === undefined) {
    const made = emptyTable('dotted');
    table.entries.set(key, made);
    return made;
  }
  if (standing.kind === 'table' && standing.origin === 'dotted') return standing;
  return fail(cursor, `"${key}" is no table that a dotted key may enter`);
}

/** `a.b."c d"`, blanks around the dots; what follows it is reached. */
function readKeyPath(cursor: TomlCursor): readonly string[] {
  const path: string[] = [];
  for (;;) {
    skipBlanks(cursor);
    const quote = cursor.text[cursor.at];
    if (quote === '"' || quote === "'") {
      const key = readString(cursor);
      if (key === undefined) return path;
      path.push(key);
    } else {
      const key = take(cursor, bareKey);
      if (key === undefined) {
        fail(cursor, 'a key was expected');
        return path;
      }
      path.push(key);
    }
    skipBlanks(cursor);
    if (cursor.text[cursor.at] !== '.') return path;
    cursor.at += 1;
  }
}

function readValue(cursor: TomlCursor, depth: number): Value | undefined {
  if (depth > deepest) return fail(cursor, `nested deeper than ${deepest}`);
  const first = cursor.text[cursor.at];
  if (first === '"' || first === "'") {
    const text = readString(cursor);
    return text === undefined ? undefined : { kind: 'plain', value: text };
  }
  if (first === '[') return readList(cursor, depth);
  if (first === '{') return readInline(cursor, depth);
  const word = take(cursor, scalarEnd);
  if (word === undefined) return fail(cursor, 'a value was expected');
  const value = scalarOf(word);
  return value === undefined ? fail(cursor, `"${word}" is no value`) : { kind: 'plain', value };
}

function readList(cursor: TomlCursor, depth: number): Value | undefined {
  const items: Value[] = [];
  cursor.at += 1;
  for (;;) {
    skipLines(cursor);
    if (cursor.text[cursor.at] === ']') {
      cursor.at += 1;
      return { kind: 'plain', value: items };
    }
    const value = readValue(cursor, depth + 1);
    if (value === undefined) return undefined;
    items.push(value);
    skipLines(cursor);
    if (cursor.text[cursor.at] === ',') cursor.at += 1;
    else if (cursor.text[cursor.at] !== ']') return fail(cursor, 'the list lacks "," or "]"');
  }
}

function readInline(cursor: TomlCursor, depth: number): Value | undefined {
  const table = emptyTable('inline');
  cursor.at += 1;
  skipBlanks(cursor);
  if (cursor.text[cursor.at] === '}') {
    cursor.at += 1;
    return table;
  }
  for (;;) {
    readPair(cursor, table, depth + 1);
    if (cursor.fault !== undefined) return undefined;
    skipBlanks(cursor);
    const next = cursor.text[cursor.at];
    cursor.at += 1;
    if (next === '}') return table;
    if (next !== ',') {
      cursor.at -= 1;
      return fail(cursor, 'the inline table lacks "," or "}"');
    }
  }
}

/** A word without quotes; a date or a time is its own text. */
function scalarOf(word: string): Json | undefined {
  if (word === 'true' || word === 'false') return word === 'true';
  // JSON knows neither, and no configuration needs them.
  if (/^[+-]?(inf|nan)$/.test(word)) return undefined;
  if (/^0x[\da-fA-F](_?[\da-fA-F])*$|^0o[0-7](_?[0-7])*$|^0b[01](_?[01])*$/.test(word)) {
    return Number(word.replaceAll('_', ''));
  }
  if (/^[+-]?(0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d(_?\d)*)?$/.test(word)) return Number(word.replaceAll('_', ''));
  return /^\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})?)?$|^\d{2}:\d{2}:\d{2}(\.\d+)?$/.test(
    word,
  )
    ? word
    : undefined;
}

function emptyTable(origin: Table['origin']): Table {
  return { kind: 'table', entries: new Map(), headed: false, origin };
}

function plainTable({ entries }: Table): JsonObject {
  return Object.fromEntries([...entries].map(([key, value]) => [key, plainValue(value)]));
}

function plainValue(value: Value): Json {
  switch (value.kind) {
    case 'table':
      return plainTable(value);
    case 'tables':
      return value.items.map(plainTable);
    case 'plain':
      return Array.isArray(value.value) ? (value.value as readonly Value[]).map(plainValue) : (value.value as Json);
  }
}

/** Nothing but blanks and a comment may stand before the line's end. */
function endLine(cursor: TomlCursor): void {
  skipBlanks(cursor);
  skipComment(cursor);
  if (cursor.at < cursor.text.length && !/^\r?\n/.test(cursor.text.slice(cursor.at, cursor.at + 2))) {
    fail(cursor, 'the line goes on where it must end');
  }
}

function skipLines(cursor: TomlCursor): void {
  for (;;) {
    while (/[ \t\r\n]/.test(cursor.text[cursor.at] ?? '')) cursor.at += 1;
    if (cursor.text[cursor.at] !== '#') return;
    skipComment(cursor);
  }
}

function skipComment(cursor: TomlCursor): void {
  if (cursor.text[cursor.at] !== '#') return;
  const end = cursor.text.indexOf('\n', cursor.at);
  cursor.at = end < 0 ? cursor.text.length : end;
}

function skipBlanks(cursor: TomlCursor): void {
  while (cursor.text[cursor.at] === ' ' || cursor.text[cursor.at] === '\t') cursor.at += 1;
}

function take(cursor: TomlCursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0];
  if (found !== undefined) cursor.at += found.length;
  return found;
}

function fail(cursor: TomlCursor, why: string): undefined {
  cursor.fault ??= why;
  return undefined;
}
