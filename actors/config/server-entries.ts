/**
 * Changes one entry of `mcp_servers` in a profile's config.yaml, comments and order kept, while no other writer can.
 * @see HOME-4, CLI-5 and LNK-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { valueAt } from '../../machines/config/edit.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { ApprovalRule } from '../../machines/mcp/approval-rules.ts';
import { readText } from '../files.ts';
import { type EntryChange, editHome } from './edit-home.ts';

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

/** Adds a rule to the entry's `approvals`; one that stands there already stays as it is. */
export function addApprovalRule(place: EntryPlace, rule: ApprovalRule): Promise<EntryChange> {
  return editHome(place, (text) => {
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

export function removeServerEntry(place: EntryPlace): Promise<EntryChange> {
  return change(place, undefined, (exists) => (exists ? 'changed' : 'absent'));
}

function change(
  place: EntryPlace,
  entry: JsonObject | undefined,
  judge: (exists: boolean) => 'changed' | 'taken' | 'absent',
): Promise<EntryChange> {
  return editHome(place, (text) => {
    const verdict = judge(holds(text, place.name));
    return verdict === 'changed' ? [{ path: ['mcp_servers', place.name], value: entry }] : verdict;
  });
}

function holds(text: string, name: string): boolean {
  return valueAt(text, ['mcp_servers', name]) !== undefined;
}
