/**
 * Parses YAML text into plain JSON values with their positions. One document, bounded aliases, no duplicate keys. Only the
 * first syntax error becomes a finding, because later ones follow from it.
 * @see CFG-2 and CFG-7 in docs/specification.md
 */

import {
  Composer,
  CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type Scalar,
  visit,
} from 'yaml';
import { getOrMake } from '../base/get-or-make.ts';
import { isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { atOnce, type Pieces } from '../base/pieces.ts';
import type { Schema } from './check-schema.ts';

export interface Place {
  readonly line: number;
  readonly column: number;
}

interface SourceFinding extends Place {
  readonly message: string;
  readonly code: string;
}

export type ConfigPath = readonly (string | number)[];

export interface ConfigDocument {
  /** Empty if the text is not a mapping. */
  readonly value: JsonObject;
  readonly findings: readonly SourceFinding[];
  /** The nodes with their ranges in the text without its byte order mark; undefined if there are none. */
  readonly root: Node | null | undefined;
  /** The position of a key (or of a list's item) by its path; of the nearest ancestor if the path does not exist. */
  place(path: ConfigPath): Place;
  /** Without carriage returns and byte order mark. */
  readonly lines: readonly string[];
}

/** Whether two paths are equal; an index equals its text. */
export function samePath(one: ConfigPath, other: ConfigPath): boolean {
  return one.length === other.length && one.every((step, index) => String(step) === String(other[index]));
}

const wholeNumber = /^(?:[-+]?\d+|0x[\da-f]+|0o[0-7]+)$/i;
/** Without a match, every integer is exact and none is a phone number. */
const longDigits = /\d{16}|0x[\da-f]{14}|\+\d{7}/i;
/** Without a match, every number and every word for true or false is written as JavaScript writes it. */
const oddWriting =
  /\b0[\dxo]|\.\d*0\b|\d\.(?!\d)|(?<!\d)\.\d|\d[eE]|\d[\d.]{15}|[+-][.\d]|\b(?:True|TRUE|False|FALSE)\b/;
/** YAML reads it as a number, which has no plus. */
const phoneNumber = /^\+[1-9]\d{6,14}$/;
/** A reference outside of quotes, judged by one line. */
const bareReference = /^[^"'#]*\$\{/;
/** A key with a text that YAML reads otherwise outside of quotes: `{action} by {user}`, `Review: {title}`. */
const bareText = /^[\s-]*[\w.-]+:\s+(?:[{[@`%]|[^'"].*:(?:\s|$))/;
/** Far beyond any real configuration. */
const maxAliases = 1_000;
/** The nodes that all aliases expand to (scalars, lists and mappings): each alias expands its anchor again. */
const maxAliasedNodes = 10_000;
/** Far beyond any real configuration. Composing is recursive, and a regular expression deep in the stack crashes. */
const deepest = 200;
const composing = { uniqueKeys: false, merge: true } as const;
const longMappings: readonly (readonly string[])[] = [
  ['mcp_servers'],
  ['platforms', 'webhook', 'routes'],
  ['platforms', 'webhook', 'extra', 'routes'],
];
/** About two milliseconds of members to compose, or to check. */
const membersInPiece = 32;
/** Less than a millisecond of text to read. */
const lexemesInPiece = 512;
const top: Place = { line: 1, column: 1 };

/**
 * The values of a file in parts that can be checked one by one: those of long mappings a few members at a time, and what is
 * around them.
 */
export function* partsOf(value: JsonObject): Iterable<JsonObject> {
  let around = value;
  for (const path of longMappings) {
    const members = Object.entries(objectAt(value, ...path));
    if (members.length <= membersInPiece) continue;
    around = withAt(around, path, {});
    for (let at = 0; at < members.length; at += membersInPiece)
      yield withAt({}, path, Object.fromEntries(members.slice(at, at + membersInPiece)));
  }
  yield around;
}

function withAt(value: JsonObject, [step = '', ...rest]: readonly string[], held: JsonObject): JsonObject {
  return { ...value, [step]: rest.length === 0 ? held : withAt(objectAt(value, step), rest, held) };
}

/**
 * @param schema where it takes texts as well as numbers or truth values, a value without quotes is the text as written:
 * `1.10` and `0042` in an environment are no numbers
 */
export function parseDocument(written: string, schema?: Schema): ConfigDocument {
  return atOnce(parsingDocument(written, schema));
}

/** Parses a long text in pieces. One with a finding, or with anchors, is composed in one. */
export function* parsingDocument(written: string, schema?: Schema): Pieces<ConfigDocument> {
  // Neither a byte order mark nor a carriage return is part of a line.
  const text = written.replace(/^\uFEFF/, '');
  if (text.includes('\0')) {
    // Its lines would be printed with what a terminal does not show.
    const message = 'not UTF-8: it has NUL characters, as a file in UTF-16 does; save it as UTF-8';
    return {
      value: {},
      findings: [{ ...top, message, code: 'yaml-syntax' }],
      root: undefined,
      place: () => top,
      lines: [],
    };
  }
  const counter = new LineCounter();
  const { tokens, stopped, quotes, isPlain } = yield* readingTokens(text, counter.addNewLine);
  const placeAt = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const lines = (): readonly string[] => text.split(/\r?\n/);
  const composed = stopped === undefined && isPlain ? yield* composingLong(tokens, text.length, schema) : undefined;
  if (composed?.document.errors.length === 0) return composedAs(composed, placeAt, lines);
  // The library compares each key with all before it and walks the document for each alias; `misuses` is linear.
  const all = (): readonly Document.Parsed[] => [...new Composer(composing).compose(tokens, false, text.length)];
  const documents = stopped !== undefined ? [] : composed === undefined ? all() : [composed.document];
  const [document] = documents;
  const findings: SourceFinding[] = [];
  const report = ({ offset, message, code }: Misuse): void => void findings.push({ ...placeAt(offset), message, code });
  if (stopped !== undefined) report(stopped);
  if (document === undefined) return { value: {}, findings, root: undefined, place: () => top, lines: lines() };
  const [error] = document.errors;
  if (error !== undefined) {
    const [at] = error.pos;
    // The library places a quote that is not closed where its text ends: at the end of the file, or before a lesser indent.
    const place = placeAt(
      /^Missing closing .quote/.test(error.message) ? (quotes.findLast((one) => one < at) ?? at) : at,
    );
    const message = error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? error.code;
    const cure = cureOf(message, lines()[place.line - 1] ?? '');
    findings.push({ ...place, message: `not YAML: ${message}${cure}`, code: 'yaml-syntax' });
  }
  if (documents.length > 1) {
    const start = documents[1]?.range?.[0] ?? 0;
    findings.push({
      ...placeAt(start),
      message: 'more than one document in the file; keep the first',
      code: 'yaml-documents',
    });
  }
  // A syntax error may have cut off the anchor of an alias.
  if (error === undefined) for (const misuse of misuses(document, placeAt)) report(misuse);
  const odd = document.warnings.find(({ code }) => code === 'TAG_RESOLVE_FAILED');
  if (odd !== undefined && findings.length === 0) {
    const [offset, end] = odd.pos;
    const message = `not usable: the tag ${text.slice(offset, end)} means nothing here; write the value itself, or "\${NAME}" with NAME in .env`;
    report({ offset, message, code: 'yaml-syntax' });
  }
  const refuse = (message: string, code: string): void => void findings.push({ ...top, message, code });
  const value = findings.length === 0 ? readValue(document, { text, schema, refuse }) : {};
  return { ...composedAs({ value, document }, placeAt, lines), findings };
}

interface Composed {
  readonly value: JsonObject;
  readonly document: Document.Parsed;
}

function composedAs(
  { value, document }: Composed,
  placeAt: (offset: number) => Place,
  lines: () => readonly string[],
): ConfigDocument {
  const members = new Map<Node, ReadonlyMap<string, Pair>>();
  const root = document.contents as Node | null;
  return {
    value,
    findings: [],
    root,
    place: (path) => {
      const offset = offsetOf(root, path, members);
      return offset === undefined ? top : placeAt(offset);
    },
    get lines() {
      return lines();
    },
  };
}

interface Reading {
  /** Absent if it is not worth a look whether all of it is plain. */
  readonly text?: string;
  readonly schema: Schema | undefined;
  /** Reports a finding without a position. */
  readonly refuse: (message: string, code: string) => void;
}

/** The plain value of a document without findings; empty if it cannot be used. */
function readValue(document: Document.Parsed, { text, schema, refuse }: Reading): JsonObject {
  if (text === undefined || longDigits.test(text)) keepDigits(document);
  const isOdd = schema !== undefined && (text === undefined || oddWriting.test(text)) && keepWriting(document);
  try {
    const read: unknown = document.toJS({ maxAliasCount: -1 }) ?? {};
    const plain = isOdd ? unwrapped(read, schema) : read;
    if (isJsonObject(plain)) return plain;
    refuse('the file must hold a mapping of settings', 'config-not-mapping');
  } catch (thrown) {
    // The library may throw for what `misuses` does not check.
    refuse(`not usable: ${thrown instanceof Error ? thrown.message : String(thrown)}`, 'yaml-syntax');
  }
  return {};
}

/** In flow style a brace opens a mapping, the usual cause when a reference or a template is not quoted. */
function cureOf(message: string, line: string): string {
  if (bareReference.test(line)) return '; put a value that holds ${…} in quotes';
  if (message.startsWith('Tabs ')) return '; indent with spaces';
  if (!/at node end|compact mappings|start with/.test(message)) return '';
  if (/:\s+'/.test(line)) return "; inside of single quotes write '' for '";
  if (bareText.test(line)) return '; put a value that begins with { [ @ ` or %, or that has ": " in it, in quotes';
  return /compact mappings/.test(message) ? '; begin the next line in the same column as this key' : '';
}

/** An unsupported use of YAML, and its position. */
interface Misuse {
  readonly offset: number;
  readonly message: string;
  readonly code: string;
}

interface Tokens {
  readonly tokens: readonly CST.Token[];
  readonly quotes: readonly number[];
  /** Whether no anchor, alias or tag is among them. */
  readonly isPlain: boolean;
  readonly stopped?: Misuse;
}

/** Reads up to the first too deep nesting or excess alias; neither lexer nor parser is recursive. */
function* readingTokens(text: string, onNewLine: (offset: number) => void): Pieces<Tokens> {
  onNewLine(0);
  const parser = new Parser(onNewLine);
  const tokens: CST.Token[] = [];
  let aliases = 0;
  const quotes: number[] = [];
  let inScalar = false;
  let isPlain = true;
  let read = 0;
  for (const lexeme of new Lexer().lex(text)) {
    const { offset } = parser;
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > deepest) {
      const message = `not usable: nested more than ${deepest} deep; close the brackets, or take levels out`;
      return { tokens, quotes, isPlain, stopped: { offset: parser.offset - 1, message, code: 'yaml-depth' } };
    }
    const first = inScalar ? '' : lexeme[0];
    if (first === '*') aliases += 1;
    if (first === '*' || first === '&' || first === '!') isPlain = false;
    if (first === '"' || first === "'") quotes.push(offset);
    inScalar = lexeme === CST.SCALAR;
    if (aliases > maxAliases) {
      const message = `not usable: ${lexeme} is one of more than ${maxAliases} aliases; write its value out`;
      return { tokens, quotes, isPlain, stopped: { offset, message, code: 'yaml-aliases' } };
    }
    read += 1;
    if (read % lexemesInPiece === 0) yield undefined;
  }
  tokens.push(...parser.end());
  return { tokens, quotes, isPlain };
}

/**
 * Composes the members of long mappings a few at a time, up to the first syntax error. Returns undefined if there is no such
 * mapping, or for any other finding: then the whole is composed.
 */
function* composingLong(
  tokens: readonly CST.Token[],
  end: number,
  schema: Schema | undefined,
): Pieces<Composed | undefined> {
  const [token, ...others] = tokens.filter(({ type }) => !['comment', 'newline', 'space'].includes(type));
  if (token?.type !== 'document' || others.length > 0) return undefined;
  const long = longMappings.flatMap((path) => {
    const map = blockMapAt(token.value, path);
    return map === undefined || map.items.length <= membersInPiece ? [] : [{ path, map, whole: { ...map } }];
  });
  // The first error counts.
  long.sort((one, other) => one.map.offset - other.map.offset);
  if (long.length === 0 || !long.every(({ map }) => map.items.every(isNamed))) return undefined;
  // With the last members, each mapping ends where it does. Behind an empty one, a key has no offset but the mapping's.
  for (const { map } of long) {
    map.items = map.items.slice(-2);
    map.offset = map.items[0]?.key?.offset ?? map.offset;
  }
  const shell = composedPart(token, end, schema);
  for (const { map, whole } of long) Object.assign(map, whole);
  for (const { path, map } of long) {
    const node = shell?.document.getIn(path, true);
    if (shell === undefined || !isMap(node) || node.range == null) return undefined;
    node.range[0] = map.offset;
    node.items = [];
    const found: (readonly [string, Json])[] = [];
    let { offset } = map;
    for (let at = 0; at < map.items.length; at += membersInPiece) {
      yield undefined;
      const value = { ...map, offset, items: map.items.slice(at, at + membersInPiece) };
      const part = composedPart({ ...token, start: [], value, end: [] }, end, schemaAt(schema, path));
      if (part === undefined) return undefined;
      const [error] = part.document.errors;
      if (error !== undefined) {
        const [other = error] = shell.document.errors;
        shell.document.errors = [other.pos[0] < error.pos[0] ? other : error];
        return shell;
      }
      found.push(...Object.entries(part.value));
      const { contents } = part.document;
      if (!isMap(contents)) return undefined;
      node.items.push(...contents.items);
      offset = contents.range[1];
    }
    const members = Object.fromEntries(found);
    // A key that is there twice is a finding.
    if (Object.keys(members).length < node.items.length) return undefined;
    const holder = objectAt(shell.value, ...path.slice(0, -1)) as Record<string, Json>;
    holder[path.at(-1) ?? ''] = members;
  }
  return shell;
}

/** A part of a document, with its syntax errors; undefined if it has other findings. */
function composedPart(part: CST.Document, end: number, schema: Schema | undefined): Composed | undefined {
  const [document] = [...new Composer(composing).compose([part], false, end)] as readonly Document.Parsed[];
  if (document === undefined || document.warnings.length > 0) return undefined;
  if (document.errors.length > 0) return { value: {}, document };
  if (misuses(document, () => top).length > 0) return undefined;
  let isSound = true;
  const refuse = (): void => {
    isSound = false;
  };
  const value = readValue(document, { schema, refuse });
  return isSound ? { value, document } : undefined;
}

type BlockMapItem = CST.BlockMap['items'][number];

function blockMapAt(token: CST.Token | undefined, path: readonly string[]): CST.BlockMap | undefined {
  const found = path.reduce<CST.Token | null | undefined>((at, step) => {
    const held = at?.type === 'block-map' ? at.items.find((item) => keySourceOf(item) === step) : undefined;
    return held?.value;
  }, token);
  return found?.type === 'block-map' ? found : undefined;
}

function keySourceOf({ key }: BlockMapItem): string | undefined {
  return key != null && 'source' in key ? key.source : undefined;
}

/** Whether it has a key of its own, or is a comment at the end. A merge key depends on its neighbours. */
function isNamed(item: BlockMapItem): boolean {
  const source = keySourceOf(item);
  return source === undefined ? item.key === undefined && item.sep === undefined : source !== '<<';
}

function schemaAt(schema: Schema | undefined, path: readonly string[]): Schema | undefined {
  return path.reduce((at, step) => at?.properties?.[step], schema);
}

/**
 * Returns the first duplicate key, aliases without an anchor or within their own, and the first alias with which all
 * together expand to too much. Takes time linear in the document, whatever its aliases expand to.
 */
function misuses(document: Document.Parsed, placeAt: (offset: number) => Place): readonly Misuse[] {
  const found: Misuse[] = [];
  const anchors = new Map<string, Node>();
  const sizes = new Map<Node, number>();
  let aliased = 0;
  let repeated: { readonly node: Scalar; readonly first: Scalar } | undefined;
  const refuse = (node: Node, message: string, code = 'yaml-aliases'): void =>
    void found.push({ offset: node.range?.[0] ?? 0, message, code });
  const sourcesOf = (value: unknown): readonly unknown[] =>
    (isSeq(value) ? value.items : [value]).map((one) => (isAlias(one) ? anchors.get(one.source) : one));
  const sizeOf = (node: unknown): number => {
    if (isPair(node)) return sizeOf(node.key) + sizeOf(node.value);
    if (isAlias(node)) {
      const source = anchors.get(node.source);
      const size = source === undefined ? 0 : sizes.get(source);
      if (source === undefined)
        refuse(node, `not usable: no &${node.source} is before *${node.source}; anchor a value so`);
      else if (size === undefined)
        refuse(node, `not usable: *${node.source} is an alias of a value that contains it; write the value out`);
      const before = aliased;
      aliased += size ?? 0;
      if (before <= maxAliasedNodes && aliased > maxAliasedNodes) {
        refuse(
          node,
          `not usable: with *${node.source}, aliases expand to more than ${maxAliasedNodes} values; write values out`,
        );
      }
      return size ?? 0;
    }
    if (!isNode(node)) return 1;
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, node);
    let size = 1;
    if (isCollection(node)) {
      const keys = new Map<string, Scalar>();
      for (const item of node.items) {
        if (isPair(item) && isMap(node) && (isCollection(item.key) || isAlias(item.key)))
          refuse(item.key, 'not usable: a key is a text, not a list, a mapping or an alias', 'yaml-syntax');
        if (isPair(item) && isMap(node) && isScalar(item.key)) {
          // `7` and "7" are one key.
          const key = String(item.key.value);
          const first = keys.get(key);
          if (first !== undefined) repeated ??= { node: item.key, first };
          keys.set(key, item.key);
          if (isMergeKey(item.key) && !sourcesOf(item.value).every(isMap))
            refuse(item.key, 'not usable: << takes a mapping, an alias of one, or a list of them', 'yaml-syntax');
        }
        size += sizeOf(item);
      }
    }
    sizes.set(node, size);
    return size;
  };
  sizeOf(document.contents);
  if (repeated !== undefined) {
    const { node, first } = repeated;
    const { line } = placeAt(first.range?.[0] ?? 0);
    refuse(node, `not YAML: the key "${node.source}" is in line ${line} already; merge the two`, 'yaml-syntax');
  }
  return found;
}

/** The library reads a merge key as a symbol, and a tagged one as its text. */
function isMergeKey({ value, type }: Scalar): boolean {
  return typeof value === 'symbol' || (value === '<<' && type === 'PLAIN');
}

/** An integer beyond 2^53 becomes the text of its digits, as in a payload, and a phone number its own text. */
function keepDigits(document: Document.Parsed): void {
  visit(document, {
    Scalar(_, scalar) {
      const { value, source = '' } = scalar;
      if (typeof value !== 'number') return;
      if (phoneNumber.test(source)) scalar.value = source;
      else if (!Number.isSafeInteger(value) && wholeNumber.test(source)) scalar.value = String(BigInt(source));
    },
  });
}

/** A value without quotes that JavaScript writes in another way than the file. */
class Written {
  readonly value: number | boolean;
  readonly source: string;
  constructor(value: number | boolean, source: string) {
    this.value = value;
    this.source = source;
  }
}

/** Whether there is one. */
function keepWriting(document: Document.Parsed): boolean {
  let isOdd = false;
  visit(document, {
    Scalar(key, scalar) {
      const { value, source = '' } = scalar;
      if (key === 'key' || (typeof value !== 'number' && typeof value !== 'boolean') || String(value) === source)
        return;
      scalar.value = new Written(value, source);
      isOdd = true;
    },
  });
  return isOdd;
}

/** The plain value: the text where the schema takes one, the number or truth value elsewhere. */
function unwrapped(value: unknown, schema: Schema | undefined): Json {
  if (value instanceof Written) return takesTexts(schema) ? value.source : value.value;
  if (Array.isArray(value)) return value.map((item) => unwrapped(item, schema?.items));
  if (!isJsonObject(value)) return value as Json;
  const { properties = {}, additionalProperties } = schema ?? {};
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => [
      name,
      unwrapped(held, Object.hasOwn(properties, name) ? properties[name] : others),
    ]),
  );
}

/**
 * Where a text is meant, it is the first of several types. Where texts alone are allowed, a number stays one: a finding says
 * that it belongs in quotes.
 */
function takesTexts(schema: Schema | undefined): boolean {
  return Array.isArray(schema?.type) && schema.type[0] === 'string';
}

/** Follows the path as far as it exists; the offset of a key, not of its value. `members` caches the mappings read. */
function offsetOf(
  root: Node | null,
  path: ConfigPath,
  members: Map<Node, ReadonlyMap<string, Pair>>,
): number | undefined {
  let node: unknown = root;
  let offset = root?.range?.[0];
  for (const step of path) {
    if (isMap(node)) {
      const { items } = node;
      const pair = getOrMake(members, node, () => membersOf(items as Pair[])).get(String(step));
      if (pair === undefined) return offset;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(step)] as Node | undefined;
      if (item === undefined) return offset;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else {
      return offset;
    }
  }
  return offset;
}

/** By key; the first of two equal ones. */
function membersOf(pairs: readonly Pair[]): ReadonlyMap<string, Pair> {
  const named = pairs.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : []));
  return new Map(named.reverse());
}
