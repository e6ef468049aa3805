/**
 * `agent audit`: who changed what, newest first; reads the file, so it works without a gateway.
 * @see SEC-1 in docs/specification.md
 */

import { scalarText } from '../../machines/base/json.ts';
import { sinceMs } from '../../machines/base/since.ts';
import { type CommandContext, type ExitCode, hasFlag, textFlag } from '../context.ts';
import { sayStopped } from '../listing.ts';
import { ago, printJson, table } from '../terminal.ts';

const defaultRows = 50;

export async function showAudit(context: CommandContext): Promise<ExitCode> {
  const since = textFlag(context, 'since');
  const from = since === undefined ? undefined : sinceMs(since, Date.now());
  const search = textFlag(context, 'search');
  const limit = Number(textFlag(context, 'limit') ?? defaultRows);
  // One more than is shown, to see whether there are more.
  const found = await context.ask('audit.list', {
    limit: limit + 1,
    ...(from === undefined ? {} : { since: new Date(from).toISOString() }),
    ...(search === undefined ? {} : { search }),
  });
  const rows = found.slice(0, limit);
  if (hasFlag(context, 'json')) printJson(context, rows);
  else if (rows.length === 0) {
    const isAll = since === undefined && search === undefined;
    context.out.print(isAll ? 'Nothing was changed by the command line or the page.\n' : 'No rows.\n');
  } else {
    const cells = rows.map(({ at, who, from, what, on, refused }) => [
      context.out.isTerminal ? ago(at, Date.now()) : at,
      `${who} (${from})`,
      what,
      Object.entries(on)
        .map(([key, value]) => `${key}=${Array.isArray(value) ? value.join(',') : scalarText(value)}`)
        .join(' '),
      refused === undefined ? '' : `refused: ${refused}`,
    ]);
    context.out.print(table(context.out, ['TIME', 'WHO', 'WHAT', 'ON', 'RESULT'], cells));
  }
  if (found.length > limit) sayStopped(context, `The newest ${limit} rows. --limit ${limit * 2} shows more.`);
  return 0;
}
