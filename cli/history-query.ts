/**
 * The flags that filter the history, or select one event of it.
 * @see CLI-2 and DUR-2 in docs/specification.md
 */

import { sinceMs } from '../machines/base/since.ts';
import type { ById, EventChoice, HistoryQuery } from '../runtime/control/contract.ts';
import { type CommandContext, textFlag, textFlags } from './context.ts';

/** The flags that filter a list. */
export function queryOf(context: CommandContext): Partial<HistoryQuery> {
  const limit = textFlag(context, 'limit');
  const since = textFlag(context, 'since');
  const fromMs = since === undefined ? undefined : sinceMs(since, Date.now());
  return {
    ...(limit === undefined ? {} : { limit: Number(limit) }),
    ...(fromMs === undefined ? {} : { since: new Date(fromMs).toISOString() }),
    ...textFlags(context, 'before', 'route', 'profile', 'status'),
  };
}

/** The event that a command selects: an id or key, with filters if an id reached several routes. */
export function askedEvent(context: CommandContext): EventChoice & ById {
  return { id: context.args[0] ?? '', ...textFlags(context, 'route', 'profile') };
}
