/**
 * What the commands that list the history share: the flags that narrow a list or choose an event, and the word on the next
 * page.
 * @see CLI-2 and DUR-2 in docs/specification.md
 */

import type { JsonObject } from '../machines/base/json.ts';
import { rowLimit } from '../machines/base/row-limits.ts';
import type { ById, EventChoice, HistoryQuery } from '../runtime/control/contract.ts';
import { type CommandContext, textFlag } from './context.ts';
import { dim } from './terminal.ts';

/** The flags that narrow a list. */
export function queryOf(context: CommandContext): Partial<HistoryQuery> {
  const limit = limitOf(context);
  return {
    ...(limit === undefined ? {} : { limit }),
    ...flagsOf(context, ['before', 'route', 'profile', 'status']),
  };
}

/** The event that a command means: an id or key, and what chooses where an id came to several routes. */
export function askedEvent(context: CommandContext): EventChoice & ById {
  return { id: context.args[0] ?? '', ...flagsOf(context, ['route', 'profile']) };
}

/** Where a list is full there may be more; what reads a pipe counts the rows itself. */
export function tellNextPage(context: CommandContext, keys: readonly string[]): void {
  const { out } = context;
  const last = keys.at(-1);
  if (!out.isTerminal || last === undefined || keys.length < rowLimit(limitOf(context))) return;
  out.print(`${dim(out, `There may be more: the same with --before ${last}`)}\n`);
}

function limitOf(context: CommandContext): number | undefined {
  const limit = textFlag(context, 'limit');
  return limit === undefined ? undefined : Number(limit);
}

function flagsOf(context: CommandContext, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = textFlag(context, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
