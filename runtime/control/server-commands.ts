/**
 * The commands that change the servers of config.yaml and show an entry as written, for the command line and the page: by an
 * entry, by an add-server link, or from other agent programs. A change is checked before it is written, and is in force when
 * the answer arrives. Of a link one command reads it and writes nothing, one adds what a person has seen and confirmed; the
 * dialog's chart decides, and an existing name is never overwritten. Files of a checkout are not read for an import; `agent
 * mcp import` asks about those.
 * @see CLI-5, HOME-4, INS-4, LNK-1, LNK-2, LNK-3, SEC-1 and SEC-2 in docs/specification.md
 */

import { editHomeAndVariables, type HomeFiles } from '../../actors/config/edit-home.ts';
import { planForeign, readForeignBlock, readForeignConfigs } from '../../actors/config/foreign-configs.ts';
import { type HomeSource, loadingHome, readEntries } from '../../actors/config/load-config.ts';
import { hasServerEntry } from '../../actors/config/server-entries.ts';
import { fileDocuments } from '../../actors/documents.ts';
import { readText } from '../../actors/files.ts';
import { inPieces } from '../../actors/in-pieces.ts';
import { tokensPathOf } from '../../actors/oauth/credentials.store.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { eachText, isJsonObject, type Json, type JsonObject, objectAt, scalarText } from '../../machines/base/json.ts';
import { parsingConfig } from '../../machines/config/edit.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { isReservedVariable } from '../../machines/config/program-variables.ts';
import { maskedEntry } from '../../machines/config/shown-settings.ts';
import {
  type EntryPlan,
  type EntryRefusal,
  type EntryRequest,
  planEntryChange,
  readingElsewhere,
} from '../../machines/mcp/entry-change.ts';
import { programTitles } from '../../machines/mcp/foreign-files.ts';
import { isPlace } from '../../machines/mcp/foreign-references.ts';
import { type InstallLink, readInstallLink } from '../../machines/mcp/install-link.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import type { ImportItem } from '../../machines/mcp/plan-import.ts';
import { readServerSettings } from '../../machines/mcp/server-settings.ts';
import { adapterBlock, learningSecrets } from '../config/loaded-home.ts';
import { runLinkDialog } from '../mcp/link-dialog.ts';
import { createRedactor } from '../observe/redact.ts';
import { type CommandHost, type Commands, textOf } from './command.ts';
import { configFile, setIn, withDraft } from './config-view.ts';
import { inForce, Refusal, refuse } from './contract/refusal.ts';
import type { ChangedServer, ImportableServer, LinkReading } from './contract/servers.ts';
import type { Result } from './contract.ts';
import { homeOf, profileOf } from './home-view.ts';
import { unknownServer } from './mcp-commands.ts';

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
  'mcp.remove': async (host, params) => {
    const removed = textOf(params, 'server');
    const changed = await change(host, params, { kind: 'remove' });
    const { tokens } = profilePaths(host.source.home, profileOf(params.profile));
    const documents = host.inForce?.().home.documents ?? fileDocuments;
    const isLeft = documents.at(tokensPathOf(tokens, removed)).stamp() !== undefined;
    return { removed, ...changed, ...(isLeft ? { login_left: true as const } : {}) };
  },
  'mcp.show': showServer,
  'link.read': readLink,
  'link.add': addLink,
  'mcp.importable': async ({ source }, params) => (await planFor(source, params)).map(rowOf),
  'mcp.import': importServers,
} satisfies Partial<Commands>;

async function change(
  { source, daemon }: CommandHost,
  params: JsonObject,
  request: EntryRequest,
): Promise<ChangedServer> {
  const name = textOf(params, 'server');
  const profile = profileOf(params.profile);
  const planOf = async (files: HomeFiles): Promise<EntryPlan | EntryRefusal> => {
    const takes = params.values === 'all' ? 'all' : 'secrets';
    const elsewhere = await inPieces(readingElsewhere(name, files.config));
    const plan = planEntryChange({ ...files, name, request, env: source.env, takes, elsewhere });
    if (plan.kind === 'refused' || plan.entry === undefined || plan.entry.enabled === false) return plan;
    const entries = { [name]: plan.entry };
    const [finding] = (await readEntries(source, profile, { entries, written: files.config })).findings;
    return finding === undefined ? plan : { kind: 'refused', code: finding.code, message: finding.message };
  };
  const outcome = await editHomeAndVariables({ home: source.home, profile }, async (files) =>
    params.dry === true ? dryOf(await planOf(files)) : planOf(files),
  );
  if (outcome.kind === 'unwritable') return refuse('config-unwritable', outcome.why);
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
    const block = adapterBlock(await inPieces(loadingHome(source)));
    return { not_in_force: block.kind === 'free' ? causeOf(thrown) : block.fault };
  }
}

