/**
 * The profile whose rows the page shows, in all views that list what belongs to one; a part of the address, so that a link
 * leads to the same rows.
 * @see INS-4 in docs/specification.md
 */

import { withFilter } from '../../../../machines/base/event-query.ts';
import { useCell } from './cell.ts';
import type { View } from './hash.ts';
import { goFiltered, place } from './place.ts';

/** The views whose rows belong to a profile; Config always shows the file of one. */
export const ofProfiles: ReadonlySet<View> = new Set([
  'overview',
  'events',
  'failures',
  'approvals',
  'routes',
  'servers',
  'targets',
  'schedules',
]);

/** The chosen profile; undefined for all. */
export function useProfile(): string | undefined {
  return useCell(place).query.profile;
}

/** Undefined for all. */
export function chooseProfile(profile: string | undefined): void {
  goFiltered({ ...place.get().query, profile: profile ?? '' });
}

/** The rows of a profile; all for undefined. What belongs to none is among those of all. */
export function rowsOf<Row extends { readonly profile?: string }>(
  rows: readonly Row[],
  profile: string | undefined,
): readonly Row[] {
  return profile === undefined ? rows : rows.filter((row) => row.profile === profile);
}

/** A search of events among those of a profile; one that names profiles itself stays as it is. */
export function searchIn(q: string, profile: string | undefined): string {
  return profile === undefined || /(^|\s)profile:/i.test(q) ? q : withFilter(q, 'profile', [profile]);
}
