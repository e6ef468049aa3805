/** Puts values into words for a terminal: tables that fit, trees, times, and nothing that could move the cursor. */

import type { CommandContext, Output } from './context.ts';

const control = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;

/** A text without control characters and overriding directions. */
export function plain(text: string): string {
  return text.replace(control, '\uFFFD');
}

/** One line of it. */
export function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, ' ').trim();
}

export function printJson(context: CommandContext, value: unknown): void {
  context.out.print(`${JSON.stringify(value, null, 2)}\n`);
}

/** A table whose last column is cut where the terminal ends; a pipe gets it whole. */
export function table(out: Output, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(oneLine));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row, index) => {
    const line = row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
    const cut = out.isTerminal && line.length > out.columns ? `${line.slice(0, out.columns - 1)}…` : line;
    return index === 0 ? dim(out, cut) : cut;
  });
  return `${lines.join('\n')}\n`;
}

/** A text in lines of at most that many characters where its words allow; lines after the first begin with the margin. */
export function wrapped(text: string, width: number, margin: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    const indent = lines.length === 0 ? 0 : margin.length;
    if (line !== '' && indent + longer.length > width) {
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
