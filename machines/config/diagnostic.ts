/**
 * A finding about a configuration: where, what, how to fix it, and which part of the gateway it stops. Printed like a
 * compiler's: the line and a caret below the column. Secrets in the line are masked.
 * @see CFG-2 in docs/specification.md
 */

import type { ConfigPath } from './document.ts';

/** A finding without its position: the path in what was checked, the message and its code. */
export interface EntryFinding {
  readonly path: ConfigPath;
  readonly message: string;
  readonly code: string;
}

export interface Diagnostic {
  readonly file: string;
  /** From 1; 0 if the finding is about no line, such as an environment variable. */
  readonly line: number;
  readonly column: number;
  readonly code: string;
  readonly message: string;
  readonly severity: 'error' | 'warning';
  /** What it stops: everything, the webhook adapter and one section, the adapter alone, one server or one platform. */
  readonly scope: DiagnosticScope;
  /** The line with secrets masked; of a long line the part around the column; empty if there is none. */
  readonly sourceLine: string;
  /** How many characters before the column are left out of that part; fewer if a mask is longer than its secret. */
  readonly sourceOffset?: number;
}

export type DiagnosticScope =
  | { readonly kind: 'home' }
  /** A top-level key whose default does no harm. */
  | { readonly kind: 'section'; readonly section: string }
  | { readonly kind: 'webhook' }
  | { readonly kind: 'server'; readonly server: string }
  | { readonly kind: 'platform'; readonly platform: string };

/** An error that is about no line of its file. */
export function findingOfFile(
  file: string,
  { message, code }: Pick<Diagnostic, 'message' | 'code'>,
  scope: DiagnosticScope = { kind: 'home' },
): Diagnostic {
  return { file, line: 0, column: 0, message, code, severity: 'error', scope, sourceLine: '' };
}

