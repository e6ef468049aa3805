/** `agent runs …`: agent runs, waiting, under way and ended. @see CLI-5 and DIS-3 in docs/specification.md */

import type { JsonObject } from '../../machines/base/json.ts';
import type { RunDetail } from '../../runtime/control/contract.ts';
import type { ExitCode } from '../context.ts';
import { type CommandContext, hasFlag } from '../context.ts';
import { queryOf, tellNextPage } from '../history-query.ts';
import { counted, labelled, moment, reasonOf, routeOf, span, statusOf, titled, titledText } from '../labelled.ts';
import { ago, dim, indented, oneLine, printJson, table } from '../terminal.ts';

/** Without a gateway the runs are those on disk, and a note on standard error says so (COA-3). */
export async function listRuns(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('runs.list', queryOf(context));
  if (hasFlag(context, 'json')) {
    printJson(context, rows);
    return 0;
  }
  if (rows.length === 0) {
    context.out.print('No runs.\n');
    return 0;
  }
  const nowMs = Date.now();
  context.out.print(
    table(
      context.out,
      ['AGO', 'STATUS', 'ROUTE', 'EVENT', 'TRY', 'BURST', 'RUN', 'REASON'],
      rows.map((row) => [
        ago(row.queued_at, nowMs),
        statusOf(row),
        row.route,
        row.event,
        String(row.attempt),
        row.superseded === 0 ? '' : `+${row.superseded}`,
        row.id,
        reasonOf(row),
      ]),
    ),
  );
  tellNextPage(
    context,
    rows.map(({ id }) => id),
  );
  return 0;
}

export async function showRun(context: CommandContext): Promise<ExitCode> {
  const withTranscript = hasFlag(context, 'transcript');
  const params = { id: context.args[0] ?? '', ...(withTranscript ? { transcript: true } : {}) };
  const { transcript, ...run } = await context.ask('runs.show', params);
  if (hasFlag(context, 'json')) printJson(context, { ...run, ...(withTranscript ? { transcript } : {}) });
  else {
    context.out.print(spellRun(context, run, withTranscript));
    for (const entry of (transcript ?? []) as readonly JsonObject[])
      context.out.print(`\n${spellEntry(context, entry)}`);
  }
  return 0;
}

/** What the transcript tells is not told before it. */
function spellRun({ out }: CommandContext, run: RunDetail, withTranscript: boolean): string {
  const nowMs = Date.now();
  const { started_at, ended_at, response, superseded, events } = run;
  const head = labelled(out, [
    ['Route', routeOf(run)],
    ['Event', `${run.event}, delivery ${run.delivery_id}`],
    ['Fired by', run.kind === 'cron' ? 'a cron job' : undefined],
    ['Batch', events === undefined ? undefined : `${counted(events, 'event')} in its prompt`],
    ['Burst', superseded === 0 ? undefined : `stands for ${counted(superseded, 'earlier event')}`],
    ['Queued', moment(run.queued_at, nowMs)],
    ['Started', started_at && `${moment(started_at, nowMs)}, after ${span(run.queued_at, started_at)}`],
    ['Ended', ended_at && `${moment(ended_at, nowMs)}, after ${span(started_at ?? run.queued_at, ended_at)}`],
    ['Tries', run.attempt > 1 ? String(run.attempt) : undefined],
    ['Spent', spentBy(run)],
    ['Delivery', run.delivery && arrivalOf(run.delivery)],
    ['Notice', run.notice && arrivalOf(run.notice)],
    ['Answer with', run.question && reasonOf(run)],
    ['Reason', run.reason],
  ]);
  const texts = withTranscript
    ? ''
    : titledText(out, 'Prompt', run.prompt) + (response === null ? '' : titledText(out, 'Response', response));
  return titled(out, run.id, statusOf(run)) + head + texts;
}

function spentBy({ steps, input_tokens, output_tokens, cost }: RunDetail): string | undefined {
  if (steps === undefined) return undefined;
  const tokens = `${input_tokens ?? 0} tokens in and ${output_tokens ?? 0} out`;
  return `${counted(steps, 'step')}, ${tokens}${cost === undefined ? '' : `, cost ${cost}`}`;
}

function arrivalOf({ target, chat, status, messageId, attempts = 0 }: NonNullable<RunDetail['delivery']>): string {
  const place = chat === undefined ? target : `${target}, ${chat}`;
  const as = messageId === undefined ? '' : ` as ${messageId}`;
  return `${place}: ${status}${as}, ${counted(attempts, 'try', 'tries')}`;
}

export async function cancelRun(context: CommandContext): Promise<ExitCode> {
  const answer = await context.ask('runs.cancel', { id: context.args[0] ?? '' });
  if (hasFlag(context, 'json')) printJson(context, answer);
  else
    context.out.print(
      'cancelling' in answer
        ? `Run ${oneLine(answer.cancelling)} is ending.\n`
        : `Cancelled ${oneLine(answer.cancelled)}.\n`,
    );
  return 0;
}

/** One utterance: who, and what. */
function spellEntry({ out }: CommandContext, entry: JsonObject): string {
  const { kind, text, tool } = entry;
  const head = { call: `call ${String(tool)}`, result: entry.is_error === true ? 'error' : 'result' }[String(kind)];
  return `${dim(out, oneLine(head ?? String(kind)))}\n${indented(String(text ?? entry.arguments ?? ''), '  ')}\n`;
}
