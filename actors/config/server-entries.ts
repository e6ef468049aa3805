/**
 * Changes one entry of `mcp_servers` in a profile's config.yaml, comments and order kept, while no other writer can.
 * @see HOME-4, CLI-5 and LNK-2 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { editConfig, valueAt } from '../../machines/config/edit.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { ensurePrivateFolder, readText, updateFileLocked } from '../files.ts';

export type EntryChange =
  | { readonly kind: 'changed' }
  | { readonly kind: 'taken' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unwritable'; readonly why: string };

export interface EntryPlace {
  readonly home: string;
  readonly profile: ProfileName;
  readonly name: string;
}

/** Whether the configuration has a server of that name, usable or not. */
export async function hasServerEntry({ home, profile, name }: EntryPlace): Promise<boolean> {
  return holds((await readText(profilePaths(home, profile).config)) ?? '', name);
}

/** Adds an entry; one that stands is replaced only where that is asked for. */
export function addServerEntry(place: EntryPlace, entry: JsonObject, replaces: boolean): Promise<EntryChange> {
  return change(place, entry, (exists) => (exists && !replaces ? 'taken' : 'changed'));
}

export function removeServerEntry(place: EntryPlace): Promise<EntryChange> {
  return change(place, undefined, (exists) => (exists ? 'changed' : 'absent'));
}

async function change(
  { home, profile, name }: EntryPlace,
  entry: JsonObject | undefined,
  judge: (exists: boolean) => 'changed' | 'taken' | 'absent',
): Promise<EntryChange> {
  const { home: folder, config } = profilePaths(home, profile);
  await ensurePrivateFolder(folder);
  let outcome: EntryChange = { kind: 'changed' };
  await updateFileLocked(config, (text = '') => {
    const verdict = judge(holds(text, name));
    outcome = { kind: verdict };
    if (verdict !== 'changed') return undefined;
    const edited = editConfig(text, [{ path: ['mcp_servers', name], value: entry }]);
    if (edited === undefined) {
      outcome = {
        kind: 'unwritable',
        why: `${config} is no YAML that could be kept; mend it first (\`agent config check\`)`,
      };
    }
    return edited;
  });
  return outcome;
}

function holds(text: string, name: string): boolean {
  return valueAt(text, ['mcp_servers', name]) !== undefined;
}
