/** The choice of the profile whose rows the views show, if several are served. */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { useCommands } from '../data/commands.ts';
import { profiles } from '../data/live.ts';
import { chooseProfile, useProfile } from '../data/profile.ts';

export function ProfileChoice(): JSX.Element | null {
  const chosen = useProfile();
  const served = useCell(profiles);
  if (served === undefined && chosen === undefined) return null;
  // A link may name a profile that is not served any more.
  const names = [...new Set([...(served ?? []), ...(chosen === undefined ? [] : [chosen])])];
  return (
    <select
      class="profiles"
      aria-label="Profile"
      value={chosen ?? ''}
      // A click on a link beside it closes the menu of the phone.
      onClick={(event) => event.stopPropagation()}
      onChange={(event) => chooseProfile(event.currentTarget.value || undefined)}
    >
      <option value="">All profiles</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The same choice in the command palette, for a folded sidebar. */
export function useProfileCommands(): void {
  const chosen = useProfile();
  const served = useCell(profiles) ?? [];
  useCommands('actions', [
    ...served
      .filter((name) => name !== chosen)
      .map((name) => ({ label: `Show profile ${name}`, icon: 'filter' as const, run: () => chooseProfile(name) })),
    ...(chosen === undefined
      ? []
      : [{ label: 'Show all profiles', icon: 'filter' as const, run: () => chooseProfile(undefined) }]),
  ]);
}
