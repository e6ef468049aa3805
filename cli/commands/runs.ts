/** `agent runs …`: agent runs: waiting, running and ended. @see CLI-5 and DIS-3 in docs/specification.md */

import type { JsonObject } from '../../machines/base/json.ts';
import { stateWords } from '../../machines/base/status.ts';
import type { RunDetail } from '../../runtime/control/contract/runs.ts';
import type { Result } from '../../runtime/control/contract.ts';
import { agentOf, type CommandContext, type ExitCode, hasFlag, queryOf, refuse } from '../context.ts';
import { counted, labelled, moment, reasonOf, routeOf, span, statusOf, titled, titledText } from '../labelled.ts';
import { type Listing, showList, showSweep } from '../listing.ts';
import { dim, indented, oneLine, show } from '../terminal.ts';

const listing = (agent: string): Listing<Result<'runs.list'>[number]> => ({
  read: (ask, query) => ask('runs.list', query),
  keyOf: ({ id }) => id,
  atOf: ({ queued_at }) => queued_at,
  phaseOf: (row) => `${statusOf(row)} ${row.attempt}`,
  head: ['STATUS', 'ROUTE', 'PROFILE', 'EVENT', 'TRY', 'BATCH', 'RUN', 'REASON'],
  cells: (row) => [
    statusOf(row),
    row.route,
    row.profile,
    row.event,
    String(row.attempt),
    batchOf(row),
    row.id,
    reasonOf(row, agent),
  ],
  none: 'No runs.',
});

/** All events of a batch, or the earlier ones that the newest replaces. */
function batchOf({ superseded, events }: Result<'runs.list'>[number]): string {
  if (events !== undefined) return counted(superseded + events, 'event');
  return superseded === 0 ? '' : `+${superseded}`;
}

/** Without a gateway, lists the runs on disk and says so on standard error (COA-3). */
export function listRuns(context: CommandContext): Promise<ExitCode> {
  return showList(context, listing(agentOf(context.gateway)));
}

export async function showRun(context: CommandContext): Promise<ExitCode> {
  const withTranscript = hasFlag(context, 'transcript');
  const params = { id: context.args[0] ?? '', ...(withTranscript ? { transcript: true } : {}) };
  const { transcript, ...run } = await context.ask('runs.show', params);
  const entries = (transcript ?? []) as readonly JsonObject[];
  return show(context, { ...run, ...(withTranscript ? { transcript } : {}) }, () =>
    [formatRun(context, run, withTranscript), ...inCallOrder(entries).map((entry) => formatEntry(context, entry))].join(
      '\n',
    ),
  );
}

/** What the transcript contains is not shown before it. */
function formatRun({ out, gateway }: CommandContext, run: RunDetail, withTranscript: boolean): string {
  const nowMs = Date.now();
  const { started_at, ended_at, response, superseded, events } = run;
  const head = labelled(out, [
    ['Route', routeOf(run)],
    ['Event', `${run.event}, delivery ${run.delivery_id}`],
    ['Fired by', run.kind === 'cron' ? 'a cron job' : undefined],
    ['Batch', events === undefined ? undefined : counted(superseded + events, 'event')],
    [
      'Batch',
      superseded === 0 || events !== undefined ? undefined : `replaces ${counted(superseded, 'earlier event')}`,
    ],
    ['Queued', moment(run.queued_at, nowMs)],
    ['Started', started_at && `${moment(started_at, nowMs)}, after ${span(run.queued_at, started_at)}`],
    ['Ended', ended_at && `${moment(ended_at, nowMs)}, after ${span(started_at ?? run.queued_at, ended_at)}`],
    ['Tries', run.attempt > 1 ? String(run.attempt) : undefined],
    ['Spent', spentBy(run)],
    ['Delivery', (run.deliveries ?? (run.delivery ? [run.delivery] : [])).map(arrivalOf).join('\n')],
    ['Notice', run.notice && arrivalOf(run.notice)],
    ['Answer with', run.question && reasonOf(run, agentOf(gateway))],
    ['Reason', run.reason],
  ]);
  const texts = withTranscript
    ? ''
    : titledText(out, 'Prompt', run.prompt) + (response === null ? '' : titledText(out, 'Response', response));
  return titled(out, run.id, statusOf(run)) + head + texts;
}

function spentBy({ steps, input_tokens, cached_tokens, output_tokens, cost }: RunDetail): string | undefined {
  if (steps === undefined) return undefined;
  const cached = cached_tokens === undefined ? '' : `, ${cached_tokens} of them from the cache,`;
  const tokens = `${input_tokens ?? 0} tokens in${cached} and ${output_tokens ?? 0} out`;
  return `${counted(steps, 'step')}, ${tokens}${cost === undefined ? '' : `, cost ${cost}`}`;
}

function arrivalOf({ target, chat, status, messageId, attempts = 0 }: NonNullable<RunDetail['delivery']>): string {
  const place = chat === undefined ? target : `${target}, ${chat}`;
  const as = messageId === undefined ? '' : ` as ${messageId}`;
  return `${place}: ${stateWords(status)}${as}, ${counted(attempts, 'try', 'tries')}`;
}

/** Cancels one run by its id, or with --all every matching one. */
export async function cancelRun(context: CommandContext): Promise<ExitCode> {
  const [id] = context.args;
  const all = hasFlag(context, 'all');
  if ((id === undefined) === !all) return refuse(context, 'name one run, or give --all for every run', 2);
  const stray = all ? undefined : ['route', 'profile', 'status', 'since'].find((name) => hasFlag(context, name));
  if (stray !== undefined) return refuse(context, `--${stray} is for --all; beside an id leave it out`, 2);
  const answer = await context.ask('runs.cancel', all ? { ...queryOf(context), all } : { id: id ?? '' });
  if ('left' in answer)
    return showSweep(context, answer, answer.cancelled, ({ cancelled }) => `Cancelled ${counted(cancelled, 'run')}.`);
  return show(context, answer, () =>
    'cancelling' in answer
      ? `Run ${oneLine(answer.cancelling)} is ending.\n`
      : `Cancelled ${oneLine(answer.cancelled)}.\n`,
  );
}

/** The entries with each result behind its call: calls of one answer run at once, and an id is unique among them only. */
function inCallOrder(entries: readonly JsonObject[]): readonly JsonObject[] {
  const moved = new Set<JsonObject>();
  return entries.flatMap((entry, at) => {
    if (moved.has(entry)) return [];
    if (entry.kind !== 'call') return [entry];
    const next = entries.slice(at).find(({ kind, id }) => kind === 'answer' || (kind === 'result' && id === entry.id));
    if (next?.kind !== 'result') return [entry];
    moved.add(next);
    return [entry, next];
  });
}

/** One transcript entry: its author and text. */
function formatEntry({ out }: CommandContext, entry: JsonObject): string {
  const { kind, text, tool } = entry;
  const head = { call: `call ${String(tool)}`, result: entry.is_error === true ? 'error' : 'result' }[String(kind)];
  return `${dim(out, oneLine(head ?? String(kind)))}\n${indented(String(text ?? entry.arguments ?? ''))}\n`;
}
