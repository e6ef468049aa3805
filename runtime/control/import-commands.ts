/**
 * The commands that add MCP servers of other agent programs, for the page: list those in this user's files, and add the
 * chosen ones. Files of a checkout are not read; `agent mcp import` asks about those.
 * @see CLI-5, INS-4 and SEC-2 in docs/specification.md
 */

import { planForeign, readForeignConfigs } from '../../actors/config/foreign-configs.ts';
import { type HomeSource, readEntry } from '../../actors/config/load-config.ts';
import { addServerEntry } from '../../actors/config/server-entries.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { programTitles } from '../../machines/mcp/foreign-files.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import type { ImportItem } from '../../machines/mcp/plan-import.ts';
import type { CommandHost, Commands } from './command.ts';
import type { ImportableServer, Result } from './contract.ts';
import { profileOf } from './home-view.ts';
import { inForce } from './refusal.ts';

export const importCommands = {
  'mcp.importable': async ({ source }, params) => (await planFor(source, profileOf(params.profile))).map(rowOf),
  'mcp.import': importServers,
} satisfies Partial<Commands>;

async function importServers({ source, daemon }: CommandHost, params: JsonObject): Promise<Result<'mcp.import'>> {
  const profile = profileOf(params.profile);
  const names = new Set(Array.isArray(params.names) ? params.names.map(String) : []);
  const added: string[] = [];
  const failed: { name: string; why: string }[] = [];
  for (const { name, entry, variables, standing } of await planFor(source, profile)) {
    if (!names.has(name) || (standing.kind !== 'new' && standing.kind !== 'taken')) continue;
    const [finding] = readEntry(source, profile, { name, value: entry }).findings;
    const change =
      finding === undefined
        ? await addServerEntry({ home: source.home, profile, name }, entry, variables)
        : ({ kind: 'unwritable', why: finding.message } as const);
    if (change.kind === 'changed') added.push(name);
    else failed.push({ name, why: change.kind === 'unwritable' ? change.why : 'the name has been taken meanwhile' });
  }
  for (const name of names) {
    const isKnown = added.includes(name) || failed.some((one) => one.name === name);
    if (!isKnown) failed.push({ name, why: 'no other program has it any more' });
  }
  await inForce(daemon?.reload()).catch((thrown: unknown) => {
    for (const name of added) failed.push({ name, why: `added, but not in force: ${causeOf(thrown)}` });
  });
  return { added, failed };
}

async function planFor({ home, env }: HomeSource, profile: ProfileName): Promise<readonly ImportItem[]> {
  const userHome = env.HOME ?? userHomeFolder();
  // The daemon's working folder is not a project.
  const places = { platform: process.platform, userHome, folder: userHome, env };
  const plan = await planForeign(await readForeignConfigs(places), { paths: profilePaths(home, profile), places });
  return plan.filter(({ isProject }) => !isProject);
}

function rowOf({ file, foreignName, name, entry, variables, missing, notes, standing }: ImportItem): ImportableServer {
  return {
    name,
    program: programTitles[file.program],
    file: file.path,
    foreign_name: foreignName,
    entry,
    variables: variables.map(({ variable }) => variable),
    missing: missing.map(({ variable }) => variable),
    notes: [...(standing.kind === 'unusable' ? [] : loweredGuards(entry)), ...notes],
    standing: standing.kind,
    ...(standing.kind === 'unusable' ? { why: standing.why } : {}),
  };
}
