/**
 * Changes keys of a profile's config.yaml under its lock, alone or together with variables of `.env`. Comments and order are
 * preserved.
 * @see HOME-4 in docs/specification.md
 */

import type { ProfileName } from '../../machines/base/names.ts';
import { type ConfigEdit, editConfig, isKept } from '../../machines/config/edit.ts';
import { editVariable, parseEnvFile } from '../../machines/config/env-file.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { TakenSecret } from '../../machines/mcp/secret-places.ts';
import { ensurePrivateFolder, readText, updateFileLocked } from '../files.ts';

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

/** The files of a profile, as input of a plan. */
interface HomeFiles {
  /** The text of config.yaml. */
  readonly config: string;
  /** The variables of `.env`. */
  readonly secrets: ReadonlyMap<string, string>;
}

export interface HomePlan {
  readonly kind: 'planned';
  readonly edits: readonly ConfigEdit[];
  readonly variables: readonly TakenSecret[];
}

/**
 * Changes config.yaml and `.env` of a profile. The plan is made under the locks of the files that it changes, and unless
 * both can be changed nothing is written. The variables are written first, so that no reference exists before its variable.
 */
export async function editHomeAndVariables<Plan extends HomePlan | { readonly kind: 'refused' }>(
  { home, profile }: { readonly home: string; readonly profile: ProfileName },
  planOf: (files: HomeFiles) => Plan,
): Promise<Plan | Unwritable> {
  const { home: folder, config, env } = profilePaths(home, profile);
  const planned = (text: string, variables: string): { readonly plan: Plan | Unwritable; readonly edited?: string } => {
    if (!isKept(text)) return { plan: unwritable(config, text) };
    const plan = planOf({ config: text, secrets: parseEnvFile(variables) });
    if (plan.kind === 'refused') return { plan };
    const edited = editConfig(text, plan.edits);
    return edited === undefined ? { plan: unwritable(config, text) } : { plan, edited };
  };
  let read = { text: (await readText(config)) ?? '', variables: (await readText(env)) ?? '' };
  let { plan, edited } = planned(read.text, read.variables);
  // Of a long file, a plan takes long.
  const planAnew = (text: string, variables: string): void => {
    if (text !== read.text || variables !== read.variables) ({ plan, edited } = planned(text, variables));
    read = { text, variables };
  };
  // Without a change no folder is made.
  if (plan.kind !== 'planned' || plan.edits.length + plan.variables.length === 0) return plan;
  await ensurePrivateFolder(folder);
  await updateFileLocked(config, async (text = '') => {
    planAnew(text, (await readText(env)) ?? '');
    if (plan.kind === 'planned' && plan.variables.length > 0) {
      await updateFileLocked(env, (variables = '') => {
        planAnew(text, variables);
        return plan.kind === 'planned' ? withVariables(variables, plan.variables) : undefined;
      });
    }
    return edited === text ? undefined : edited;
  });
  return plan;
}

function withVariables(text: string, variables: readonly TakenSecret[]): string {
  return variables.reduce((left, { variable, value }) => editVariable(left, variable, value), text);
}

function unwritable(config: string, text: string): Unwritable {
  const cure = isKept(text)
    ? 'cannot be changed there alone: a key on the way is no mapping, or an anchor, alias or merge key (&, *, <<) gives the value to others; change it by hand (`agent config edit`)'
    : 'is no YAML that could be kept; correct it first (`agent config check`)';
  return { kind: 'unwritable', why: `${config} ${cure}` };
}
