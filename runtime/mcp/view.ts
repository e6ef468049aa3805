/**
 * Answers what the commands ask of the servers' half, as plain JSON: the connections, the tools, the approvals; and runs a
 * call for whoever asks. Looking connects nothing.
 * @see CON-4, LIF-1 and TRU-3 in docs/specification.md
 */

import { readLog } from '../../actors/mcp/server-log.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { cut } from '../../machines/base/json.ts';
import type { ConnectionContext } from '../../machines/mcp/server-connection.machine.ts';
import { stripTags } from '../../machines/mcp/strip-tags.ts';
import type { LoginDesk } from '../oauth/login-desk.ts';
import type { Redactor } from '../redact.ts';
import type { Servers } from '../servers.ts';
import type { AnswerVerdict } from './approvals.ts';
import type { CallAnswer, CallRequest } from './calls.ts';
import { connectionKey } from './sessions.ts';

export interface McpView {
  serves(profile: string): boolean;
  list(): readonly JsonObject[];
  /** How many connections stand in each state. */
  states(): Readonly<Record<string, number>>;
  tools(profile: string, server?: string): readonly JsonObject[];
  call(request: CallRequest): Promise<CallAnswer>;
  /** Makes the connection anew; false where there is none. */
  reconnect(profile: string, server: string): boolean;
  logs(profile: string, server: string, lines: number): Promise<readonly string[]>;
  /** Calls back whenever the tools of a profile changed, until the returned function is called. */
  onToolsChanged(profile: string, listener: () => void): () => void;
  approvals(): readonly JsonObject[];
  approval(id: string): JsonObject | undefined;
  answer(id: string, grant: boolean, by: string, values?: JsonObject): AnswerVerdict;
  onAsked(listener: (row: JsonObject) => void): () => void;
  readonly logins: LoginDesk;
  /** The servers of a profile, or of all, that log in by OAuth. */
  oauthServers(): readonly { readonly profile: string; readonly server: string }[];
}

/** States in which a call would be taken, or would first wake the server. */
const available: ReadonlySet<string> = new Set(['connected', 'lazy', 'recycling', 'connecting']);
const longestDescription = 2_000;

interface Seen {
  readonly value: string;
  readonly since: number;
  readonly context: ConnectionContext;
}

export function createMcpView(servers: Servers, redactor: Redactor): McpView {
  const { calls, approvals, reconcile } = servers;

  function each(visit: (seen: Seen) => void): void {
    servers.connections().each((_, connection) => {
      visit(connection.getSnapshot() as unknown as Seen);
      return true;
    });
  }

  return {
    serves: (profile) => servers.serves(profile),
    list() {
      const rows: JsonObject[] = [];
      each(({ value, since, context }) => {
        rows.push({
          name: context.server,
          profile: context.profile,
          state: value,
          transport: context.transport,
          era: context.era,
          tools: context.tools,
          since: new Date(since).toISOString(),
          ...(context.why === null ? {} : { error: redactor.text(context.why) }),
        });
      });
      return rows;
    },
    states() {
      const counts: Record<string, number> = {};
      each(({ value }) => {
        counts[value] = (counts[value] ?? 0) + 1;
      });
      return counts;
    },
    tools(profile, server) {
      const states = new Map<string, string>();
      each(({ value, context }) => {
        if (context.profile === profile) states.set(context.server, value);
      });
      return (servers.registry(profile)?.all() ?? [])
        .filter((tool) => server === undefined || tool.server === server)
        .map((tool) => ({
          name: tool.name,
          server: tool.server,
          tool: stripTags(tool.tool),
          description: cut(String(tool.definition.description ?? ''), longestDescription),
          available: available.has(states.get(tool.server) ?? ''),
          input_schema: (tool.definition.inputSchema ?? { type: 'object' }) as Json,
          ...(tool.definition.outputSchema === undefined ? {} : { output_schema: tool.definition.outputSchema }),
          ...(tool.definition.annotations === undefined ? {} : { annotations: tool.definition.annotations }),
        }));
    },
    call: (request) => calls.start(request),
    reconnect(profile, server) {
      const connection = servers.connections().get(connectionKey(profile, server));
      connection?.send({ type: 'server.connect' });
      return connection !== undefined;
    },
    async logs(profile, server, lines) {
      if (reconcile.settings(profile, server) === undefined) {
        throw new Error(`no mcp server is named "${server}"; \`agent mcp list\` lists them`);
      }
      return (await readLog(servers.logFolder(profile), server, lines)).map((line) => redactor.text(line));
    },
    onToolsChanged: (profile, listener) => servers.registry(profile)?.onChange(listener) ?? (() => {}),
    approvals: () => approvals.list(),
    approval: (id) => approvals.show(id),
    answer: (id, grant, by, values) => approvals.answer(id, grant, by, values),
    onAsked: (listener) => approvals.onAsked(listener),
    logins: servers.logins,
    oauthServers() {
      const found: { profile: string; server: string }[] = [];
      each(({ context: { profile, server } }) => {
        const settings = reconcile.settings(profile, server);
        const { enabled = false, transport } = settings ?? {};
        if (enabled && transport !== undefined && transport.kind !== 'stdio' && transport.oauth !== null)
          found.push({ profile, server });
      });
      return found;
    },
  };
}
