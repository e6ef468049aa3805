/** `agent runs …`: agent runs, waiting, under way and ended. @see CLI-5 in docs/specification.md */

import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, hasFlag } from '../context.ts';
import { ago, printJson, table } from '../terminal.ts';
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
  printWhole(context, await context.call('runs.show', { id: context.args[0] ?? '' }));
  return 0;
}
