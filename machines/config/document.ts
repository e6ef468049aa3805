/**
 * Turns YAML text into plain JSON values that remember where they stand. One document, bounded aliases, no duplicate
 * keys. Of syntax errors the first is a finding with its place: those after it follow from it.
 * @see CFG-2 and CFG-7 in docs/specification.md
 */

import {
  Composer,
  type CST,
  type Document,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  visit,
} from 'yaml';
import { isJsonObject, type Json } from '../base/json.ts';

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface SourceFinding extends Place {
  readonly message: string;
  readonly code: string;
}

export type ConfigPath = readonly (string | number)[];

export interface ConfigDocument {
  readonly value: Json;
  readonly findings: readonly SourceFinding[];
  /** The place of a key (or of a list's item) by its path; of the nearest holder where the path does not exist. */
  place(path: ConfigPath): Place;
  /** The text of a line, from 1. */
  line(line: number): string;
}

/** Tells whether two paths are one; an index counts as its text. */
export function samePath(one: ConfigPath, other: ConfigPath): boolean {
  return one.length === other.length && one.every((step, index) => String(step) === String(other[index]));
}

const wholeNumber = /^(?:[-+]?\d+|0x[\da-f]+|0o[0-7]+)$/i;
/** Where none of these stands, every whole number is exact. */
const longDigits = /\d{16}|0x[\da-f]{14}/i;
/** A reference outside of quotes, as far as one line tells. */
const bareReference = /^[^"'#]*\$\{/;
/** More aliases than this in one document is an attack, not a configuration. */
const mostAliases = 100;
/** Far beyond any configuration. Composing nodes is recursive, and deep in the stack a regular expression ends the process. */
const deepest = 200;
const top: Place = { line: 1, column: 1 };

export function parseDocument(text: string): ConfigDocument {
  const counter = new LineCounter();
  const lines = text.split('\n');
  const { tokens, tooDeepAt } = readTokens(text, counter.addNewLine);
  const documents =
    tooDeepAt === undefined
      ? [...new Composer({ uniqueKeys: true, merge: true }).compose(tokens, false, text.length)]
      : [];
  const [document] = documents;
  const placeAt = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const findings: SourceFinding[] = [];
  if (tooDeepAt !== undefined)
    findings.push({
      ...placeAt(tooDeepAt),
      message: `not usable: nested more than ${deepest} deep; close the brackets, or take levels out`,
      code: 'yaml-depth',
    });
  if (document === undefined)
    return { value: {}, findings, place: () => top, line: (number) => lines[number - 1] ?? '' };
  const [error] = document.errors;
  if (error !== undefined) {
    const place = placeAt(error.pos[0]);
    const message = error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? error.code;
    // A brace opens a mapping within braces, which is what most people meet who write a reference there.
    const cure = bareReference.test(lines[place.line - 1] ?? '') ? '; put a value that holds ${…} in quotes' : '';
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
  for (const offset of cycles(document)) {
    findings.push({ ...placeAt(offset), message: 'the alias stands for what it lies in', code: 'yaml-aliases' });
  }
  let value: Json = {};
  if (findings.length === 0) {
    if (longDigits.test(text)) keepDigits(document);
    try {
      value = (document.toJS({ maxAliasCount: mostAliases }) ?? {}) as Json;
      if (!isJsonObject(value)) {
        findings.push({ ...top, message: 'the file must hold a mapping of settings', code: 'config-not-mapping' });
        value = {};
      }
    } catch (thrown) {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      findings.push({ ...top, message: `not usable: ${cause}`, code: 'yaml-aliases' });
    }
  }
  return {
    value,
    findings,
    place: (path) => {
      const offset = offsetOf(document.contents as Node | null, path);
      return offset === undefined ? top : placeAt(offset);
    },
    line: (number) => lines[number - 1] ?? '',
  };
}

/** Tells whether text is nested deeper than may be composed. */
export function isTooDeep(text: string): boolean {
  return readTokens(text).tooDeepAt !== undefined;
}

/** Reads as far as the nesting that is too deep, if there is any; neither lexer nor parser is recursive. */
function readTokens(
  text: string,
  onNewLine: (offset: number) => void = () => {},
): { readonly tokens: readonly CST.Token[]; readonly tooDeepAt?: number } {
  onNewLine(0);
  const parser = new Parser(onNewLine);
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > deepest) return { tokens, tooDeepAt: parser.offset - 1 };
  }
  tokens.push(...parser.end());
  return { tokens };
}

/** A whole number beyond 2^53 becomes the text of its digits, as it does in a payload. */
function keepDigits(document: Document.Parsed): void {
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value !== 'number' || Number.isSafeInteger(scalar.value)) return;
      if (wholeNumber.test(scalar.source ?? '')) scalar.value = String(BigInt(scalar.source ?? ''));
    },
  });
}

/** Where aliases stand for a node that holds them: as a value it would have no end. */
function cycles(document: Document.Parsed): number[] {
  const offsets: number[] = [];
  visit(document, {
    Alias(_, alias, above) {
      const source = alias.resolve(document);
      if (source !== undefined && above.includes(source)) offsets.push(alias.range?.[0] ?? 0);
    },
  });
  return offsets;
}

/** Walks as far as the path exists; a key's own place, not its value's. */
function offsetOf(root: Node | null, path: ConfigPath): number | undefined {
  let node: unknown = root;
  let offset = root?.range?.[0];
  for (const step of path) {
    if (isMap(node)) {
      const pair = (node.items as Pair[]).find(({ key }) => isScalar(key) && String(key.value) === String(step));
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
