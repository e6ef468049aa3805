/**
 * Changes entries of `mcp_servers` in a profile's config.yaml under its lock. Comments and order are preserved. Secrets
 * go into `.env`.
 * @see HOME-3, HOME-4, CLI-5 and LNK-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { parseConfig, valueAt } from '../../machines/config/edit.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { ApprovalRule } from '../../machines/mcp/approval-rules.ts';
import { merged } from '../../machines/mcp/entry-change.ts';
import { readText } from '../files.ts';
import { type EntryChange, editHome, editHomeAndVariables, type HomePlan, type Unwritable } from './edit-home.ts';

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

/** Adds an entry, if the name is free. */
export function addServerEntry(place: EntryPlace, entry: JsonObject): Promise<EntryChange<'taken'>> {
  return editHome<'taken'>(place, (text) =>
    holds(text, place.name) ? 'taken' : [{ path: ['mcp_servers', place.name], value: entry }],
  );
}

/** The files of a profile, as input of a plan. */
interface EntryFiles {
  /** The parsed config.yaml; empty if it is not a mapping. */
  readonly config: JsonObject;
  /** The variables of `.env`. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** Writes the changes of a plan. If the plan refuses, nothing is written. */
export function changeServerEntries<Plan extends HomePlan | { readonly kind: 'refused' }>(
  place: Pick<EntryPlace, 'home' | 'profile'>,
  planOf: (files: EntryFiles) => Plan,
): Promise<Plan | Unwritable> {
  return editHomeAndVariables(place, ({ config, secrets }) => planOf({ config: parseConfig(config).value, secrets }));
}

function holds(text: string, name: string): boolean {
  return valueAt(text, ['mcp_servers', name]) !== undefined;
}
