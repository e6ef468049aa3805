/**
 * Turns the flat rows of the living actors into the lines of a tree: who stands under whom, what is folded, what a filter
 * leaves. Knows no page and no network; 10,000 rows are laid out in a few milliseconds.
 * @see INS-2 in docs/specification.md
 */

import type { LivingRow } from '../../wire.ts';
import { lastPart } from './format.ts';
import { type Standing, standingOf, wordsOfActor } from './standing.ts';

export interface TreeFilter {
  readonly text: string;
  /** Only those that have failed, retry or wait for a person; empty for all. */
  readonly standing: Standing | '';
  /** Only those that are in their state for longer; 0 for all. */
  readonly longerThanMs: number;
  readonly route: string;
  readonly server: string;
}

export interface TreeLine {
  readonly row: LivingRow;
  readonly depth: number;
  readonly name: string;
  readonly children: number;
  readonly open: boolean;
  /** Shown only because something under it matches. */
  readonly dimmed: boolean;
  /** Its place among its siblings, for a reader of screens. */
  readonly position: number;
  readonly siblings: number;
}

export const everything: TreeFilter = { text: '', standing: '', longerThanMs: 0, route: '', server: '' };

/** A ward with more children than this begins folded. */
const mostUnfolded = 200;

export function isFiltering(filter: TreeFilter): boolean {
  return (
    filter.text !== '' ||
    filter.standing !== '' ||
    filter.longerThanMs > 0 ||
    filter.route !== '' ||
    filter.server !== ''
  );
}

/** A pool of actors of one kind, which does nothing itself. */
export function isWard({ machine }: { readonly machine: string }): boolean {
  return machine.endsWith('Pool');
}

/** How many of the rows are actors; a pool is none. */
export function countActors(rows: Iterable<LivingRow>): number {
  let count = 0;
  for (const row of rows) if (!isWard(row)) count += 1;
  return count;
}

/** Tells whether a row passes every part of the filter. */
export function matchesFilter(row: LivingRow, filter: TreeFilter, nowMs: number): boolean {
  if (filter.standing !== '' && standingOf(row) !== filter.standing) return false;
  if (filter.longerThanMs > 0 && (nowMs - row.since < filter.longerThanMs || standingOf(row) === 'ended')) return false;
  if (filter.route !== '' && row.meta?.route !== filter.route) return false;
  if (filter.server !== '' && row.meta?.server !== filter.server) return false;
  if (filter.text === '') return true;
  const text = filter.text.toLowerCase();
  const { id, machine, state, why = '', meta: { delivery = '', event = '' } = {} } = row;
  return [id, machine, state, wordsOfActor(row).text, why, delivery, event].some((held) =>
    held.toLowerCase().includes(text),
  );
}

/**
 * The lines that are to be seen, from the top down.
 * @param folded which branches a person has folded (true) or unfolded (false) by hand.
 */
export function treeLines(
  rows: ReadonlyMap<string, LivingRow>,
  filter: TreeFilter,
  { folded, nowMs }: { readonly folded: ReadonlyMap<string, boolean>; readonly nowMs: number },
): TreeLine[] {
  const filtering = isFiltering(filter);
  const matching = new Set<string>();
  const shown = new Set<string>();
  if (filtering) {
    for (const row of rows.values()) {
      if (!matchesFilter(row, filter, nowMs)) continue;
      matching.add(row.id);
      for (let id: string | null = row.id; id !== null && !shown.has(id); id = rows.get(id)?.parent ?? null) {
        shown.add(id);
      }
    }
  }
  const below = new Map<string, LivingRow[]>();
  const roots: LivingRow[] = [];
  const parents = new Set([...rows.values()].map(({ parent }) => parent));
  for (const row of rows.values()) {
    if (filtering && !shown.has(row.id)) continue;
    // A pool without members says nothing.
    if (!filtering && isWard(row) && !parents.has(row.id) && (row.meta?.size ?? 0) === 0) continue;
    const parent = row.parent !== null && rows.has(row.parent) ? row.parent : null;
    if (parent === null) roots.push(row);
    else {
      const siblings = below.get(parent);
      if (siblings === undefined) below.set(parent, [row]);
      else siblings.push(row);
    }
  }
  const lines: TreeLine[] = [];
  const visit = (siblings: readonly LivingRow[], depth: number, parent: string | null): void => {
    for (const [at, row] of siblings.entries()) {
      const children = below.get(row.id) ?? [];
      const open = children.length > 0 && !(folded.get(row.id) ?? (!filtering && children.length > mostUnfolded));
      lines.push({
        row,
        depth,
        name: lastPart(row.id, parent),
        children: children.length,
        open,
        dimmed: filtering && !matching.has(row.id),
        position: at + 1,
        siblings: siblings.length,
      });
      if (open) visit(children, depth + 1, row.id);
    }
  };
  visit(roots, 0, null);
  return lines;
}

/**
 * How many stand how. Those that need a person are counted by what is asked: a question of which its run and its call tell
 * too is one, and so is a login that is under way.
 */
export function countStandings(rows: Iterable<LivingRow>): Partial<Record<Standing, number>> {
  const counts: Partial<Record<Standing, number>> = {};
  const asks = new Set<string>();
  for (const row of rows) {
    const standing = standingOf(row);
    if (standing !== 'needsUser') counts[standing] = (counts[standing] ?? 0) + 1;
    else if (isAsking(row)) asks.add(askOf(row));
  }
  return { ...counts, needsUser: asks.size };
}

/** What waits for the answer to another's question asks nothing itself; in a chat the person has the word anyhow. */
function isAsking({ machine, question }: LivingRow): boolean {
  return question === undefined && !/^(toolCall|serverRequest|agentRun|chatSession)$/.test(machine);
}

function askOf({ id, machine, meta }: LivingRow): string {
  if (!/^(serverConnection|browserLogin|deviceLogin)$/.test(machine)) return id;
  return `login ${meta?.profile ?? 'default'}/${meta?.server ?? id}`;
}

/** The values that a fact takes among the living, for the filters' choices. */
export function valuesOf(rows: Iterable<LivingRow>, fact: 'route' | 'server'): string[] {
  const values = new Set<string>();
  for (const row of rows) {
    const value = row.meta?.[fact];
    if (value !== undefined && value !== '') values.add(value);
  }
  return [...values].sort();
}
