/**
 * Changes one entry of `mcp_servers` in a profile's config.yaml under its lock. Comments and order are preserved. Secrets
 * go into `.env`.
 * @see HOME-3, HOME-4, CLI-5 and LNK-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { parseConfig, valueAt } from '../../machines/config/edit.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { ApprovalRule } from '../../machines/mcp/approval-rules.ts';
import { type EntryPlan, type EntryRefusal, merged } from '../../machines/mcp/entry-change.ts';
import type { TakenSecret } from '../../machines/mcp/secret-places.ts';
import { ensurePrivateFolder, readText, updateFileLocked } from '../files.ts';
import { type EntryChange, editHome, editHomeAndVariables, type Unwritable, withVariables } from './edit-home.ts';

interface EntryPlace {
  readonly home: string;
  readonly profile: ProfileName;
  readonly name: string;
}

/** Whether the configuration has a server of that name, valid or not. */
export async function hasServerEntry({ home, profile, name }: EntryPlace): Promise<boolean> {
  return holds((await readText(profilePaths(home, profile).config)) ?? '', name);
}

/** The entry of a server as written, with some keys changed. */
export async function changedEntry({ home, profile, name }: EntryPlace, changes: JsonObject): Promise<JsonObject> {
  const held = valueAt((await readText(profilePaths(home, profile).config)) ?? '', ['mcp_servers', name]);
  return merged(isJsonObject(held) ? held : {}, changes);
}

/** Adds a rule to the entry's `approvals` unless it is already there. */
export function addApprovalRule(place: EntryPlace, rule: ApprovalRule): Promise<EntryChange<'absent'>> {
  return editHome<'absent'>(place, (text) => {
    const path = ['mcp_servers', place.name];
    const entry = valueAt(text, path);
    if (!isJsonObject(entry)) return 'absent';
    const rules = Array.isArray(entry.approvals) ? entry.approvals : [];
    if (rules.some((one) => JSON.stringify(one) === JSON.stringify(rule))) return [];
    const value: JsonObject = { ...rule };
    return rules.length === 0
      ? [{ path: [...path, 'approvals'], value: [value] }]
      : [{ path: [...path, 'approvals', rules.length], value }];
  });
}

/** Adds an entry and its variables, if the name is free. */
export async function addServerEntry(
  place: EntryPlace,
  entry: JsonObject,
  variables: readonly TakenSecret[] = [],
): Promise<EntryChange<'taken'>> {
  const plan = { kind: 'planned', edits: [{ path: ['mcp_servers', place.name], value: entry }], variables } as const;
  const outcome = await editHomeAndVariables(place, ({ config }) =>
    holds(config, place.name) ? ({ kind: 'refused' } as const) : plan,
  );
  if (outcome.kind === 'unwritable') return outcome;
  return { kind: outcome.kind === 'planned' ? 'changed' : 'taken' };
}

/** The files of a profile, as input of a plan. */
interface EntryFiles {
  /** The parsed config.yaml; empty if it is not a mapping. */
  readonly config: JsonObject;
  /** The variables of `.env`. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** Writes the changes of a plan. If the plan refuses, nothing is written. */
export function changeServerEntry(
  place: Pick<EntryPlace, 'home' | 'profile'>,
  planOf: (files: EntryFiles) => EntryPlan | EntryRefusal,
): Promise<EntryPlan | EntryRefusal | Unwritable> {
  return editHomeAndVariables(place, ({ config, secrets }) => planOf({ config: parseConfig(config).value, secrets }));
}

/**
 * Writes variables into the `.env` of a profile, whose folder is made if it is missing. Returns one that has another value
 * there by now, which something else may read; then nothing is written.
 */
export async function writeEntryVariables(
  { home, profile }: Pick<EntryPlace, 'home' | 'profile'>,
  variables: readonly TakenSecret[],
): Promise<string | undefined> {
  const { home: folder, env } = profilePaths(home, profile);
  await ensurePrivateFolder(folder);
  let other: string | undefined;
  if (variables.length > 0)
    await updateFileLocked(env, (text = '') => {
      const held = parseEnvFile(text);
      other = variables.find(({ variable, value }) => (held.get(variable) ?? value) !== value)?.variable;
      return other === undefined ? withVariables(text, variables) : undefined;
    });
  return other;
}

function holds(text: string, name: string): boolean {
  return valueAt(text, ['mcp_servers', name]) !== undefined;
}
