/**
 * Changes entries of `mcp_servers` in a profile's config.yaml under its lock. Comments and order are preserved. Secrets
 * go into `.env`.
 * @see HOME-3, HOME-4, CLI-5 and LNK-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { parsingConfig, valueIn } from '../../machines/config/edit.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { ApprovalRule } from '../../machines/mcp/approval-rules.ts';
import { merged } from '../../machines/mcp/entry-change.ts';
import { readText } from '../files.ts';
import { inPieces } from '../in-pieces.ts';
import { type EntryChange, editHome } from './edit-home.ts';

interface EntryPlace {
  readonly home: string;
  readonly profile: ProfileName;
  readonly name: string;
}

/** Whether the configuration has a server of that name, valid or not. */
export async function hasServerEntry({ home, profile, name }: EntryPlace): Promise<boolean> {
  return holds(await writtenConfig({ home, profile }), name);
}

/** The values of a profile's config.yaml; empty if it is not a mapping. */
async function writtenConfig({ home, profile }: Pick<EntryPlace, 'home' | 'profile'>): Promise<JsonObject> {
  const text = (await readText(profilePaths(home, profile).config)) ?? '';
  return (await inPieces(parsingConfig(text))).value;
}

/** The entry of a server as written, with some keys changed. */
export async function changedEntry({ home, profile, name }: EntryPlace, changes: JsonObject): Promise<JsonObject> {
  const held = valueIn(await writtenConfig({ home, profile }), ['mcp_servers', name]);
  return merged(isJsonObject(held) ? held : {}, changes);
}

/** Adds a rule to the entry's `approvals` unless it is already there. */
export function addApprovalRule(place: EntryPlace, rule: ApprovalRule): Promise<EntryChange<'absent'>> {
  return editHome<'absent'>(place, (config) => {
    const path = ['mcp_servers', place.name];
    const entry = valueIn(config, path);
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
  return editHome<'taken'>(place, (config) =>
    holds(config, place.name) ? 'taken' : [{ path: ['mcp_servers', place.name], value: entry }],
  );
}

function holds(config: JsonObject, name: string): boolean {
  return valueIn(config, ['mcp_servers', name]) !== undefined;
}