// Linear: a match starts only at the beginning of a word and ends with it, because a line may be as long as the file.
const key = /(?<![\w-])[\w-]+["']?\s*:\s*/g;
/** The names that the log masks too, apart from `client_key`, which is the path of a file. */
export const soundsSecret = /secret|token|passw|passphrase|(?:api|private)[_-]?key|credential|authorization|cookie/i;
/** A value: quoted, a list, or plain text to the end of the line or, in flow style, of the member. */
const quotedOrList = /"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\[[^\]]*\]?/y;
const plainValue = /(?![\s{])(?:(?!\s#).)+/y;
const memberValue = /(?![\s{])(?:\$\{[^{}]*\}|[^,}\]])+/y;
/** The secrets in an address: a webhook's parameter, and a password before the host. */
const secretInAddress =
  /(?<=[?&](?:sig|key|token|secret)=)(?:\$\{[^{}]*\}|[^&\s"',}])+|(?<=:\/\/[^\s/:@"']{0,64}:)[^\s/@"']+(?=@)/g;
/**
 * A flag or variable among a program's arguments, up to its value: `--api-key=`, `API_KEY=`, or `'--api-key', `. A further
 * flag is no value, and a parameter of an address is masked as such.
 */
const flag = /(?<![\w?&.-])(["']?)(?:-{0,2}([\w-]+)=|--?([\w-]+)["']?\s*,\s*(?!["']?-))/g;
/** The rest of an argument in quotes, such as `'--api-key=a,b'`. */
const restOfQuoted = { '"': /(?:[^"\\]|\\.)*/y, "'": /(?:[^']|'')*/y };
/** Quotes, references and trailing space, which are shown, or any other character. */
const shownOrHidden = /(^["']|["']$|(?<!\s)\s+$|\$\{[\w:]+\})|./gsu;

/** Orders the findings of one file by position. */
export function byPlace(one: Diagnostic, other: Diagnostic): number {
  return one.line - other.line || one.column - other.column;
}

/** `file:line:col: message [code]`, then the line and a caret. */
export function printDiagnostic(found: Diagnostic): string {
  const place = found.line === 0 ? found.file : `${found.file}:${found.line}:${found.column}`;
  const head = `${place}: ${found.severity === 'warning' ? 'warning: ' : ''}${found.message} [${found.code}]`;
  if (found.sourceLine.trim() === '') return head;
  const before = found.column - 1 - (found.sourceOffset ?? 0);
  const margin = found.sourceLine.slice(0, Math.max(0, before)).replace(/[^\t]/g, ' ');
  return `${head}\n  ${found.sourceLine}\n  ${margin}^`;
}

/** A longer line is shown in part, because values far from the column are not part of the finding. */
const maxSourceLength = 120;
const shownOfLong = 60;
const shownBefore = 12;

/** The source line of a finding, already masked, or the part of a long one around a column. */
export function sourceAt(masked: string, column: number): Pick<Diagnostic, 'sourceLine' | 'sourceOffset'> {
  const isLong = masked.length > maxSourceLength;
  const from = isLong ? Math.max(0, Math.min(column - 1 - shownBefore, masked.length - shownOfLong)) : 0;
  const to = isLong ? from + shownOfLong : masked.length;
  const [begin, end] = [from > 0 ? '…' : '', to < masked.length ? '…' : ''];
  const before = begin + shortMasks(masked.slice(from, Math.max(from, column - 1)).replace(maskAtEnd, ''));
  const sourceLine = `${begin}${shortMasks(masked.slice(from, to))}${end}`;
  const sourceOffset = column - 1 - before.length;
  return sourceOffset === 0 ? { sourceLine } : { sourceLine, sourceOffset };
}

/** Replaces each hidden character until the line is shown. From the private use area, so that no text contains it. */
export const maskMark = '\ue001';
const masks = new RegExp(`${maskMark}+`, 'g');
const maskAtEnd = new RegExp(`${maskMark}+$`);

/** The text to show: the mask does not reveal the length of the secret. */
export function shortMasks(masked: string): string {
  return masked.replace(masks, '***');
}

/**
 * Hides values of secret-sounding keys and secrets in addresses, but not references. One mark per character keeps columns.
 */
export function maskSecrets(line: string): string {
  let masked = '';
  let at = 0;
  const opens = line.search(/[{[]/);
  for (const found of line.matchAll(key)) {
    const start = found.index + found[0].length;
    if (start < at || !soundsSecret.test(found[0])) continue;
    const isMember = opens >= 0 && opens < found.index;
    const value = valueAt(start, line, [quotedOrList, isMember ? memberValue : plainValue]);
    masked += line.slice(at, start) + hide(value);
    at = start + value.length;
  }
  return maskFlags(masked + line.slice(at)).replace(secretInAddress, hide);
}

/** Hides the values of secret-sounding flags and variables, as `config show` does. */
function maskFlags(line: string): string {
  let masked = '';
  let at = 0;
  const opens = line.search(/[{[]/);
  for (const found of line.matchAll(flag)) {
    const [before, quote, assigned, name = assigned ?? ''] = found;
    const start = found.index + before.length;
    if (start < at || !soundsSecret.test(name)) continue;
    const isMember = assigned === undefined || (opens >= 0 && opens < found.index);
    const isQuoted = assigned !== undefined && (quote === '"' || quote === "'");
    const forms = isQuoted ? [restOfQuoted[quote]] : [quotedOrList, isMember ? memberValue : plainValue];
    const value = valueAt(start, line, forms);
    masked += line.slice(at, start) + hide(value);
    at = start + value.length;
  }
  return masked + line.slice(at);
}

function hide(value: string): string {
  return value.replace(shownOrHidden, (one: string, shown?: string) => shown ?? maskMark.repeat(one.length));
}

function valueAt(start: number, line: string, forms: readonly RegExp[]): string {
  for (const form of forms) {
    form.lastIndex = start;
    const [value] = form.exec(line) ?? [];
    if (value !== undefined) return value;
  }
  return '';
}
