/** `agent runs …`: agent runs, waiting, under way and ended. @see CLI-5 and DIS-3 in docs/specification.md */

import type { JsonObject } from '../../machines/base/json.ts';
import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, hasFlag } from '../context.ts';
import { ago, dim, plain, printJson, table } from '../terminal.ts';
import { printWhole, queryOf } from './webhook.ts';

interface RunRow {
  readonly id: string;
  readonly route: string;
  readonly event: string;
  readonly status: string;
  readonly attempt: number;
  readonly superseded: number;
  readonly reason?: string;
  readonly queued_at: string;
}

export async function listRuns(context: CommandContext): Promise<ExitCode> {
  const rows = (await context.call('runs.list', queryOf(context))) as unknown as readonly RunRow[];
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
        row.status,
        row.route,
        row.event,
        String(row.attempt),
        row.superseded === 0 ? '' : `+${row.superseded}`,
        row.id,
        row.reason ?? '',
      ]),
    ),
  );
  return 0;
}

export async function showRun(context: CommandContext): Promise<ExitCode> {
  const withTranscript = hasFlag(context, 'transcript');
  const params = { id: context.args[0] ?? '', ...(withTranscript ? { transcript: true } : {}) };
  const { transcript, ...run } = (await context.call('runs.show', params)) as JsonObject;
  if (hasFlag(context, 'json')) printJson(context, { ...run, ...(withTranscript ? { transcript } : {}) });
  else {
    printWhole(context, run);
    for (const entry of (transcript ?? []) as readonly JsonObject[])
      context.out.print(`\n${spellEntry(context, entry)}`);
  }
  return 0;
}

export async function cancelRun(context: CommandContext): Promise<ExitCode> {
  const id = context.args[0] ?? '';
  const answer = (await context.call('runs.cancel', { id })) as JsonObject;
  if (hasFlag(context, 'json')) printJson(context, answer);
  else
    context.out.print(answer.cancelled === undefined ? `Run ${plain(id)} is ending.\n` : `Cancelled ${plain(id)}.\n`);
  return 0;
}

/** One utterance: who, and what. */
function spellEntry({ out }: CommandContext, entry: JsonObject): string {
  const { kind, text, tool } = entry;
  const head = { call: `call ${String(tool)}`, result: entry.is_error === true ? 'error' : 'result' }[String(kind)];
  return `${dim(out, plain(head ?? String(kind)))}\n${plain(String(text ?? entry.arguments ?? ''))}\n`;
}
