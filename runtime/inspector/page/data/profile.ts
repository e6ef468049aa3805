/**
 * The profile whose rows the page shows, in all views that list what belongs to one; a part of the address, so that a link
 * leads to the same rows.
 * @see INS-4 in docs/specification.md
 */

import { useCell } from './cell.ts';
import { goFiltered, place } from './place.ts';

/** The chosen profile; undefined for all. */
export function useProfile(): string | undefined {
  return useCell(place).query.profile || undefined;
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
