/**
 * The commands of the servers' half: servers, tools, calls, and what else servers offer: instructions, resources and
 * prompts, limited to the toolsets of the caller like its calls. Part of the table of the control socket.
 * @see CLI-3, CLI-5 and TRU-3 in docs/specification.md
 */

import { loadingHome, readEntries } from '../../actors/config/load-config.ts';
import { changedEntry } from '../../actors/config/server-entries.ts';
import { inPieces } from '../../actors/in-pieces.ts';
import { createCredentials } from '../../actors/oauth/credentials.store.ts';
import { type ServerTool, serversOf, toolFilter, unknownToolsets } from '../../machines/agent/toolset.ts';
import { defined, isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { carriedTraceparent } from '../../machines/base/traceparent.ts';
import { meantOr } from '../../machines/config/nearest.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { splitGlobs } from '../../machines/mcp/glob.ts';
import type { ListName } from '../../machines/mcp/offers.ts';
import { isSecret } from '../../machines/mcp/secret-places.ts';
import { readServerSettings, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import { withoutColours } from '../../machines/mcp/untrusted-words.ts';
import { serverCommand } from '../../machines/oauth/login-hint.ts';
import { learningSecrets } from '../config/loaded-home.ts';
import type { CallAnswer, CallRequest } from '../mcp/calls.ts';
import type { OfferCaller, Offers } from '../mcp/offers.ts';
import type { McpView } from '../mcp/view.ts';
import { learntCredentials } from '../oauth/learnt-credentials.ts';
import { createRedactor } from '../observe/redact.ts';
import {
  type Command,
  type CommandHost,
  type CommandPeer,
  type Commands,
  daemonOf,
  optionalText,
  textOf,
} from './command.ts';
import { Refusal, refuse } from './contract/refusal.ts';
import type { Offered } from './contract/servers.ts';
import type { Result } from './contract.ts';
import { cureOfUnread, notServed, profileOf } from './home-view.ts';

const defaultCalls = 100;
const defaultLines = 100;

export const mcpCommands = {
  'mcp.list': ofServers((mcp) =>
    mcp.list().map((row) => {
      const { count: calls, median_ms } = mcp.callsOf(row);
      return calls === 0 ? row : { ...row, calls, ...defined({ median_ms }) };
    }),
  ),
  'mcp.tools': ofServers((mcp, params) => {
    const profile = profileIn(mcp, params);
    const server = optionalText(params, 'server');
    if (server !== undefined) knownIn(mcp, profile, server, lentIn(params));
    return mcp.tools(profile, server).filter(allowedBy(params));
  }),

  'mcp.call': async (host, params, peer) => {
    const mcp = mcpOf(host);
    const profile = profileIn(mcp, params);
    const name = textOf(params, 'name');
    const answer = await whileAsked(peer, (signal) =>
      mcp.call({
        profile,
        name,
        args: isJsonObject(params.arguments) ? params.arguments : {},
        ...callerOf(params, peer),
        ...(filtersOf(params).length === 0 ? {} : { allows: allowedBy(params) }),
        signal,
      }),
    );
    return answer.kind === 'result' ? answer.result : { error: answer.fault };
  },

  'mcp.reconnect': ofServers((mcp, params) => {
    const profile = profileIn(mcp, params);
    const server = textOf(params, 'server');
    if (knownIn(mcp, profile, server) === 'disabled') throw disabledServer(server, profile);
    if (!mcp.reconnect(profile, server)) throw unknownServer(server, namesIn(mcp, profile));
    return { reconnecting: server };
  }),

  'mcp.logs': ofServers(async (mcp, params) => {
    // The files of a log bound it.
    const lines = typeof params.lines === 'number' ? Math.max(1, params.lines) : defaultLines;
    const profile = profileIn(mcp, params);
    const server = textOf(params, 'server');
    knownIn(mcp, profile, server);
    return (await mcp.logs(profile, server, lines)).map(withoutColours);
  }),

  'mcp.calls': ofServers((mcp, params) => {
    const profile = profileIn(mcp, params);
    const server = textOf(params, 'server');
    knownIn(mcp, profile, server);
    const limit = typeof params.limit === 'number' ? Math.max(1, params.limit) : defaultCalls;
    return mcp.recentCalls(profile, server).slice(0, limit);
  }),

  'mcp.watch': (host, params, peer) => {
    const mcp = mcpOf(host);
    const profile = profileIn(mcp, params);
    const report = (lists: readonly ListName[]): void => {
      for (const list of lists) peer.notify(`mcp.${list}Changed`, {});
    };
    peer.onEnd(mcp.onListsChanged(profile, report));
    const unknown = unknownIn(params, profile, mcp);
    return { watching: profile, ...(unknown.length === 0 ? {} : { unknown_toolsets: unknown }) };
  },

  'mcp.login': async (host, params, peer) => {
    const flow = optionalText(params, 'flow');
    if (flow !== undefined && flow !== 'browser' && flow !== 'device') {
      return refuse('login-flow', `flow is "browser" or "device", not "${flow}"`);
    }
    const mcp = mcpOf(host);
    const verdict = await whileAsked(peer, (signal) =>
      mcp.logins.login({
        profile: profileIn(mcp, params),
        server: textOf(params, 'server'),
        ...(flow === undefined ? {} : { flow }),
        startedFrom: params.from === 'page' ? 'page' : 'terminal',
        again: params.again === true,
        signal,
        report: (progress) => peer.notify('mcp.loginProgress', progress),
      }),
    );
    switch (verdict.kind) {
      case 'loggedIn':
        return { logged_in: textOf(params, 'server') };
      case 'stopped':
        return refuse('login-stopped', verdict.why);
      case 'refused':
        return refuse(verdict.code, verdict.message);
    }
  },

  'mcp.logout': ofServers(async (mcp, params) => {
    const server = textOf(params, 'server');
    const verdict = await mcp.logins.logout(profileIn(mcp, params), server);
    switch (verdict.kind) {
      case 'loggedOut':
        return { logged_out: server, was_logged_in: verdict.wasLoggedIn };
      case 'stopped':
        return refuse('login-stopped', verdict.why);
      case 'refused':
        return refuse(verdict.code, verdict.message);
    }
  }),

  'mcp.loginPaste': ofServers((mcp, params) => {
    const server = textOf(params, 'server');
    const taken = mcp.logins.paste(profileIn(mcp, params), server, textOf(params, 'url'));
    if (!taken)
      return refuse(
        'login-paste',
        `no login to "${server}" waits for this; paste the complete address at which the browser ended`,
      );
    return { taken: server };
  }),

  'mcp.instructions': ofServers((mcp, params) => {
    const instructions = mcp.instructions(profileIn(mcp, params), allowedBy(params));
    return instructions === undefined ? {} : { instructions };
  }),

  'mcp.gateways': ofServers((mcp, params) => mcp.gateways(profileIn(mcp, params), allowedBy(params))),

  'mcp.resources': ofOffers((offers, _, caller) => offers.resources(caller)),
  'mcp.resourceTemplates': ofOffers((offers, _, caller) => offers.resourceTemplates(caller)),
  'mcp.prompts': ofOffers((offers, _, caller) => offers.prompts(caller)),
  'mcp.readResource': ofOffers(async (offers, params, caller) =>
    offered(await offers.readResource(textOf(params, 'uri'), caller)),
  ),

  'mcp.getPrompt': ofOffers(async (offers, params, caller) => {
    const args = isJsonObject(params.arguments) ? params.arguments : {};
    return offered(await offers.getPrompt(textOf(params, 'name'), args, caller));
  }),

  'mcp.oauthServers': ofServers((mcp) => mcp.oauthServers()),
  'mcp.test': testServer,
} satisfies Partial<Commands>;

function ofServers<Answer>(run: (mcp: McpView, params: JsonObject) => Answer | Promise<Answer>): Command<Answer> {
  return (host, params) => run(mcpOf(host), params);
}

function ofOffers<Answer>(
  run: (offers: Offers, params: JsonObject, caller: OfferCaller) => Promise<Answer>,
): Command<Answer> {
  return async (host, params, peer) => {
    const mcp = mcpOf(host);
    const profile = profileIn(mcp, params);
    return whileAsked(peer, (signal) =>
      run(mcp.offers, params, {
        profile,
        allows: allowedBy(params),
        ...callerOf(params, peer),
        signal,
      }),
    );
  };
}

function offered(answer: CallAnswer): Offered {
  return answer.kind === 'result' ? answer.result.structuredContent : { error: answer.fault };
}

/** Runs work whose signal aborts when the peer leaves. */
async function whileAsked<Value>(peer: CommandPeer, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const gone = new AbortController();
  const forget = peer.onEnd(() => gone.abort());
  try {
    return await work(gone.signal);
  } finally {
    // One connection may send thousands of requests, so the listener is removed.
    forget();
  }
}

/**
 * The caller of a call or an offer, with its run if the parameters name one. Its peer is notified of progress, and of
 * each approval that the request waits for.
 */
function callerOf(
  params: JsonObject,
  peer: CommandPeer,
): Pick<CallRequest, 'caller' | 'program' | 'run' | 'traceparent' | 'onProgress' | 'onWaiting'> {
  return {
    caller: optionalText(params, 'caller') ?? 'cli',
    ...defined({
      program: optionalText(params, 'program'),
      run: optionalText(params, 'run'),
      traceparent: carriedTraceparent(optionalText(params, 'traceparent')),
    }),
    onProgress: (progress) => peer.notify('mcp.progress', progress),
    onWaiting: (question) =>
      peer.notify('mcp.waiting', { question, message: `waits for approval ${question}: \`agent approvals\`` }),
  };
}

/** Returns which tools the caller may see; without toolsets, all. */
function allowedBy(params: JsonObject): (tool: ServerTool) => boolean {
  const filters = filtersOf(params);
  return (tool) => filters.every((allows) => allows(tool));
}

/** The toolsets of the request, and those of the caller's run: a tool must be in both. */
function filtersOf(params: JsonObject): readonly ((tool: ServerTool) => boolean)[] {
  const asked = optionalText(params, 'toolsets');
  const lent = lentIn(params);
  return [
    ...(asked === undefined ? [] : [toolFilter(splitGlobs(asked))]),
    ...(lent === undefined ? [] : [toolFilter(lent)]),
  ];
}

/** The requested toolsets that do not exist. A run does not learn which servers exist. */
function unknownIn(params: JsonObject, profile: string, mcp: McpView): readonly string[] {
  const asked = optionalText(params, 'toolsets');
  if (asked === undefined || lentIn(params) !== undefined) return [];
  return unknownToolsets(splitGlobs(asked), namesIn(mcp, profile));
}

/** The toolsets of the calling run; undefined outside of a run. */
function lentIn({ lent }: JsonObject): readonly string[] | undefined {
  return Array.isArray(lent) ? lent.map(String) : undefined;
}

export function mcpOf(host: CommandHost): McpView {
  return daemonOf(host).mcp;
}

/**
 * Connects once, to a configured server or to the given entry; with `connect: false` only validates the entry.
 * Independent of the daemon's connections.
 */
async function testServer(
  { source, daemon, version = '0' }: CommandHost,
  params: JsonObject,
  peer: CommandPeer,
): Promise<Result<'mcp.test'>> {
  const name = textOf(params, 'server');
  const profile = profileOf(params.profile);
  const entry = isJsonObject(params.changes)
    ? await changedEntry({ home: source.home, profile, name }, params.changes)
    : params.entry;
  const settings = isJsonObject(entry)
    ? await givenEntry(name, entry, { profile, source })
    : await configured(name, profile, source);
  if (params.connect === false) return { ok: true };
  // The protocol's client is expensive to load, and only this needs it.
  const { probeServer } = await import('../mcp/probe.ts');
  const { home, tokens } = profilePaths(source.home, profile);
  const loaded = await inPieces(loadingHome(source));
  const redactor = createRedactor();
  await inPieces(learningSecrets(loaded, redactor));
  const credentials = learntCredentials(createCredentials(tokens, loaded.documents), redactor.learnNext);
  for (const value of secretTexts(settings, entry !== undefined)) redactor.learn(value);
  const { env } = source;
  const gateway = daemon?.mcp.gateway(profile);
  const report = await whileAsked(peer, (signal) =>
    probeServer(settings, { profile, home, credentials, env, version, gateway, nowMs: Date.now, signal }),
  );
  return redactor.record(report);
}

/** Values passed to a server that it could echo. In an entry that is only tried, any value may be a secret. */
function secretTexts({ transport }: ServerSettings, isTried: boolean): readonly string[] {
  if (transport.kind !== 'stdio') return Object.values(transport.headers);
  return Object.entries(transport.env).flatMap(([name, value]) => (isTried || isSecret(name, value) ? [value] : []));
}

async function givenEntry(
  name: string,
  value: JsonObject,
  { profile, source }: { readonly profile: ProfileName; readonly source: CommandHost['source'] },
): Promise<ServerSettings> {
  const { servers, findings } = await readEntries(source, profile, { entries: { [name]: value } });
  const [server] = servers;
  const [finding] = findings;
  if (server === undefined || finding !== undefined) {
    const words = findings.map(({ message }) => message).join('; ');
    throw Refusal.carrying(finding?.code ?? 'server-entry', words || `mcp server "${name}": the entry cannot be read`);
  }
  return readServerSettings(server);
}

async function configured(name: string, profile: ProfileName, source: CommandHost['source']): Promise<ServerSettings> {
  const { profiles, diagnostics } = await inPieces(loadingHome(source));
  const loaded = profiles.get(profile);
  if (loaded === undefined) throw notServed(profile);
  const entry = loaded.settings.servers.find((server) => server.name === name);
  if (entry === undefined) {
    const names = loaded.settings.servers.map((server) => server.name);
    const [other] = [...profiles].find(([, { settings }]) => settings.servers.some((one) => one.name === name)) ?? [];
    const unread = cureOfUnread(diagnostics);
    if (unread !== undefined) return refuse('server-unknown', `no mcp server is named "${name}"; ${unread}`);
    throw unknownServer(name, names, { list: '`agent config show mcp_servers`', other });
  }
  if (entry.problem !== undefined) return refuse('server-entry', entry.problem);
  return readServerSettings(entry);
}

/** @param other a profile that has a server of this name */
export function unknownServer(
  name: string,
  known: readonly string[],
  {
    list = '`agent mcp list`',
    other,
  }: { readonly list?: string | undefined; readonly other?: string | undefined } = {},
): Refusal {
  const cure = other === undefined ? meantOr(name, known, `${list} lists them`) : `it is one of profile "${other}"`;
  return new Refusal('server-unknown', `no mcp server is named "${name}"; ${cure}`);
}

function namesIn(mcp: McpView, profile: string): readonly string[] {
  return mcp.list().flatMap((row) => (row.profile === profile ? [row.name] : []));
}

function disabledServer(name: string, profile: string): Refusal {
  const cure = `run \`${serverCommand('enable', name, profile)}\``;
  return new Refusal('server-disabled', `mcp server "${name}" is disabled; ${cure}`);
}

/** @param lent with a run's toolsets, a server without any of their tools counts as unknown */
function knownIn(mcp: McpView, profile: string, server: string, lent?: readonly string[]): 'enabled' | 'disabled' {
  const of = (names: readonly string[]) => (lent === undefined ? names : serversOf(lent, names));
  const standing = of([server]).length === 0 ? 'unknown' : mcp.standing(profile, server);
  if (standing !== 'unknown') return standing;
  if (lent !== undefined) throw unknownServer(server, of(namesIn(mcp, profile)), { list: '`agent mcp tools`' });
  throw unknownServer(server, namesIn(mcp, profile), {
    other: mcp.list().find(({ name }) => name === server)?.profile,
  });
}

/** The profile of the request, which the daemon must serve. */
export function profileIn(mcp: McpView, params: JsonObject): ProfileName {
  const profile = profileOf(params.profile);
  if (!mcp.serves(profile)) throw notServed(profile);
  return profile;
}
