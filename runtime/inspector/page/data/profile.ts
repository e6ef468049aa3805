/**
 * The profile whose rows the page shows, in all views with rows of a profile. It is in the address, so that a link leads to
 * the same rows.
 * @see INS-4 in docs/specification.md
 */

import { useCell } from './cell.ts';
import { goFiltered, place } from './place.ts';

/** The chosen profile; undefined for all. */
export function useProfile(): string | undefined {
  return useCell(place).query.profile || undefined;
}

/** @param profile undefined for all */
export function chooseProfile(profile: string | undefined): void {
  goFiltered({ ...place.get().query, profile: profile ?? '' });
}

/** Returns the rows of a profile, or all for undefined. A row without a profile is shown only among all. */
export function rowsOf<Row extends { readonly profile?: string }>(
  rows: readonly Row[],
  profile: string | undefined,
): readonly Row[] {
  return profile === undefined ? rows : rows.filter((row) => row.profile === profile);
}
