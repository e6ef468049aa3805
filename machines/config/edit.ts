/**
 * Changes keys of `config.yaml` and keeps the rest of the text unchanged: only the characters of a changed value or a
 * removed key are edited. If the text has a form that cannot be spliced, the YAML library writes it again, keeping comments
 * and order.
 * @see HOME-4 in docs/specification.md
 */

import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument as parseYaml,
  type Scalar,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { atOnce, type Pieces } from '../base/pieces.ts';
import { cutOut, endOf, endOfValue, isNothing, lineStart, nextLine, pairOf } from './cut-out.ts';
import { type ConfigDocument, type ConfigPath, keepDigits, parsingDocument, partsOf } from './document.ts';
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
  return atOnce(editingConfig(text, edits, parseConfig(text)));
}

/**
 * Edits a long text in pieces.
 * @param document the parsed text
 */
export function* editingConfig(
  text: string,
  edits: readonly ConfigEdit[],
  document: ConfigDocument,
): Pieces<string | undefined> {
  const [mark = ''] = /^\uFEFF/.exec(text) ?? [];
  // New lines end as the others do.
  const isDos = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
  let edited: Editable | undefined = { text: text.slice(mark.length), document };
  if (isDos) edited = yield* readingText(edited.text.replaceAll('\r\n', '\n'));
  for (const edit of edits) {
    edited = yield* editingOne(edited, edit);
    if (edited === undefined) return undefined;
  }
  return mark + (isDos ? edited.text.replaceAll('\n', '\r\n') : edited.text);
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

/** Duplicate keys are checked elsewhere: the library compares each key with all of its mapping. */
function parseKept(text: string): ReturnType<typeof parseYaml> {
  const document = parseYaml(text, { uniqueKeys: false });
  keepDigits(document);
  return document;
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
  const forms = [() => splice(text, document.root ?? null, given), () => writtenAnew(text, changes)];
  for (const form of forms) {
    const next = form();
    const edited = next === undefined ? undefined : yield* readingText(next);
    if (edited !== undefined && isKept(edited.document) && (yield* comparing(edited.document.value, wanted)))
      return edited;
  }
  return undefined;
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

/** The text with the changes as the library writes it. */
function writtenAnew(text: string, changes: readonly ConfigEdit[]): string | undefined {
  const document = parseKept(text);
  try {
    for (const { path, value } of changes) {
      const at = keysOf(document, path);
      if (value === undefined) document.deleteIn(at);
      else {
        makeRoom(document, at);
        document.setIn(at, value);
      }
    }
    return document.toString({ lineWidth: 0 });
  } catch {
    // A key below a value that is not a mapping.
    return undefined;
  }
}

/** The path with the keys as the document has them: the library does not find the key `7` by its text. */
function keysOf(document: Document, path: ConfigPath): ConfigPath {
  let holder: unknown = document.contents;
  return path.map((step) => {
    const pair = isMap(holder) ? pairOf(holder, step) : undefined;
    holder = isSeq(holder) ? holder.items[Number(step)] : pair?.value;
    return pair === undefined ? step : ((pair.key as Scalar).value as string | number);
  });
}

/** Turns keys without a value on the way into mappings. */
function makeRoom(document: Document, path: ConfigPath): void {
  for (let depth = 1; depth < path.length; depth += 1) {
    const above = path.slice(0, depth);
    if (document.getIn(above) === null) document.setIn(above, document.createNode({}));
  }
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
    if (!isMap(holder)) return depth === 0 && holder === null ? append(text, nested(path, value)) : undefined;
    const pair = pairOf(holder, step);
    const rest = path.slice(depth + 1);
    if (pair === undefined) return intoMap(text, holder, nested([step, ...rest], value));
    if (rest.length === 0 && adds !== true) return replaceValue(text, pair, value);
    if (isNothing(pair.value)) return underKey(text, pair, nested(rest, value));
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
  if (isCollection(held)) {
    if (held.flow !== true) return replaceLines(text, { from, to: endOfValue(held) }, value);
  } else if (!isScalar(held) || isJsonObject(value)) return undefined;
  const written = formatValue(value);
  // A key without a value has an empty range right after its colon.
  return `${text.slice(0, from)}${from === to && text[from - 1] === ':' ? ' ' : ''}${written}${text.slice(to)}`;
}

/** The lines of a list or a mapping in block style, with the comments in them. */
function replaceLines(
  text: string,
  { from, to }: { readonly from: number; readonly to: number | undefined },
  value: Json,
): string | undefined {
  const margin = lineStart(text, from);
  const isFilled = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (to === undefined || !isFilled || !/^ *$/.test(margin)) return undefined;
  const lines = stringify(value, { lineWidth: 0 }).replace(/\n(?=.)/g, `\n${margin}`);
  return text.slice(0, from) + lines + text.slice(nextLine(text, to));
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

/** Inserts a mapping on new lines after the line of an offset. */
function insertLines(text: string, after: number, value: Json, indent: number): string {
  const at = nextLine(text, after);
  const head = text.slice(0, at);
  const margin = ' '.repeat(indent);
  const lines = stringify(value, { lineWidth: 0 }).replace(/^(?=.)/gm, margin);
  return `${head}${head === '' || head.endsWith('\n') ? '' : '\n'}${lines}${text.slice(at)}`;
}

function append(text: string, value: Json): string {
  return insertLines(text, text.length, value, 0);
}

function formatValue(value: Json): string {
  return stringify(value, { lineWidth: 0, collectionStyle: 'flow' }).trimEnd();
}
