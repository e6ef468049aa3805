/**
 * The commands that change the servers of config.yaml and show an entry as written: for the command line and the page. A
 * change is checked before it is written, and is in force when the answer arrives.
 * @see CLI-5, HOME-4, INS-4 and SEC-1 in docs/specification.md
 */

import { loadHome, readEntry } from '../../actors/config/load-config.ts';
import { changeServerEntry } from '../../actors/config/server-entries.ts';
import { readText } from '../../actors/files.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type JsonObject, objectAt } from '../../machines/base/json.ts';
import { parseDocument } from '../../machines/config/document.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { maskedEntry } from '../../machines/config/shown-settings.ts';
import {
  type EntryPlan,
  type EntryRefusal,
  type EntryRequest,
  planEntryChange,
} from '../../machines/mcp/entry-change.ts';
import { isPlace } from '../../machines/mcp/foreign-references.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import { readServerSettings } from '../../machines/mcp/server-settings.ts';
import { adapterBlock, learnSecrets } from '../config/loaded-home.ts';
import { createRedactor } from '../observe/redact.ts';
import { type CommandHost, type Commands, textOf } from './command.ts';
import { configFile, eachText, withDraft } from './config-view.ts';
import type { ChangedServer, Result } from './contract.ts';
import { profileOf } from './home-view.ts';
import { unknownServer } from './mcp-commands.ts';
import { inForce, Refusal } from './refusal.ts';

export const serverCommands = {
  'mcp.add': async (host, params) => ({
    added: textOf(params, 'server'),
    ...(await change(host, params, {
      kind: 'add',
      entry: objectOf(params, 'entry'),
      replaces: params.force === true,
    })),
  }),
  'mcp.edit': async (host, params) => ({
    edited: textOf(params, 'server'),
    ...(await change(host, params, { kind: 'edit', changes: objectOf(params, 'changes') })),
  }),
  'mcp.disable': async (host, params) => ({
    disabled: textOf(params, 'server'),
    ...(await change(host, params, { kind: 'edit', changes: { enabled: false } })),
  }),
  'mcp.enable': async (host, params) => ({
    enabled: textOf(params, 'server'),
    ...(await change(host, params, { kind: 'edit', changes: { enabled: true } })),
  }),
  'mcp.remove': async (host, params) => ({
    removed: textOf(params, 'server'),
    ...(await change(host, params, { kind: 'remove' })),
  }),
  'mcp.show': showServer,
} satisfies Partial<Commands>;

async function change(
  { source, daemon }: CommandHost,
  params: JsonObject,
  request: EntryRequest,
): Promise<ChangedServer> {
  const name = textOf(params, 'server');
  const profile = profileOf(params.profile);
  const planOf = (
    files: Pick<Parameters<typeof planEntryChange>[0], 'config' | 'secrets'>,
  ): EntryPlan | EntryRefusal => {
    const takes = params.values === 'all' ? 'all' : 'secrets';
    const plan = planEntryChange({ ...files, name, request, env: source.env, takes });
    if (plan.kind === 'refused' || plan.entry === undefined || plan.entry.enabled === false) return plan;
    const [finding] = readEntry(source, profile, { name, value: plan.entry }).findings;
    return finding === undefined ? plan : { kind: 'refused', code: finding.code, message: finding.message };
  };
  const place = { home: source.home, profile };
  const outcome = await changeServerEntry(place, params.dry === true ? (files) => dryOf(planOf(files)) : planOf);
  if (outcome.kind === 'unwritable') throw new Refusal('config-unwritable', outcome.why);
  if (outcome.kind === 'refused') throw Refusal.carrying(outcome.code, outcome.message, outcome.field);
  return {
    profile,
    variables: outcome.variables.map(({ variable }) => variable),
    unused: outcome.unused,
    ...(outcome.edits.length + outcome.variables.length === 0 && params.dry !== true ? { unchanged: true } : {}),
    ...(params.dry === true ? {} : await applied({ source, ...(daemon === undefined ? {} : { daemon }) })),
  };
}

/** The plan of a dry run, which writes nothing. */
function dryOf(plan: EntryPlan | EntryRefusal): EntryPlan | EntryRefusal {
  return plan.kind === 'refused' ? plan : { ...plan, edits: [], variables: [] };
}

/** The daemon would detect the change by itself; the answer waits until it is in force. */
export async function applied({
  source,
  daemon,
}: Pick<CommandHost, 'source' | 'daemon'>): Promise<Pick<ChangedServer, 'not_in_force'>> {
  if (daemon === undefined) return {};
  try {
    await inForce(daemon.reload());
    return {};
  } catch (thrown) {
    const block = adapterBlock(loadHome(source));
    return { not_in_force: block.kind === 'free' ? causeOf(thrown) : block.fault };
  }
}

async function showServer({ source }: CommandHost, params: JsonObject): Promise<Result<'mcp.show'>> {
  const name = textOf(params, 'server');
  const profile = profileOf(params.profile);
  const paths = profilePaths(source.home, profile);
  const text = (await readText(paths.config)) ?? '';
  const document = parseDocument(text);
  const config = isJsonObject(document.value) ? document.value : {};
  const servers = objectAt(config, 'mcp_servers');
  if (!Object.hasOwn(servers, name)) throw unknownServer(name, Object.keys(servers));
  const { [name]: held, ...others } = servers;
  const entry = isJsonObject(held) ? held : {};
  const ofFile = parseEnvFile((await readText(paths.env)) ?? '');
  const variables = [...new Set(variablesIn(entry))].filter((variable) => !isPlace(variable));
  const elsewhere = new Set(variablesIn({ ...config, mcp_servers: others }));
  // As a draft, a profile is read whether it is served or not.
  const loaded = loadHome(withDraft(source, profile, text));
  const redactor = createRedactor();
  learnSecrets(loaded, redactor);
  const server = loaded.profiles.get(profile)?.settings.servers.find((one) => one.name === name);
  const transport =
    server?.problem === undefined && server !== undefined ? readServerSettings(server).transport : undefined;
  return {
    name,
    profile,
    file: configFile(profile),
    line: document.place(['mcp_servers', name]).line,
    entry: eachText(maskedEntry(entry), redactor.text) as JsonObject,
    enabled: entry.enabled !== false,
    ...(transport?.kind === 'stdio' ? { cwd: transport.cwd ?? paths.home } : {}),
    variables: variables.map((variable) => ({
      name: variable,
      from: ofFile.has(variable) ? '.env' : source.env[variable] === undefined ? 'unset' : 'environment',
    })),
    findings: loaded.diagnostics.filter(
      ({ file, scope }) => file === configFile(profile) && scope.kind === 'server' && scope.server === name,
    ),
    lowers: loweredGuards(entry),
    own_variables: variables.filter((variable) => ofFile.has(variable) && !elsewhere.has(variable)),
  };
}

function objectOf(params: JsonObject, key: string): JsonObject {
  const value = params[key];
  if (!isJsonObject(value)) throw new Refusal('params-missing', `the parameter "${key}" is missing, or is no object`);
  return value;
}