async function showServer({ source }: CommandHost, params: JsonObject): Promise<Result<'mcp.show'>> {
  const name = textOf(params, 'server');
  const profile = profileOf(params.profile);
  const paths = profilePaths(source.home, profile);
  const text = (await readText(paths.config)) ?? '';
  const document = await inPieces(parsingConfig(text));
  const config = document.value;
  const servers = objectAt(config, 'mcp_servers');
  if (!Object.hasOwn(servers, name)) throw unknownServer(name, Object.keys(servers));
  const held = servers[name];
  const entry = isJsonObject(held) ? held : {};
  const ofFile = parseEnvFile((await readText(paths.env)) ?? '');
  const variables = [...new Set(variablesIn(entry))].filter((variable) => !isPlace(variable));
  const elsewhere = await inPieces(readingElsewhere(name, config));
  // As a draft, a profile is read whether it is served or not.
  const loaded = await inPieces(loadingHome(withDraft(source, profile, text)));
  const redactor = createRedactor();
  await inPieces(learningSecrets(loaded, redactor));
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
    variables: variables.map((name) => ({ name, from: setIn(name, ofFile, source.env) })),
    findings: loaded.diagnostics.filter(
      ({ file, scope }) => file === configFile(profile) && scope.kind === 'server' && scope.server === name,
    ),
    lowers: loweredGuards(entry),
    further: loweredGuards(entry, false),
    own_variables: variables.filter((variable) => ofFile.has(variable) && !elsewhere.has(variable)),
  };
}

function objectOf(params: JsonObject, key: string): JsonObject {
  const value = params[key];
  if (!isJsonObject(value)) return refuse('params-missing', `the parameter "${key}" is missing, or is no object`);
  return value;
}

async function readLink(host: CommandHost, params: JsonObject): Promise<LinkReading> {
  const { name, config } = linkOf(params);
  return {
    name,
    kind: typeof config.command === 'string' ? 'command' : 'url',
    config,
    lowers: loweredGuards(config),
    taken: await hasServerEntry({ home: host.source.home, profile: profileOf(params.profile), name }),
    profiles: [...homeOf(host).profiles.keys()],
  };
}

/** The config comes from the link that the person has seen, never from the parameters of the answer. */
async function addLink(host: CommandHost, params: JsonObject): Promise<Result<'link.add'>> {
  const { source } = host;
  const link = linkOf(params);
  const wanted = typeof params.name === 'string' && params.name !== '' ? params.name : link.name;
  const profile = profileOf(params.profile);
  let why: string | undefined;
  let renamed = false;
  const outcome = await runLinkDialog(
    link,
    { home: source.home, profile },
    {
      ask: ({ mustRename, context }) => {
        const mayRename = !renamed && context.name !== wanted;
        if (mayRename) {
          renamed = true;
          return Promise.resolve({ type: 'link.rename', name: wanted });
        }
        if (!mustRename) return Promise.resolve({ type: 'link.confirm' });
        why = context.why ?? undefined;
        return Promise.resolve({ type: 'link.cancel' });
      },
    },
  );
  switch (outcome.kind) {
    case 'added':
      return { added: outcome.name, profile, ...(await applied(host)) };
    case 'cancelled':
      throw Refusal.carrying('link-name', why ?? 'nothing was added');
    case 'refused':
      throw Refusal.carrying('link-entry', outcome.why);
  }
}

function linkOf(params: JsonObject): InstallLink {
  const reading = readInstallLink(typeof params.url === 'string' ? params.url : '');
  if (reading.kind === 'link') return reading.link;
  throw Refusal.carrying(reading.code, reading.message);
}

