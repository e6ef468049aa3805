/**
 * Changes keys of a profile's config.yaml under its lock. Comments and order are preserved.
 * @see HOME-4 in docs/specification.md
 */

import type { ProfileName } from '../../machines/base/names.ts';
import { type ConfigEdit, editConfig, isKept } from '../../machines/config/edit.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { ensurePrivateFolder, updateFileLocked } from '../files.ts';

export type EntryChange<Refused extends 'taken' | 'absent' = 'taken' | 'absent'> =
  | { readonly kind: 'changed' }
  | { readonly kind: Refused }
  | Unwritable;

export interface Unwritable {
  readonly kind: 'unwritable';
  readonly why: string;
}

/** @param plan returns the edits of the current text, or why there are none */
export async function editHome<Refused extends 'taken' | 'absent'>(
  { home, profile }: { readonly home: string; readonly profile: ProfileName },
  plan: (text: string) => readonly ConfigEdit[] | Refused,
): Promise<EntryChange<Refused>> {
  const { home: folder, config } = profilePaths(home, profile);
  await ensurePrivateFolder(folder);
  let outcome: EntryChange<Refused> = { kind: 'changed' };
  await updateFileLocked(config, (text = '') => {
    const edits = plan(text);
    outcome = typeof edits === 'string' ? { kind: edits } : { kind: 'changed' };
    if (typeof edits === 'string' || edits.length === 0) return undefined;
    const edited = editConfig(text, edits);
    if (edited === undefined) outcome = unwritable(config, text);
    return edited;
  });
  return outcome;
}

export function unwritable(config: string, text: string): Unwritable {
  const cure = isKept(text)
    ? 'cannot be changed there alone: a key on the way is no mapping, or an anchor, alias or merge key (&, *, <<) gives the value to others; change it by hand (`agent config edit`)'
    : 'is no YAML that could be kept; correct it first (`agent config check`)';
  return { kind: 'unwritable', why: `${config} ${cure}` };
}
