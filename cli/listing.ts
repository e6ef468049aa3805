/**
 * Lists of events, runs and deliveries: one page of rows that says if there are more, or with --follow each row as it is
 * added or changed.
 * @see CLI-6 in docs/specification.md
 */

import { rowLimit } from '../machines/base/row-limits.ts';
import { meantOr } from '../machines/config/nearest.ts';
import type { HistoryQuery } from '../runtime/control/contract/choices.ts';
import type { Swept } from '../runtime/control/contract/deliveries.ts';
import type { Ask } from '../runtime/control/contract.ts';
import { connectGateway } from './call.ts';
import { type CommandContext, type ExitCode, hasFlag, queryOf, textFlag } from './context.ts';
import { followUntilEnd, pausesOf } from './follow.ts';
import { counted } from './labelled.ts';
import { ago, dim, oneLine, printJson, printJsonLine, tableLines, wrapped } from './terminal.ts';

export interface Listing<Row> {
  readonly read: (ask: Ask, query: Partial<HistoryQuery>) => Promise<readonly Row[]>;
  /** `keyOf` identifies a row; `atOf` is the time that orders the rows. */
  readonly keyOf: (row: Row) => string;
  readonly atOf: (row: Row) => string;
  /** A followed row is printed again when this changes. */
  readonly phaseOf: (row: Row) => string;
  /** The columns after the time. */
  readonly head: readonly string[];
  readonly cells: (row: Row, nowMs: number) => readonly string[];
  /** Printed if no row matches. */
  readonly none: string;
}

/** How many rows --follow checks for changes, and how many it prints first. */
const followedRows = 200;
const firstRows = 10;
const pollMs = 500;
/** A search may read the complete history: it rests so many times as long as it took. */
const restShare = 4;

export async function showList<Row>(context: CommandContext, listing: Listing<Row>): Promise<ExitCode> {
  if (hasFlag(context, 'follow')) return followList(context, listing);
  const { out } = context;
  const query = queryOf(context);
  const limit = rowLimit(query.limit);
  // One more than is shown, to see whether there are more.
  const found = await listing.read(context.ask, { ...query, limit: limit + 1 });
  const rows = found.slice(0, limit);
  if (rows.length === 0 && (await isUnread(context))) return 1;
  if (hasFlag(context, 'json')) printJson(context, rows);
  else if (rows.length === 0) out.print(`${listing.none}\n`);
  else {
    const nowMs = Date.now();
    const cells = rows.map((row) => [ago(listing.atOf(row), nowMs), ...listing.cells(row, nowMs)]);
    out.print(linesOf(context, ['AGO', ...listing.head], cells).join(''));
  }
  if (rows.length === 0) await sayWhyNone(context);
  const last = rows.at(-1);
  if (last === undefined) return 0;
  const before = listing.keyOf(last);
  // At the bound no further row comes with the others.
  const isFull = rows.length === limit && rowLimit(limit + 1) === limit;
  const further = isFull ? await listing.read(context.ask, { ...query, before, limit: 1 }) : found.slice(limit);
  if (further.length > 0) sayMore(context, limit, before);
  return 0;
}

/** Whether nothing was found because the gateway cannot read its journal, and says so. */
async function isUnread({ ask, out }: CommandContext): Promise<boolean> {
  const journal = await ask('gateway.status').then((status) => status?.journal, noAnswer);
  if (journal === undefined || journal === 'ready') return false;
  out.complain(`agent: ${oneLine(journal)}\n`);
  return true;
}

/**
 * Shows the outcome of a change of many, with the reasons for what is left.
 * @param done how many were changed
 */
export async function showSweep<Answer extends Pick<Swept, 'left' | 'refusals'>>(
  context: CommandContext,
  answer: Answer,
  done: number,
  words: (answer: Answer) => string,
): Promise<ExitCode> {
  const { left, refusals } = answer;
  const isNone = done === 0 && left === 0;
  if (isNone && (await isUnread(context))) return 1;
  if (hasFlag(context, 'json')) printJson(context, answer);
  else {
    context.out.print(`${oneLine(words(answer))}${left === 0 ? '' : ` ${left} could not be touched:`}\n`);
    for (const { id, error, code } of refusals)
      context.out.complain(`agent: ${oneLine(`${id}: ${error} [${code}]`)}\n`);
    if (left > refusals.length) context.out.complain(`agent: and ${left - refusals.length} more\n`);
  }
  if (isNone) await sayWhyNone(context);
  return left === 0 ? 0 : 1;
}

/** Says why nothing matches: no profile or route has this name. */
export async function sayWhyNone(context: CommandContext): Promise<void> {
  const { ask, out } = context;
  const profile = textFlag(context, 'profile');
  // Refused where no profile of that name is served, with the fix.
  const refused =
    profile === undefined ? undefined : await ask('cron.list', { profile }).then(noAnswer, codeAndMessage);
  if (refused?.code === 'profile-unknown') out.complain(`agent: ${oneLine(refused.message)}\n`);
  const route = textFlag(context, 'route');
  if (route === undefined) return;
  const names = await ask('webhook.list', { brief: true }).then((rows) => rows.map(({ name }) => name), noAnswer);
  if (names === undefined || names.includes(route)) return;
  const cure = meantOr(route, names, '`agent webhook list` lists them');
  out.complain(`agent: no route is named "${oneLine(route)}"; ${oneLine(cure)}\n`);
}

