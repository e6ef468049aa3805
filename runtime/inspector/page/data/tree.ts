/**
 * Turns the flat rows of the running actors into the lines of a tree: parents and children, folded branches, a filter.
 * Independent of page and network; 10,000 rows take a few milliseconds.
 * @see INS-2 in docs/specification.md
 */

import { getOrMake } from '../../../../machines/base/get-or-make.ts';
import type { LivingRow } from '../../../control/contract/wire.ts';
import { lastPart } from './format.ts';
import { type Standing, standingOf, wordsOfActor } from './standing.ts';

export interface TreeFilter {
  readonly text: string;
  /** Only rows that have failed, retry or wait for a person; empty for all. */
  readonly standing: Standing | '';
  /** Only rows that have been in their state for longer; 0 for all. */
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
  /** Its place among its siblings, for screen readers. */
  readonly position: number;
  readonly siblings: number;
}

export const everything: TreeFilter = { text: '', standing: '', longerThanMs: 0, route: '', server: '' };

/** A pool with more children than this is folded at first. */
const maxUnfolded = 200;

/** The order of a pool's children; those that are well keep theirs. */
const troubles: Partial<Record<Standing, number>> = { failed: 0, needsUser: 1, retrying: 2 };

export function isFiltering(filter: TreeFilter): boolean {
  return (
    filter.text !== '' ||
    filter.standing !== '' ||
    filter.longerThanMs > 0 ||
    filter.route !== '' ||
    filter.server !== ''
  );
}

/** Returns whether the row is a pool, which has children of one kind and does nothing itself. */
export function isPool({ machine }: { readonly machine: string }): boolean {
  return machine.endsWith('Pool');
}

/** Returns how many of the rows are actors; pools are not counted. */
export function countActors(rows: Iterable<LivingRow>): number {
  let count = 0;
  for (const row of rows) if (!isPool(row)) count += 1;
  return count;
}

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
 * Returns the visible lines from top to bottom.
 * @param folded the branches that a person has folded (true) or unfolded (false).
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
    // A pool without children is left out.
    if (!filtering && isPool(row) && !parents.has(row.id) && (row.meta?.size ?? 0) === 0) continue;
    const parent = row.parent !== null && rows.has(row.parent) ? row.parent : null;
    if (parent === null) roots.push(row);
    else getOrMake(below, parent, () => []).push(row);
  }
  const lines: TreeLine[] = [];
  const visit = (siblings: readonly LivingRow[], depth: number, parent: string | null): void => {
    for (const [at, row] of siblings.entries()) {
      const children = below.get(row.id) ?? [];
      const open = children.length > 0 && !(folded.get(row.id) ?? (!filtering && children.length > maxUnfolded));
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
      if (open) visit(isPool(row) ? troubledFirst(children) : children, depth + 1, row.id);
    }
  };
  visit(roots, 0, null);
  return lines;
}

function troubledFirst(rows: readonly LivingRow[]): readonly LivingRow[] {
  const troubled = rows.filter((row) => standingOf(row) in troubles);
  if (troubled.length === 0) return rows;
  const rank = (row: LivingRow): number => troubles[standingOf(row)] ?? 3;
  return [...troubled.sort((one, other) => rank(one) - rank(other)), ...rows.filter((row) => rank(row) === 3)];
}

/**
 * Counts the rows by status. Those that need a person are counted by question: one that its run and its call show too counts
 * once, and so does a login under way.
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

/** Returns whether a row is counted: not if it waits for the question of another row, nor if it is a chat. */
function isAsking({ machine, question }: LivingRow): boolean {
  return question === undefined && !/^(toolCall|serverRequest|agentRun|chatSession)$/.test(machine);
}

function askOf({ id, machine, meta }: LivingRow): string {
  if (!/^(serverConnection|browserLogin|deviceLogin)$/.test(machine)) return id;
  return `login ${meta?.profile ?? 'default'}/${meta?.server ?? id}`;
}

/** Returns the values of a fact among the rows, as choices of a filter. */
export function valuesOf(rows: Iterable<LivingRow>, fact: 'route' | 'server'): string[] {
  const values = new Set<string>();
  for (const row of rows) {
    const value = row.meta?.[fact];
    if (value !== undefined && value !== '') values.add(value);
  }
  return [...values].sort();
}
