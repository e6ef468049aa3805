/**
 * Changes keys of a profile's config.yaml under its lock, alone or together with variables of `.env`. Comments and order are
 * preserved.
 * @see HOME-4 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import {
  type ConfigEdit,
  type EditedConfig,
  editingConfig,
  isKept,
  parsingConfig,
} from '../../machines/config/edit.ts';
import { editVariable, parseEnvFile } from '../../machines/config/env-file.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { TakenSecret } from '../../machines/mcp/secret-places.ts';
import { ensurePrivateFolder, readText, updateFileLocked } from '../files.ts';
import { inPieces } from '../in-pieces.ts';
import { keepParsed } from './parsed-files.ts';

export type EntryChange<Refused extends 'taken' | 'absent' = 'taken' | 'absent'> =
  | { readonly kind: 'changed' }
  | { readonly kind: Refused }
  | Unwritable;

export interface Unwritable {
  readonly kind: 'unwritable';
  readonly why: string;
}

/**
 * @param plan returns the edits of config.yaml, given its values, or why there are none; it may be called again where the
 * file changes meanwhile
 */
export async function editHome<Refused extends 'taken' | 'absent'>(
  place: ProfilePlace,
  plan: (config: JsonObject) => readonly ConfigEdit[] | Refused,
): Promise<EntryChange<Refused>> {
  const outcome = await editHomeAndVariables(place, ({ config }) => {
    const edits = plan(config);
    if (typeof edits === 'string') return { kind: 'refused', why: { kind: edits } } as const;
    return { kind: 'planned', edits, variables: [] } as const;
  });
  if (outcome.kind === 'planned') return { kind: 'changed' };
  return outcome.kind === 'refused' ? outcome.why : outcome;
}

interface ProfilePlace {
  readonly home: string;
  readonly profile: ProfileName;
}

/** The files of a profile, as input of a plan. */
export interface HomeFiles {
  /** The values of config.yaml; empty if it is not a mapping. */
  readonly config: JsonObject;
  /** The variables of `.env`. */
  readonly secrets: ReadonlyMap<string, string>;
}

interface HomePlan {
  readonly kind: 'planned';
  readonly edits: readonly ConfigEdit[];
  readonly variables: readonly TakenSecret[];
}

/**
 * Changes config.yaml and `.env` of a profile. The plan is made under the locks of the files that it changes, and unless
 * both can be changed nothing is written. The variables are written first, so that no reference exists before its variable.
 * A long file is read and edited between other work.
 */
export async function editHomeAndVariables<Plan extends HomePlan | { readonly kind: 'refused' }>(
  { home, profile }: ProfilePlace,
  planOf: (files: HomeFiles) => Plan | Promise<Plan>,
): Promise<Plan | Unwritable> {
  const { home: folder, config, env } = profilePaths(home, profile);
  const planned = async (
    text: string,
    variables: string,
  ): Promise<{ readonly plan: Plan | Unwritable; readonly edited?: EditedConfig }> => {
    const document = await inPieces(parsingConfig(text));
    const [found] = document.findings;
    if (!isKept(document)) return { plan: unwritable(`${config}:${found?.line}`, notKept) };
    const plan = await planOf({ config: document.value, secrets: parseEnvFile(variables) });
    if (plan.kind === 'refused') return { plan };
    const edited = await inPieces(editingConfig(text, plan.edits, document));
    return edited === undefined ? { plan: unwritable(config, notSpliced) } : { plan, edited };
  };
  let read = { text: (await readText(config)) ?? '', variables: (await readText(env)) ?? '' };
  let { plan, edited } = await planned(read.text, read.variables);
  // Of a long file, a plan takes long.
  const planAnew = async (text: string, variables: string): Promise<void> => {
    if (text !== read.text || variables !== read.variables) ({ plan, edited } = await planned(text, variables));
    read = { text, variables };
  };
  // Without a change no folder is made.
  if (plan.kind !== 'planned' || plan.edits.length + plan.variables.length === 0) return plan;
  await ensurePrivateFolder(folder);
  await updateFileLocked(config, async (text = '') => {
    await planAnew(text, (await readText(env)) ?? '');
    if (plan.kind === 'planned' && plan.variables.length > 0) {
      await updateFileLocked(env, async (variables = '') => {
        await planAnew(text, variables);
        return plan.kind === 'planned' ? withVariables(variables, plan.variables) : undefined;
      });
    }
    return edited === undefined || edited.text === text ? undefined : edited.text;
  });
  if (edited !== undefined) keepParsed(config, edited);
  return plan;
}

function withVariables(text: string, variables: readonly TakenSecret[]): string {
  return variables.reduce((left, { variable, value }) => editVariable(left, variable, value), text);
}

const notKept = 'is no YAML that could be kept; correct it first (`agent config check`)';
const notSpliced =
  'cannot be changed there alone: a key on the way is no mapping or is written with ?, or an anchor, alias or merge key (&, *, <<) gives the value to others; change it by hand (`agent config edit`)';

function unwritable(place: string, cure: string): Unwritable {
  return { kind: 'unwritable', why: `${place} ${cure}` };
}
