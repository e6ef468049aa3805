/**
 * Changes keys of a profile's config.yaml, comments and order kept, while no other writer can.
 * @see HOME-4 in docs/specification.md
 */

import type { ProfileName } from '../../machines/base/names.ts';
import { type ConfigEdit, editConfig } from '../../machines/config/edit.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { ensurePrivateFolder, updateFileLocked } from '../files.ts';

export type EntryChange =
  | { readonly kind: 'changed' }
  | { readonly kind: 'taken' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unwritable'; readonly why: string };

/** @param plan returns the edits of the text as it is, or why there are none */
export async function editHome(
  { home, profile }: { readonly home: string; readonly profile: ProfileName },
  plan: (text: string) => readonly ConfigEdit[] | 'taken' | 'absent',
): Promise<EntryChange> {
  const { home: folder, config } = profilePaths(home, profile);
  await ensurePrivateFolder(folder);
  let outcome: EntryChange = { kind: 'changed' };
  await updateFileLocked(config, (text = '') => {
    const edits = plan(text);
    outcome = { kind: typeof edits === 'string' ? edits : 'changed' };
    if (typeof edits === 'string' || edits.length === 0) return undefined;
    const edited = editConfig(text, edits);
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
