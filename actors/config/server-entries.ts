/**
 * Changes one entry of `mcp_servers` in a profile's config.yaml under its lock. Comments and order are preserved. Secrets
 * go into `.env` first, so that no reference exists before its variable.
 * @see HOME-3, HOME-4, CLI-5 and LNK-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { editConfig, isKept, parseConfig, valueAt } from '../../machines/config/edit.ts';
import { editVariable, parseEnvFile } from '../../machines/config/env-file.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { ApprovalRule } from '../../machines/mcp/approval-rules.ts';
import { type EntryPlan, type EntryRefusal, merged } from '../../machines/mcp/entry-change.ts';
import type { TakenSecret } from '../../machines/mcp/secret-places.ts';
import { ensurePrivateFolder, readText, updateFileLocked } from '../files.ts';
import { type EntryChange, editHome, type Unwritable, unwritable } from './edit-home.ts';

export interface EntryPlace {
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
  await writeEntryVariables(place, variables);
  return editHome<'taken'>(place, (text) =>
    holds(text, place.name) ? 'taken' : [{ path: ['mcp_servers', place.name], value: entry }],
  );
}

/** The files of a profile, as input of a plan. */
export interface EntryFiles {
  /** The parsed config.yaml; empty if it is not a mapping. */
  readonly config: JsonObject;
  /** The variables of `.env`. */
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * Writes the changes of a plan. The plan is made under the lock of `.env`, and again under the lock of config.yaml if
 * that has changed since. If the plan refuses, nothing is written.
 */
export async function changeServerEntry(
  { home, profile }: Pick<EntryPlace, 'home' | 'profile'>,
  planOf: (files: EntryFiles) => EntryPlan | EntryRefusal,
): Promise<EntryPlan | EntryRefusal | Unwritable> {
  const { home: folder, config, env } = profilePaths(home, profile);
  const written = (await readText(config)) ?? '';
  if (!isKept(written)) return unwritable(config, written);
  let outcome: EntryPlan | EntryRefusal | Unwritable = planOf({
    config: parseConfig(written).value,
    secrets: parseEnvFile((await readText(env)) ?? ''),
  });
  if (outcome.kind === 'refused') return outcome;
  if (editConfig(written, outcome.edits) === undefined) return unwritable(config, written);
  await ensurePrivateFolder(folder);
  if (outcome.variables.length > 0) {
    await updateFileLocked(env, (text = '') => {
      const plan = planOf({ config: parseConfig(written).value, secrets: parseEnvFile(text) });
      outcome = plan;
      return plan.kind === 'refused' ? undefined : withVariables(text, plan.variables);
    });
  }
  // The compiler does not see that the callback above assigns `outcome`.
  const planned = outcome as EntryPlan | EntryRefusal;
  if (planned.kind === 'refused') return planned;
  const secrets = parseEnvFile((await readText(env)) ?? '');
  await updateFileLocked(config, (text = '') => {
    const plan = text === written ? planned : planOf({ config: parseConfig(text).value, secrets });
    outcome = plan;
    if (plan.kind === 'refused') return undefined;
    const edited = editConfig(text, plan.edits);
    if (edited === undefined) outcome = unwritable(config, text);
    return edited === text ? undefined : edited;
  });
  return outcome;
}

/** Writes variables into the `.env` of a profile, whose folder is made if it is missing. */
export async function writeEntryVariables(
  { home, profile }: Pick<EntryPlace, 'home' | 'profile'>,
  variables: readonly TakenSecret[],
): Promise<void> {
  const { home: folder, env } = profilePaths(home, profile);
  await ensurePrivateFolder(folder);
  if (variables.length > 0) await updateFileLocked(env, (text = '') => withVariables(text, variables));
}

function withVariables(text: string, variables: readonly TakenSecret[]): string {
  return variables.reduce((left, { variable, value }) => editVariable(left, variable, value), text);
}

function holds(text: string, name: string): boolean {
  return valueAt(text, ['mcp_servers', name]) !== undefined;
}
