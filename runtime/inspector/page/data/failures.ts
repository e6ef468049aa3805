/**
 * Rules of the failures view: which rows are selected, the text of a group, and the question before an action. Independent
 * of the page.
 * @see INS-4 and DLV-4 in docs/specification.md
 */

import type { FailureGroupRow, FailureRow } from '../../../control/contract/deliveries.ts';
import { counted } from './format.ts';

/** A retry of more than this needs a confirmation. */
export const askAbove = 20;

/** Adds or removes a row, or with `from` all rows between it and that one. */
export function selected(
  rows: readonly FailureRow[],
  before: ReadonlySet<string>,
  { id, from }: { readonly id: string; readonly from?: string },
): ReadonlySet<string> {
  const after = new Set(before);
  const at = rows.findIndex((row) => row.id === id);
  const other = from === undefined ? -1 : rows.findIndex((row) => row.id === from);
  if (other === -1) {
    if (!after.delete(id)) after.add(id);
    return after;
  }
  for (const row of rows.slice(Math.min(at, other), Math.max(at, other) + 1)) after.add(row.id);
  return after;
}

export function routesWords({ routes }: Pick<FailureGroupRow, 'routes'>): string {
  if (routes.length > 3) return `${routes.length} routes`;
  return `${routes.length === 1 ? 'Route' : 'Routes'} ${routes.join(', ')}`;
}

/** Returns whether a retry can help, if the advice does not say it. */
export function helpsWords({ helps }: Pick<FailureGroupRow, 'helps'>): string {
  if (helps === 'never') return ' A retry sends the same message to the same place.';
  return helps === 'afterFix' ? ' Retrying will not help before that.' : '';
}

export function deliveriesWords(count: number): string {
  return counted(count, 'delivery', 'deliveries');
}