/** Without a gateway, or from a run, some commands are refused. */
function noAnswer(): undefined {
  return undefined;
}

function codeAndMessage({ code, message }: { readonly code?: unknown; readonly message: string }) {
  return { code, message };
}

function sayMore(context: CommandContext, limit: number, last: string): void {
  const larger = rowLimit(limit + 1) > limit ? `--limit ${rowLimit(limit * 2)}, or ` : '';
  sayStopped(
    context,
    `The newest ${counted(limit, 'row')}. There are more: ${larger}--before ${last} for the next page.`,
  );
}

/** Says that a list is incomplete; in a pipe on standard error, because its reader takes the rows for all. */
export function sayStopped({ out, flags }: CommandContext, text: string): void {
  if (out.isTerminal && flags.json === undefined)
    for (const line of wrapped(text, out.columns, '')) out.print(`${dim(out, line)}\n`);
  else out.complain(`agent: ${text}\n`);
}

async function followList<Row>(context: CommandContext, listing: Listing<Row>): Promise<ExitCode> {
  const { out, flags } = context;
  if (flags.before !== undefined) {
    out.complain('agent: --follow prints what comes and --before what came; give one of them\n');
    return 2;
  }
  const client = await connectGateway(context.gateway);
  const pause = pausesOf(client);
  const print = createPrinter(context, listing);
  let phases: ReadonlyMap<string, string> | undefined;
  return followUntilEnd(client, context.gateway, async () => {
    for (;;) {
      const begunMs = performance.now();
      const rows = await newRows(listing, client.ask, { query: queryOf(context), phases });
      const known = phases;
      const changed = rows.filter((row) => known?.get(listing.keyOf(row)) !== listing.phaseOf(row));
      print(
        (known === undefined ? changed.slice(0, rowLimit(queryOf(context).limit ?? firstRows)) : changed).reverse(),
      );
      phases = new Map(rows.map((row) => [listing.keyOf(row), listing.phaseOf(row)]));
      await pause(Math.max(pollMs, restShare * (performance.now() - begunMs)));
    }
  });
}

interface Followed {
  readonly query: Partial<HistoryQuery>;
  /** The rows of the last poll; undefined at the first. */
  readonly phases: ReadonlyMap<string, string> | undefined;
}

/** The newest rows: as many as are followed, and all added since the last poll. */
async function newRows<Row>(listing: Listing<Row>, ask: Ask, { query, phases }: Followed): Promise<readonly Row[]> {
  const [newest = ''] = phases?.keys() ?? [];
  const rows: Row[] = [];
  for (let before: string | undefined; ; ) {
    const found = await listing.read(ask, {
      ...query,
      limit: followedRows,
      ...(before === undefined ? {} : { before }),
    });
    rows.push(...found);
    const last = found.at(-1);
    if (last === undefined || found.length < followedRows || phases === undefined) return rows;
    before = listing.keyOf(last);
    if (before <= newest) return rows;
  }
}

/** Prints rows below the earlier ones, with a header at first and when the columns change. */
function createPrinter<Row>(context: CommandContext, listing: Listing<Row>): (rows: readonly Row[]) => void {
  const { out } = context;
  let begun: string | undefined;
  let earlier: readonly (readonly string[])[] = [];
  return (rows) => {
    if (hasFlag(context, 'json')) {
      for (const row of rows) printJsonLine(context, row);
      return;
    }
    if (rows.length === 0 && begun !== undefined) return;
    const nowMs = Date.now();
    const cells = rows.map((row) => [
      clockOf(begun === undefined ? listing.atOf(row) : nowMs),
      ...listing.cells(row, nowMs),
    ]);
    earlier = [...earlier.slice(-followedRows), ...cells];
    const [head, ...lines] = linesOf(context, ['TIME', ...listing.head], earlier);
    if (head !== begun) out.print(head);
    begun = head;
    out.print(lines.slice(lines.length - cells.length).join(''));
  };
}

/** The PROFILE column is shown only if a row has another profile than the default. */
function linesOf({ out }: CommandContext, head: readonly string[], rows: readonly (readonly string[])[]) {
  const at = head.indexOf('PROFILE');
  const isIdle = rows.every((row) => row[at] === 'default');
  const shown = (cells: readonly string[]): readonly string[] =>
    isIdle ? cells.filter((_, index) => index !== at) : cells;
  return tableLines(out, shown(head), rows.map(shown));
}

function clockOf(at: string | number): string {
  return `${new Date(at).toISOString().slice(11, 19)}Z`;
}
