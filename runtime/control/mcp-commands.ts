/**
 * The commands of the servers' half: servers, tools, calls, approvals. Part of the one table of the control socket.
 * @see CLI-3, CLI-5 and TRU-3 in docs/specification.md
 */

import { loadHome, readEntry } from '../../actors/config/load-config.ts';
import { createCredentials } from '../../actors/oauth/credentials.store.ts';
import { toolFilter } from '../../machines/agent/toolset.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { carriedTraceparent } from '../../machines/base/traceparent.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { readServerSettings, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import type { McpView } from '../mcp/view.ts';
import type { Command, CommandHost } from './commands.ts';
import { notServed, profileOf } from './home-view.ts';
import { Refusal } from './refusal.ts';

const usualLines = 100;
const mostLines = 10_000;

export const mcpCommands: readonly (readonly [string, Command])[] = [
  ['mcp.list', ofServers((mcp) => mcp.list())],
  [
    'mcp.tools',
    ofServers((mcp, params) =>
      mcp.tools(profileIn(mcp, params), optionalText(params, 'server')).filter(allowedBy(params)),
    ),
  ],
  [
    'mcp.call',
    {
      access: 'daemon',
      run: async (params, host, peer) => {
        const cancelled = new AbortController();
        peer.onEnd(() => cancelled.abort());
        const mcp = mcpOf(host);
        const profile = profileIn(mcp, params);
        const name = textOf(params, 'name');
        if (!mayCall(mcp, params, { profile, name })) {
          return {
            error: { code: 'unknown_tool', message: `no tool is named "${name}" among those that are offered` },
          };
        }
        const answer = await mcpOf(host).call({
          profile,
          name,
          args: isJsonObject(params.arguments) ? params.arguments : {},
          caller: optionalText(params, 'caller') ?? 'cli',
          ...ofRun(params),
          signal: cancelled.signal,
          onProgress: (progress) => peer.notify('mcp.progress', { ...progress } as JsonObject),
        });
        return answer.kind === 'result' ? answer.result : { error: answer.fault };
      },
    },
  ],
  [
    'mcp.reconnect',
    ofServers((mcp, params) => {
      const server = textOf(params, 'server');
      if (!mcp.reconnect(profileIn(mcp, params), server)) throw unknownServer(server);
      return { reconnecting: server };
    }),
  ],
  [
    'mcp.logs',
    ofServers((mcp, params) => {
      const lines = typeof params.lines === 'number' ? Math.min(mostLines, Math.max(1, params.lines)) : usualLines;
      return mcp.logs(profileIn(mcp, params), textOf(params, 'server'), lines);
    }),
  ],
  [
    'mcp.watch',
    {
      access: 'daemon',
      run: (params, host, peer) => {
        const mcp = mcpOf(host);
        const profile = profileIn(mcp, params);
        peer.onEnd(mcp.onToolsChanged(profile, () => peer.notify('mcp.toolsChanged', {})));
        return Promise.resolve({ tools: mcp.tools(profile) });
      },
    },
  ],
  [
    'mcp.login',
    {
      access: 'daemon',
      run: async (params, host, peer) => {
        const cancelled = new AbortController();
        peer.onEnd(() => cancelled.abort());
        const flow = optionalText(params, 'flow');
        if (flow !== undefined && flow !== 'browser' && flow !== 'device') {
          throw new Refusal('login-flow', `flow is "browser" or "device", not "${flow}"`);
        }
        const mcp = mcpOf(host);
        const verdict = await mcp.logins.login({
          profile: profileIn(mcp, params),
          server: textOf(params, 'server'),
          ...(flow === undefined ? {} : { flow }),
          startedFrom: params.from === 'page' ? 'page' : 'terminal',
          again: params.again === true,
          signal: cancelled.signal,
          tell: (progress) => peer.notify('mcp.loginProgress', { ...progress }),
        });
        switch (verdict.kind) {
          case 'loggedIn':
            return { logged_in: textOf(params, 'server') };
          case 'stopped':
            throw new Refusal('login-stopped', verdict.why);
          case 'refused':
            throw new Refusal(verdict.code, verdict.message);
        }
      },
    },
  ],
  [
    'mcp.loginPaste',
    ofServers((mcp, params) => {
      const server = textOf(params, 'server');
      const taken = mcp.logins.paste(profileIn(mcp, params), server, textOf(params, 'url'));
      if (!taken)
        throw new Refusal(
          'login-paste',
          `no login to "${server}" waits for this; paste the whole address that the browser ended at`,
        );
      return { taken: server };
    }),
  ],
  ['mcp.oauthServers', ofServers((mcp) => mcp.oauthServers())],
  ['mcp.test', { access: 'home', run: testServer }],
  ['approvals.list', ofServers((mcp) => mcp.approvals())],
  [
    'approvals.show',
    ofServers((mcp, params) => {
      const id = textOf(params, 'id');
      return mcp.approval(id) ?? refuseApproval(id);
    }),
  ],
  [
    'approvals.answer',
    ofServers((mcp, params) => {
      const id = textOf(params, 'id');
      const values = isJsonObject(params.values) ? params.values : undefined;
      const verdict = mcp.answer(id, params.grant === true, optionalText(params, 'by') ?? 'cli', values);
      switch (verdict.kind) {
        case 'taken':
          return { answered: id };
        case 'unknown':
          return refuseApproval(id);
        case 'refused':
          throw new Refusal('approval-values', `approval ${id}: ${verdict.reason}; give the values anew`);
      }
    }),
  ],
  [
    'approvals.watch',
    {
      access: 'daemon',
      run: (_, host, peer) => {
        const mcp = mcpOf(host);
        peer.onEnd(mcp.onAsked((row) => peer.notify('approvals.asked', row)));
        return Promise.resolve({ pending: mcp.approvals() });
      },
    },
  ],
];

function ofServers(run: (mcp: McpView, params: JsonObject) => unknown): Command {
  return { access: 'daemon', run: async (params, host) => run(mcpOf(host), params) };
}

/** A program that a run started says so, that its calls may be found with the run. */
function ofRun(params: JsonObject): { readonly run?: string; readonly traceparent?: string } {
  const run = optionalText(params, 'run');
  const traceparent = carriedTraceparent(optionalText(params, 'traceparent'));
  return { ...(run === undefined ? {} : { run }), ...(traceparent === undefined ? {} : { traceparent }) };
}

/** Tells which tools a caller that is bound to toolsets may see; one that is not may see all. */
function allowedBy(params: JsonObject): (row: JsonObject) => boolean {
  const toolsets = optionalText(params, 'toolsets');
  if (toolsets === undefined) return () => true;
  const isAllowed = toolFilter(toolsets.split(','));
  return ({ server, name }) => isAllowed({ server: String(server), name: String(name) });
}

function mayCall(
  mcp: McpView,
  params: JsonObject,
  { profile, name }: { readonly profile: string; readonly name: string },
): boolean {
  if (optionalText(params, 'toolsets') === undefined) return true;
  const row = mcp.tools(profile).find((tool) => tool.name === name);
  return row === undefined || allowedBy(params)(row);
}

function mcpOf({ daemon }: CommandHost): McpView {
  if (daemon === undefined) {
    throw new Refusal('gateway-not-running', 'the gateway is not running; start it with `agent gateway`');
  }
  return daemon.mcp;
}

/**
 * Connects once, to a configured server or to the entry that is given; or only reads that. Lives apart from the daemon's
 * connections.
 */
async function testServer(params: JsonObject, { source, version = '0' }: CommandHost): Promise<unknown> {
  const name = textOf(params, 'server');
  const profile = profileOf(params.profile);
  const settings = isJsonObject(params.entry)
    ? givenEntry(name, params.entry, { profile, source })
    : configured(name, profile, source);
  if (params.connect === false) return { ok: true };
  // The protocol's client costs more than everything else here, and only this needs it.
  const { probeServer } = await import('../mcp/probe.ts');
  const credentials = createCredentials(profilePaths(source.home, profile).tokens);
  return probeServer(settings, { profile, credentials, env: source.env, version, nowMs: Date.now });
}

function givenEntry(
  name: string,
  value: JsonObject,
  { profile, source }: { readonly profile: ProfileName; readonly source: CommandHost['source'] },
): ServerSettings {
  const { server, findings } = readEntry(source, profile, { name, value });
  const [finding] = findings;
  if (server === undefined || finding !== undefined) {
    const words = findings.map(({ message }) => message).join('; ');
    throw Refusal.carrying(finding?.code ?? 'server-entry', words || `mcp server "${name}": the entry cannot be read`);
  }
  return readServerSettings(server);
}

function configured(name: string, profile: ProfileName, source: CommandHost['source']): ServerSettings {
  const loaded = loadHome(source).profiles.get(profile);
  if (loaded === undefined) throw notServed(profile);
  const entry = loaded.settings.servers.find((server) => server.name === name);
  if (entry === undefined) throw unknownServer(name);
  if (entry.problem !== undefined) throw new Refusal('server-entry', entry.problem);
  return readServerSettings(entry);
}

function unknownServer(name: string): Refusal {
  return new Refusal('server-unknown', `no mcp server is named "${name}"; \`agent mcp list\` lists them`);
}

function refuseApproval(id: string): never {
  throw new Refusal('approval-unknown', `no approval "${id}" waits; \`agent approvals list\` lists them`);
}

/** The profile that is meant, which must be one that the daemon serves. */
function profileIn(mcp: McpView, params: JsonObject): ProfileName {
  const profile = profileOf(params.profile);
  if (!mcp.serves(profile)) throw notServed(profile);
  return profile;
}

function optionalText(params: JsonObject, name: string): string | undefined {
  const value = params[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function textOf(params: JsonObject, name: string): string {
  const value = optionalText(params, name);
  if (value === undefined) throw new Refusal('params-missing', `the parameter "${name}" is missing`);
  return value;
}
