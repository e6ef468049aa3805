/**
 * Answers the commands about the servers' half, as plain JSON: the connections, the tools, the approvals. Also makes
 * calls. Reading connects to no server.
 * @see CON-4, LIF-1 and TRU-3 in docs/specification.md
 */

import { readLog } from '../../actors/line-log.ts';
import type { ServerTool } from '../../machines/agent/toolset.ts';
import type { Json } from '../../machines/base/json.ts';
import { shownFailure } from '../../machines/mcp/connect-failure.ts';
import { isAsleep, isReachable } from '../../machines/mcp/connection-state.ts';
import { joinInstructions } from '../../machines/mcp/instructions.ts';
import type { ListName } from '../../machines/mcp/offers.ts';
import { refusedForMs, refusedWords } from '../../machines/mcp/retry-plan.ts';
import type { ConnectionContext } from '../../machines/mcp/server-connection.machine.ts';
import { oauthPlanOf, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import { stripTags } from '../../machines/mcp/strip-tags.ts';
import type { ApprovalDetail, ApprovalRow } from '../control/contract/approvals.ts';
import type { ServerCall, ServerRow, ToolRow } from '../control/contract/servers.ts';
import type { LoginService } from '../oauth/login-service.ts';
import type { Recent } from '../observe/recent-counts.ts';
import type { Redactor } from '../observe/redact.ts';
import type { Approvals, AskedCall } from './approvals.ts';
import type { CallAnswer, CallRequest } from './calls.ts';
import type { Offers } from './offers.ts';
import type { Servers } from './servers.ts';
import { connectionKey } from './sessions.ts';

export interface McpView extends Pick<Approvals, 'answer' | 'answered' | 'onAnswered' | 'onAsked'> {
  serves(profile: string): boolean;
  list(): readonly ServerRow[];
  /** The calls of a server in the last hour. */
  callsOf(row: Pick<ServerRow, 'name' | 'profile'>): Recent;
  states(): Readonly<Record<string, number>>;
  tools(profile: string, server?: string): readonly ToolRow[];
  call(request: CallRequest): Promise<CallAnswer>;
  /** Whether an entry of that name exists and is enabled. */
  standing(profile: string, server: string): 'enabled' | 'disabled' | 'unknown';
  /** Reconnects; false if there is no such connection. */
  reconnect(profile: string, server: string): boolean;
  logs(profile: string, server: string, lines: number): Promise<readonly string[]>;
  /** The last calls of a server, newest first. */
  recentCalls(profile: string, server: string): readonly ServerCall[];
  /** Calls back whenever lists of a profile changed, until the returned function is called. */
  onListsChanged(profile: string, listener: (lists: readonly ListName[]) => void): () => void;
  readonly offers: Offers;
  /** The servers' instructions, of those with a tool that the caller may use; undefined if there are none. */
  instructions(profile: string, allows: (tool: ServerTool) => boolean): string | undefined;
  gateway(profile: string): string;
  /** This gateway, and the others that the tools which the caller may use come from. */
  gateways(profile: string, allows: (tool: ServerTool) => boolean): readonly string[];
  approvals(): readonly ApprovalRow[];
  approval(id: string): ApprovalDetail | undefined;
  /** The call of an approval. Its arguments may contain secrets: only for comparison. */
  askedCall(id: string): AskedCall | undefined;
  readonly logins: LoginService;
  /** The servers of a profile, or of all, that log in by OAuth. */
  oauthServers(): readonly { readonly profile: string; readonly server: string }[];
}

/** Fields of a definition that are passed on unchanged. */
const passedOn = ['title', 'icons', 'annotations', '_meta'] as const;

/** A chart that is ending is shown as stopped. */
const leaving = { state: 'stopped', why: 'its session is being closed' } as const;

/** Why a server has no session, or has one but takes no calls; null if neither is the case. */
function whyOf({ why, server, breaker }: ConnectionContext, atMs: number): string | null {
  const waitMs = refusedForMs(breaker, atMs);
  return why ?? (waitMs === undefined ? null : `mcp server "${server}": ${refusedWords(waitMs)}`);
}

export function createMcpView(
  servers: Servers,
  redactor: Redactor,
  steadyMs: () => number,
  callsOf: McpView['callsOf'],
): McpView {
  const { calls, approvals, reconcile } = servers;

  const snapshots = () => [...servers.connections()].map(([, connection]) => connection.getSnapshot());

  const { answer, answered, onAnswered, onAsked, list, callOf } = approvals;
  /** The servers with a tool that the caller may use. */
  function offering(profile: string, allows: (tool: ServerTool) => boolean): ReadonlySet<string> {
    return new Set((servers.registry(profile)?.all() ?? []).filter(allows).map(({ server }) => server));
  }

  return {
    ...{ answer, answered, onAnswered, onAsked },
    serves: servers.serves,
    callsOf,
    list() {
      const places = new Map(reconcile.keys().map((key, index) => [key, index]));
      const rows = snapshots().map(({ value, since, context }) => {
        const { profile, server } = context;
        const registry = servers.registry(profile);
        const leftOut = registry?.leftOut(server) ?? [];
        const settings = reconcile.settings(profile, server);
        const unset = settings?.unset ?? [];
        const why = value === 'stopping' ? leaving.why : whyOf(context, steadyMs());
        const error = why === null ? undefined : redactor.text(why);
        const row: ServerRow = {
          name: server,
          profile,
          state: stateOf(value),
          // Empty for an entry with neither a command nor a url.
          transport: isNowhere(settings) ? '' : context.transport,
          era: context.era,
          tools: registry?.count(server) ?? context.tools,
          since: new Date(since).toISOString(),
          ...(context.failures === 0 ? {} : { failures: context.failures }),
          ...(isWaiting(value, context) ? { next_at: new Date(since + context.retryMs).toISOString() } : {}),
          ...(error === undefined ? {} : { error, failure: shownFailure(server, error) }),
          ...(unset.length === 0 ? {} : { unset: unset.map((words) => redactor.text(words)) }),
          ...(leftOut.length === 0 ? {} : { left_out: leftOut.map((words) => redactor.text(words)) }),
        };
        return { place: places.get(connectionKey(profile, server)) ?? places.size, row };
      });
      return rows.sort((one, other) => one.place - other.place).map(({ row }) => row);
    },
    states() {
      const counts: Record<string, number> = {};
      for (const { value } of snapshots()) {
        const state = stateOf(value);
        counts[state] = (counts[state] ?? 0) + 1;
      }
      return counts;
    },
    tools(profile, server) {
      const states = new Map<string, string>();
      for (const { value, context } of snapshots()) if (context.profile === profile) states.set(context.server, value);
      return (servers.registry(profile)?.all() ?? [])
        .filter((tool) => server === undefined || tool.server === server)
        .map((tool) => ({
          name: tool.name,
          server: tool.server,
          tool: stripTags(tool.tool),
          description: String(tool.definition.description ?? ''),
          available: isAvailable(states.get(tool.server) ?? ''),
          input_schema: (tool.definition.inputSchema ?? { type: 'object' }) as Json,
          ...(tool.definition.outputSchema === undefined ? {} : { output_schema: tool.definition.outputSchema }),
          ...Object.fromEntries(
            passedOn.flatMap((key) => (tool.definition[key] === undefined ? [] : [[key, tool.definition[key]]])),
          ),
        }));
    },
    call: calls.start,
    standing(profile, server) {
      const settings = reconcile.settings(profile, server);
      if (settings === undefined) return 'unknown';
      return settings.enabled ? 'enabled' : 'disabled';
    },
    reconnect(profile, server) {
      const connection = servers.connections().get(connectionKey(profile, server));
      connection?.send({ type: 'server.connect' });
      return connection !== undefined;
    },
    logs: async (profile, server, lines) =>
      (await readLog(servers.logFolder(profile), server, lines)).map((line) => redactor.text(line)),
    recentCalls: (profile, server) =>
      servers.memory.ofServer(profile, server).map((memo) => ({
        id: memo.id,
        tool: memo.tool,
        caller: memo.caller,
        outcome: memo.isError ? 'error' : memo.outcome,
        ...(memo.why === undefined ? {} : { why: memo.why }),
        started_at: new Date(memo.startedAtMs).toISOString(),
        milliseconds: memo.endedAtMs - memo.startedAtMs,
        tries: memo.tries,
      })),
    offers: servers.offers,
    instructions(profile, allows) {
      const registry = servers.registry(profile);
      return joinInstructions(
        [...offering(profile, allows)].flatMap((server) => {
          const { instructions } = registry?.listing(server) ?? {};
          return instructions === undefined ? [] : [{ server, instructions: redactor.text(instructions) }];
        }),
      );
    },
    gateway: servers.gateway,
    gateways(profile, allows) {
      const registry = servers.registry(profile);
      const others = [...offering(profile, allows)].flatMap((server) => registry?.listing(server)?.gateways ?? []);
      return [...new Set([servers.gateway(profile), ...others])];
    },
    onListsChanged: (profile, listener) => servers.registry(profile)?.onChange(listener) ?? (() => {}),
    approvals: list,
    approval(id) {
      const shown = approvals.show(id);
      const call = approvals.callOf(id);
      // The copy in the chart is bounded, and what is left out of it is what a person would have to see.
      return shown === undefined || call === undefined ? shown : { ...shown, detail: redactor.record(call.args) };
    },
    askedCall: callOf,
    logins: servers.logins,
    oauthServers() {
      return snapshots().flatMap(({ context: { profile, server } }) => {
        const settings = reconcile.settings(profile, server);
        return settings?.enabled && oauthPlanOf(settings.transport) !== undefined ? [{ profile, server }] : [];
      });
    },
  };
}

function stateOf(value: string): string {
  return value === 'stopping' ? leaving.state : value;
}

/** Whether a call is accepted, or first wakes the server. */
function isAvailable(value: string): boolean {
  return isReachable(value) || isAsleep(value);
}

function isWaiting(value: string, { retryMs }: ConnectionContext): boolean {
  return value === 'backingOff' || value === 'parked' || (value === 'needsLogin' && retryMs > 0);
}

function isNowhere(settings: ServerSettings | undefined): boolean {
  return settings?.transport.kind === 'http' && settings.transport.url === '';
}
