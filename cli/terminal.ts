/** Formats values for a terminal: tables that fit, trees, times; removes everything that could move the cursor. */

import { shownText } from '../machines/base/shown-json.ts';
import type { CommandContext, Output } from './context.ts';
import { cutTo, padTo, widthOf } from './text-width.ts';

/**
 * Control characters, line separators and invisible formatting: directions, tags, byte order marks. Joiners are kept,
 * because emoji and some scripts need them.
 */
const control = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Multi-line text with control and direction characters replaced. Its lines may begin at the margin. */
export function plain(text: string): string {
  return text.replace(control, '\uFFFD');
}

/** Plain text with every line indented: untrusted text at the margin could imitate our own lines. */
export function indented(text: string): string {
  return plain(text).replace(/^(?=.)/gm, '  ');
}

export function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, ' ').trim();
}

/** Prints the value as JSON with invisible characters escaped, so it parses to the same value. */
export function printJson(context: CommandContext, value: unknown): void {
  context.out.print(`${shownText(JSON.stringify(value, null, 2))}\n`);
}

/** Prints what a command answers: with --json as it is, else as text. */
export function show(context: CommandContext, answer: unknown, text: () => string): 0 {
  if (context.flags.json !== undefined) printJson(context, answer);
  else context.out.print(text());
  return 0;
}

/** Prints the value on one line, for commands that continue printing. */
export function printJsonLine(context: CommandContext, value: unknown): void {
  context.out.print(`${shownText(JSON.stringify(value))}\n`);
}

/**
 * Columns that are never cut on a terminal: values to copy into the next command, times, and single words. In a pipe they
 * are complete at any length, because its reader passes them to the next command.
 */
const uncut = /^(?:ID|DELIVERY|RUN|KEY|NAME|SERVER|TOOL|URL|STATUS|STATE|SCHEDULE|TIME)$/;
/** Sentences and addresses. If they do not fit beside the row, they are placed below it. */
const sentenceHeads = /^(?:URL|REASON|WHY|PROBLEM|NOTE|MESSAGE|DESCRIPTION|RESULT)$/;
/** Untrusted senders choose the length of names and ids: one must not widen every row. */
const maxCellLength = 160;
const maxSentenceLength = 1_000;
const leastColumn = 8;
const between = '  ';
const margin = '     ';
const maxLinesBelow = 2;

/**
 * A table that fits the terminal: empty columns are left out, sentences are placed below their rows, the widest other
 * columns are cut. A pipe gets every column, one line per row, with complete ids. Other cells are cut at a maximum length.
 */
export function table(out: Output, head: readonly string[], rows: readonly (readonly string[])[]): string {
  return tableLines(out, head, rows).join('');
}

/** The same as separate strings: the header, and each row with the lines below it. */
export function tableLines(
  out: Output,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly [head: string, ...rows: string[]] {
  const cells = [head, ...rows].map((row) =>
    row.map((text, column) =>
      bounded(text, sentenceHeads.test(head[column] ?? '') ? maxSentenceLength : maxCellLength),
    ),
  );
  const natural = head.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ''))));
  let shown = head.map((_, column) => column);
  const lengthOf = (): number =>
    shown.reduce((sum, column) => sum + (natural[column] ?? 0), between.length * (shown.length - 1));
  if (out.isTerminal && lengthOf() > out.columns) {
    const says = (column: number): boolean => rows.some((row) => !/^(?:|default)$/.test(row[column] ?? ''));
    shown = shown.filter((column) => uncut.test(head[column] ?? '') || says(column));
  }
  const isWhole = (column: number): boolean => !out.isTerminal && uncut.test(head[column] ?? '');
  const last = shown.at(-1) ?? 0;
  const below = out.isTerminal && sentenceHeads.test(head[last] ?? '') && lengthOf() > out.columns ? last : undefined;
  if (below !== undefined) shown = shown.slice(0, -1);
  const widths = out.isTerminal ? fitted(head, natural, { shown, columns: out.columns }) : natural;
  const [first = '', ...others] = cells.map((row, index) => {
    const line = shown
      .map((column) => {
        const width = widths[column] ?? 0;
        if (index > 0 && isWhole(column)) return padTo(oneLine(rows[index - 1]?.[column] ?? ''), width);
        return padTo(cutTo(row[column] ?? '', width), width);
      })
      .join(between)
      .trimEnd();
    if (index === 0) return `${dim(out, line)}\n`;
    const lines = below === undefined ? [line] : [line, ...underneath(out, row[below] ?? '')];
    return `${lines.join('\n')}\n`;
  });
  return [first, ...others];
}

/** Text on one line, cut to the length of a cell. */
export function bounded(text: string, maxLength = maxCellLength): string {
  return cutTo(oneLine(text), maxLength);
}

/** A sentence below its row, in a few lines at most. */
function underneath(out: Output, text: string): string[] {
  if (text === '') return [];
  const lines = wrapped(text, out.columns - margin.length, '');
  const kept = lines.slice(0, maxLinesBelow);
  if (lines.length > maxLinesBelow) kept.push(cutTo(`${kept.pop()}…`, out.columns - margin.length));
  return kept.map((line) => dim(out, `${margin}${line}`));
}

/** Narrows the widest column that may be cut, column by column, until all fit or none can be cut further. */
function fitted(
  head: readonly string[],
  natural: readonly number[],
  { shown, columns }: { readonly shown: readonly number[]; readonly columns: number },
): readonly number[] {
  const widths = [...natural];
  let over = shown.reduce((sum, column) => sum + (widths[column] ?? 0), between.length * (shown.length - 1)) - columns;
  while (over > 0) {
    let widest = -1;
    for (const column of shown) {
      const width = widths[column] ?? 0;
      if (uncut.test(head[column] ?? '') || width <= Math.max(leastColumn, head[column]?.length ?? 0)) continue;
      if (widest < 0 || width > (widths[widest] ?? 0)) widest = column;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  return widths;
}

/** Text wrapped to the width where its words allow; lines after the first begin with the margin. */
export function wrapped(text: string, width: number, margin: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    const indent = lines.length === 0 ? 0 : margin.length;
    if (line !== '' && indent + widthOf(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((one, index) => (index === 0 ? one : `${margin}${one}`));
}

export function dim(out: Pick<Output, 'coloured'>, text: string): string {
  return out.coloured ? `\u001b[2m${text}\u001b[0m` : text;
}

export function bold(out: Pick<Output, 'coloured'>, text: string): string {
  return out.coloured ? `\u001b[1m${text}\u001b[0m` : text;
}

const colourCodes = { red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export function inColour(out: Pick<Output, 'coloured'>, colour: keyof typeof colourCodes, text: string): string {
  return out.coloured ? `\u001b[${colourCodes[colour]}m${text}\u001b[39m` : text;
}

/** How long ago a time was, in its largest unit. */
export function ago(iso: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(iso)) / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** How long until a time, in its largest unit. */
export function inTime(iso: string, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(iso) - nowMs) / 1_000));
  if (seconds < 120) return `in ${seconds}s`;
  if (seconds < 7_200) return `in ${Math.ceil(seconds / 60)}m`;
  return seconds < 172_800 ? `in ${Math.round(seconds / 3_600)}h` : `in ${Math.round(seconds / 86_400)}d`;
}