/** All that can be added is added in one change of the files. */
async function importServers(host: CommandHost, params: JsonObject): Promise<Result<'mcp.import'>> {
  const { source } = host;
  const { home, env } = source;
  const profile = profileOf(params.profile);
  const names = new Set(Array.isArray(params.names) ? params.names.map(String) : []);
  const offered = (await offeredBy(source, params)).filter(({ name }) => names.has(name));
  const read = offered.filter(({ entry }) => entry.enabled !== false).map(({ name, entry }) => [name, entry] as const);
  const added = new Map<string, Json>();
  const failed = new Map<string, string>();
  const outcome = await editHomeAndVariables({ home, profile }, async ({ config, secrets }) => {
    const entries = Object.fromEntries(read);
    const { findings } = await readEntries(source, profile, { entries, written: config });
    const [held, variables] = [new Map(secrets), new Map<string, string>()];
    const servers: Record<string, Json> = { ...objectAt(config, 'mcp_servers') };
    const elsewhere = new Set(await inPieces(readingElsewhere('', config)));
    added.clear();
    failed.clear();
    for (const { name, entry, variables: own } of offered) {
      const plan = planEntryChange({
        ...{ name, env, request: { kind: 'add', entry, replaces: false }, takes: 'secrets' },
        ...{ config: { ...config, mcp_servers: servers }, secrets: held, elsewhere },
      });
      const finding = findings.find(({ scope }) => scope.kind === 'server' && scope.server === name);
      const odd = own.find(({ variable }) => !variablesIn(entry).includes(variable) || isReservedVariable(variable));
      const other = own.find(({ variable, value }) => (held.get(variable) ?? value) !== value);
      if (plan.kind === 'refused') failed.set(name, plan.message);
      else if (finding !== undefined) failed.set(name, finding.message);
      else if (odd !== undefined)
        failed.set(name, `${odd.variable} is not read by this entry, or by the gateway too; set it in .env yourself`);
      else if (other !== undefined)
        failed.set(name, `${other.variable} was set in .env meanwhile; run the import again`);
      else {
        servers[name] = plan.entry ?? entry;
        added.set(name, servers[name]);
        for (const variable of variablesIn(servers[name])) elsewhere.add(variable);
        for (const { variable, value } of [...own, ...plan.variables]) {
          held.set(variable, value);
          variables.set(variable, value);
        }
      }
    }
    const isWritten = added.size > 0 && params.dry !== true;
    return {
      kind: 'planned',
      edits: isWritten ? [{ path: ['mcp_servers'], value: Object.fromEntries(added), adds: true }] : [],
      variables: isWritten ? [...variables].map(([variable, value]) => ({ variable, value })) : [],
    } as const;
  });
  if (outcome.kind === 'unwritable') return refuse('config-unwritable', outcome.why);
  for (const name of names) {
    if (!added.has(name) && !failed.has(name)) failed.set(name, 'it is not there any more');
  }
  return {
    added: [...added.keys()],
    failed: [...failed].map(([name, why]) => ({ name, why })),
    ...(outcome.edits.length === 0 ? {} : await applied(host)),
  };
}

/** The servers to choose from: those of the parameters, or else those of `mcp.importable`. */
async function offeredBy(
  source: HomeSource,
  params: JsonObject,
): Promise<readonly Pick<ImportItem, 'name' | 'entry' | 'variables'>[]> {
  if (!Array.isArray(params.servers)) {
    const plan = await planFor(source, params);
    return plan.filter(({ standing }) => standing.kind === 'new' || standing.kind === 'taken');
  }
  return params.servers.filter(isJsonObject).map((one) => ({
    name: textOf(one, 'name'),
    entry: objectOf(one, 'entry'),
    variables: Object.entries(objectOf(one, 'variables')).map(([variable, value]) => ({
      variable,
      value: scalarText(value),
    })),
  }));
}

/** @param params with the `block` that was pasted, instead of the files of other programs */
async function planFor({ home, env }: HomeSource, params: JsonObject): Promise<readonly ImportItem[]> {
  const userHome = env.HOME ?? userHomeFolder();
  // The daemon's working folder is not a project.
  const places = { platform: process.platform, userHome, folder: userHome, env };
  const { block } = params;
  const configs =
    typeof block === 'string'
      ? [await readForeignBlock('', places, undefined, () => Promise.resolve(block))]
      : await readForeignConfigs(places);
  const problem = typeof block === 'string' ? configs[0]?.problem : undefined;
  if (problem !== undefined) return refuse('params-missing', `the block: ${problem}`);
  const plan = await planForeign(configs, { paths: profilePaths(home, profileOf(params.profile)), places });
  return plan.filter(({ isProject }) => !isProject);
}

function rowOf(item: ImportItem): ImportableServer {
  const { file, foreignName, name, entry, variables, uses, missing, notes, standing } = item;
  return {
    name,
    program: programTitles[file.program],
    file: file.path,
    foreign_name: foreignName,
    entry,
    variables: variables.map(({ variable }) => variable),
    missing: missing.map(({ variable }) => variable),
    notes: [
      ...uses.map(({ words }) => `It ${words}.`),
      ...(standing.kind === 'unusable' ? [] : loweredGuards(entry)),
      ...notes,
    ],
    standing: standing.kind,
    ...(standing.kind === 'unusable' ? { why: standing.why } : {}),
  };
}
