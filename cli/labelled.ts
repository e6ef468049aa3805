/** Formats one record for a terminal: labels, times with their age, durations. */

import { stateWords } from '../machines/base/status.ts';
import { shownState } from '../machines/base/waiting.ts';
import type { Output } from './context.ts';
import { ago, bold, dim, indented, inTime, oneLine, plain, wrapped } from './terminal.ts';

/** A label with its value; a row without a value is left out. */
type Labelled = readonly [label: string, value: string | undefined];

/** Labels in a column, values beside them, wrapped in their own column. */
export function labelled(out: Output, rows: readonly Labelled[]): string {
  const shown = rows.filter((row): row is readonly [string, string] => row[1] !== undefined && row[1] !== '');
  const width = Math.max(...shown.map(([label]) => label.length)) + 2;
  const margin = ' '.repeat(width + 2);
  return shown
    .map(([label, value]) => {
      const lines = plain(value)
        .split('\n')
        .flatMap((line) => (out.isTerminal ? wrapped(line, out.columns - margin.length, '') : [line]));
      return `  ${label.padEnd(width)}${lines.join(`\n${margin}`)}\n`;
    })
    .join('');
}

/** The head of a record. */
export function titled(out: Output, name: string, state: string): string {
  return `${bold(out, oneLine(name))}  ${oneLine(state)}\n`;
}

/** A text below a record, indented so that it cannot imitate the next title; `(empty)` if it is blank. */
export function titledText(out: Output, title: string, text: string): string {
  return `\n${dim(out, title)}\n${text.trim() === '' ? dim(out, '(empty)') : indented(text)}\n`;
}

/** A time for people, with how long ago it was or how soon it comes. */
export function moment(iso: string, nowMs: number): string {
  const atMs = Date.parse(iso);
  const clock = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
  return atMs > nowMs ? `${clock}, ${inTime(iso, nowMs)}` : `${clock}, ${ago(iso, nowMs)} ago`;
}

/** The duration between two times. */
export function span(fromIso: string, toIso: string): string {
  return duration(Math.max(0, Date.parse(toIso) - Date.parse(fromIso)));
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function counted(count: number, word: string, plural = `${word}s`): string {
  return `${count} ${count === 1 ? word : plural}`;
}

/** A route, with its profile unless that is the default one. */
export function routeOf({ route, profile }: { readonly route: string; readonly profile: string }): string {
  return profile === 'default' ? route : `${route}, of profile ${profile}`;
}

/** A history row that may wait for a person. */
interface Waiting {
  readonly status: string;
  readonly reason?: string;
  readonly question?: string;
  readonly dropped?: true;
}

export function statusOf({ status, question, dropped }: Waiting): string {
  return dropped ? 'dropped' : stateWords(shownState(status, question));
}

/**
 * The reason, or the command that answers the question; `agent` is how it begins. A refusal without a reason has the name of
 * its outcome as one.
 */
export function reasonOf({ reason = '', question }: Waiting, agent: string): string {
  if (question !== undefined) return `${agent} approvals show ${question}`;
  return /^[a-z]+[A-Z][A-Za-z]*$/.test(reason) ? stateWords(reason) : reason;
}
