/**
 * `agent audit`: who changed what, newest first; reads the file, so it works without a gateway.
 * @see SEC-1 in docs/specification.md
 */

import { scalarText } from '../../machines/base/json.ts';
import type { AuditRow } from '../../runtime/control/contract/gateway.ts';
import { type CommandContext, type ExitCode, queryOf, textFlags } from '../context.ts';
import { counted } from '../labelled.ts';
import { sayStopped } from '../listing.ts';
import { ago, show, table } from '../terminal.ts';

const defaultRows = 50;

export async function showAudit(context: CommandContext): Promise<ExitCode> {
  const { limit = defaultRows, ...asked } = { ...queryOf(context), ...textFlags(context, 'search') };
  // One more than is shown, to see whether there are more.
  const found = await context.ask('audit.list', { ...asked, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const none = Object.keys(asked).length === 0 ? 'Nothing was changed by the command line or the page.' : 'No rows.';
  const cells = ({ at, who, from, what, on, refused }: AuditRow): string[] => [
    context.out.isTerminal ? ago(at, Date.now()) : at,
    `${who} (${from})`,
    what,
    Object.entries(on)
      .map(([key, value]) => `${key}=${Array.isArray(value) ? value.join(',') : scalarText(value)}`)
      .join(' '),
    refused === undefined ? '' : `refused: ${refused}`,
  ];
  show(context, rows, () =>
    rows.length === 0 ? `${none}\n` : table(context.out, ['TIME', 'WHO', 'WHAT', 'ON', 'RESULT'], rows.map(cells)),
  );
  if (found.length > limit)
    sayStopped(context, `The newest ${counted(limit, 'row')}. --limit ${limit * 2} shows more.`);
  return 0;
}
