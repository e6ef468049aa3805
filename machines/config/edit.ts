/**
 * Changes keys of `config.yaml` and keeps the rest of the text unchanged: only the characters of a changed value or a
 * removed key are edited. A text in a form that cannot be spliced is refused.
 * @see HOME-4 in docs/specification.md
 */

import {
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { atOnce, type Pieces } from '../base/pieces.ts';
import { cutOut, endOf, endOfValue, isNothing, lineStart, nextLine, pairOf, pastComments } from './cut-out.ts';
import { type ConfigDocument, type ConfigPath, parsingDocument, partsOf } from './document.ts';
import { homeSchema } from './schema.ts';

export interface ConfigEdit {
  readonly path: ConfigPath;
  /** Undefined removes the key. */
  readonly value: Json | undefined;
  /** The members of the value, all of them new, are added to those at the path. */
  readonly adds?: true;
}

/** The text after the edits; undefined if the text is not YAML in which they can be made and change nothing else. */
export function editConfig(text: string, edits: readonly ConfigEdit[]): string | undefined {
  return atOnce(editingConfig(text, edits, parseConfig(text)))?.text;
}

export interface EditedConfig {
  readonly text: string;
  /** The text as `parsingConfig` parses it; absent if that was not necessary. */
  readonly document?: ConfigDocument;
}

/**
 * Edits a long text in pieces.
 * @param document the parsed text
 */
export function* editingConfig(
  text: string,
  edits: readonly ConfigEdit[],
  document: ConfigDocument,
): Pieces<EditedConfig | undefined> {
  const [mark = ''] = /^\uFEFF/.exec(text) ?? [];
  // New lines end as the others do.
  const isDos = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
  let edited: Editable | undefined = { text: text.slice(mark.length), document };
  if (isDos) edited = yield* readingText(edited.text.replaceAll('\r\n', '\n'));
  for (const edit of edits) {
    edited = yield* editingOne(edited, edit);
    if (edited === undefined) return undefined;
  }
  if (isDos) return { text: mark + edited.text.replaceAll('\n', '\r\n') };
  return { text: mark + edited.text, document: edited.document };
}

/** Parses a `config.yaml`: where a text is meant, a value without quotes is the text as written (CFG-2). */
export function parseConfig(text: string): ConfigDocument {
  return atOnce(parsingConfig(text));
}

/** Does so in pieces. */
export function parsingConfig(text: string): Pieces<ConfigDocument> {
  return parsingDocument(text, homeSchema);
}

/** The value at a path as it is written; undefined if there is none or the text is not YAML. */
export function valueAt(text: string, path: ConfigPath): Json | undefined {
  return valueIn(parseConfig(text).value, path);
}

export function valueIn(value: JsonObject, path: ConfigPath): Json | undefined {
  let at: Json | undefined = value;
  for (const step of path) at = isJsonObject(at) && Object.hasOwn(at, step) ? at[String(step)] : undefined;
  return at;
}

/** Whether the text is one composable YAML document; it need not be a mapping yet. */
export function isKept({ findings }: ConfigDocument): boolean {
  return findings.every(({ code }) => code === 'config-not-mapping');
}

interface Editable {
  /** Without a byte order mark. */
  readonly text: string;
  readonly document: ConfigDocument;
}

function* readingText(text: string): Pieces<Editable> {
  return { text, document: yield* parsingConfig(text) };
}

function* editingOne({ text, document }: Editable, given: ConfigEdit): Pieces<Editable | undefined> {
  if (!isKept(document)) return undefined;
  const changes =
    given.adds === true && isJsonObject(given.value)
      ? Object.entries(given.value).map(([key, value]) => ({ path: [...given.path, key], value }))
      : [given];
  const before: Json = document.value;
  const wanted = changes.reduce<Json | undefined>((held, { path, value }) => withEdit(held, path, value), before);
  if (wanted === before) return { text, document };
  const spliced = splice(text, document.root ?? null, given);
  if (spliced === undefined) return undefined;
  const edited = yield* readingText(spliced);
  const saysIt = isKept(edited.document) && (yield* comparing(edited.document.value, wanted));
  return saysIt ? edited : undefined;
}

/** Whether two values are equal, also in the order of their keys. */
function* comparing(one: JsonObject, other: Json | undefined): Pieces<boolean> {
  if (!isJsonObject(other)) return false;
  const others = [...partsOf(other)];
  for (const part of partsOf(one)) {
    if (JSON.stringify(part) !== JSON.stringify(others.shift())) return false;
    yield undefined;
  }
  return others.length === 0;
}

/**
 * What the file must say afterwards. An edit of its text may say something else: a value that an alias or a merge key
 * gives is not in its place, and one with an anchor is the value of other keys too.
 */
export function withEdit(
  held: Json | undefined,
  [step, ...rest]: ConfigPath,
  value: Json | undefined,
): Json | undefined {
  if (step === undefined) return value;
  if (Array.isArray(held)) {
    const list = held as readonly Json[];
    return Object.assign([...list], { [step]: withEdit(list[Number(step)], rest, value) });
  }
  const members = isJsonObject(held) ? held : {};
  const before = Object.hasOwn(members, step) ? members[String(step)] : undefined;
  const after = withEdit(before, rest, value);
  if (after === before) return held;
  const { [String(step)]: _, ...others } = members;
  return after === undefined ? others : { ...members, [step]: after };
}

function splice(text: string, root: Node | null, { path, value, adds }: ConfigEdit): string | undefined {
  if (value === undefined) return cutOut(text, root, path);
  let holder: unknown = root;
  for (const [depth, step] of path.entries()) {
    if (isSeq(holder)) return step === holder.items.length ? intoSeq(text, holder, value) : undefined;
    if (!isMap(holder)) return depth === 0 && isNothing(holder) ? append(text, nested(path, value)) : undefined;
    const pair = pairOf(holder, step);
    const rest = path.slice(depth + 1);
    if (pair === undefined) return intoMap(text, holder, nested([step, ...rest], value));
    if (rest.length === 0 && adds !== true) return replaceValue(text, pair, value);
    if (isNothing(pair.value)) return underKey(text, pair, nested(rest, value));
    // `null` and `~`.
    if (isScalar(pair.value) && pair.value.value === null) return replaceValue(text, pair, nested(rest, value));
    if (rest.length === 0) return isMap(pair.value) ? intoMap(text, pair.value, value) : undefined;
    holder = pair.value;
  }
  return undefined;
}

function nested(path: ConfigPath, value: Json): Json {
  return path.reduceRight<Json>((inner, step) => ({ [String(step)]: inner }), value);
}

function replaceValue(text: string, pair: Pair, value: Json): string | undefined {
  const held = pair.value as Node | null;
  const [from, to] = held?.range ?? [];
  if (from === undefined || to === undefined) return undefined;
  if (isNothing(held) && isJsonObject(value) && Object.keys(value).length > 0) return underKey(text, pair, value);
  if (isCollection(held) && held.flow !== true) return replaceLines(text, pair, value);
  // A key without a value has an empty range right after its colon or before a comment, and a block of text ends with its
  // last line.
  const gap = from === to && text[from - 1] === ':' ? ' ' : '';
  const end = text.slice(from, to).endsWith('\n') ? '\n' : text[to] === '#' ? ' ' : '';
  return `${text.slice(0, from)}${gap}${formatValue(value)}${end}${text.slice(to)}`;
}

/** The lines of a list or a mapping in block style, with the comments in them; an empty one is written behind its key. */
function replaceLines(text: string, { key, value: held }: Pair, value: Json): string | undefined {
  const [from] = (held as Node).range ?? [];
  const [, keyEnd] = (key as Node).range ?? [];
  const to = endOfValue(held as Node);
  if (from === undefined || keyEnd === undefined || to === undefined) return undefined;
  const margin = lineStart(text, from);
  if (!/^ *$/.test(margin)) return undefined;
  const tail = text.slice(nextLine(text, to));
  const isFilled = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (isFilled) {
    const lines = stringify(value, { lineWidth: 0 }).replace(/\n(?=.)/g, `\n${margin}`);
    return text.slice(0, from) + lines + tail;
  }
  const colon = text.indexOf(':', keyEnd);
  return `${text.slice(0, colon + 1)} ${formatValue(value)}${text.slice(colon + 1, from - margin.length)}${tail}`;
}

/** `key:` without a value, perhaps with a comment, gets its mapping on the next lines. */
function underKey(text: string, { key }: Pair, value: Json): string | undefined {
  const [from, to] = (key as Node).range ?? [];
  if (from === undefined || to === undefined || !/^\s*$/.test(lineStart(text, from))) return undefined;
  return insertLines(text, to, value, lineStart(text, from).length + 2);
}

function intoMap(text: string, map: YAMLMap, value: Json): string | undefined {
  const pairs = map.items as Pair[];
  const last = pairs.at(-1);
  const [start, end] = map.range ?? [];
  if (start === undefined || end === undefined) return undefined;
  if (map.flow === true) {
    const inner = formatValue(value).replace(/^\{\s*|\s*\}$/g, '');
    if (last === undefined) return `${text.slice(0, start)}{ ${inner} }${text.slice(end)}`;
    const at = endOf(last);
    return at === undefined ? undefined : `${text.slice(0, at)}, ${inner}${text.slice(at)}`;
  }
  const first = (pairs[0]?.key as Node | undefined)?.range?.[0];
  const at = last && endOf(last);
  if (first === undefined || at === undefined) return undefined;
  const indent = lineStart(text, first);
  return /^ *$/.test(indent) ? insertLines(text, at, value, indent.length) : undefined;
}

function intoSeq(text: string, list: YAMLSeq, value: Json): string | undefined {
  const items = list.items as Node[];
  const last = items.at(-1);
  const first = items[0]?.range?.[0];
  const at = last && endOfValue(last);
  if (first === undefined || at === undefined) return undefined;
  if (list.flow === true) return `${text.slice(0, at)}, ${formatValue(value)}${text.slice(at)}`;
  const dash = lineStart(text, first);
  return /^ *- +$/.test(dash) ? insertLines(text, at, [value], dash.indexOf('-')) : undefined;
}

/** Inserts a mapping on new lines after the line of an offset and the comments that belong to what is above. */
function insertLines(text: string, after: number, value: Json, indent: number): string {
  const at = pastComments(text, nextLine(text, after), indent);
  const head = text.slice(0, at);
  const margin = ' '.repeat(indent);
  const lines = stringify(value, { lineWidth: 0 }).replace(/^(?=.)/gm, margin);
  return `${head}${head === '' || head.endsWith('\n') ? '' : '\n'}${lines}${text.slice(at)}`;
}

function append(text: string, value: Json): string {
  return insertLines(text, text.length, value, 0);
}

function formatValue(value: Json): string {
  const json = JSON.stringify(value);
  // A text of several lines would take several lines.
  if (json.includes('\\n')) return json;
  return stringify(value, { lineWidth: 0, collectionStyle: 'flow' }).trimEnd();
}
