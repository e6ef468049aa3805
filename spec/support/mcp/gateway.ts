/** A real daemon with MCP servers in its configuration, and its real doors: the control socket and the command line. */

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { homePaths } from '../../../machines/config/profile.ts';
import { type ControlClient, connectControl } from '../../../runtime/control/client.ts';
import { askCli, type CliResult, type Daemon, startDaemon } from '../daemon.ts';
import { makeHome, removeFolder, type TestHome } from '../home.ts';
import { numbersIn } from '../processes.ts';
import { postSigned } from '../sign.ts';
import { adapterOf, webhookSecret } from '../webhook-adapter.ts';
import type { HttpPeer } from './http-peer.ts';
import { type StdioBehaviour, type StdioPeer, stdioPeer } from './stdio-peer.ts';

export type ServerEntries = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface ServerRow {
  readonly name: string;
  readonly state: string;
  readonly transport: string;
  readonly era: string | null;
  readonly tools: number;
  readonly since: string;
  readonly next_at?: string;
  readonly error?: string;
  readonly left_out?: readonly string[];
}

export interface ToolRow {
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  readonly available: boolean;
}

export interface ApprovalRow {
  readonly id: string;
  readonly kind: string;
  readonly server: string;
  readonly tool?: string;
  readonly message: string;
  readonly asked_at: string;
  readonly expires_at: string;
  readonly detail?: unknown;
}

export interface CallAnswer {
  readonly content?: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface Gateway {
  readonly home: TestHome;
  readonly daemon: Daemon;
  readonly control: ControlClient;
  list(): Promise<readonly ServerRow[]>;
  server(name: string): Promise<ServerRow | undefined>;
  /** Resolves with the row once the server is in one of the states. */
  reaches(name: string, ...states: readonly string[]): Promise<ServerRow>;
  tools(server?: string): Promise<readonly ToolRow[]>;
  call(name: string, args?: JsonObject): Promise<CallAnswer>;
  logs(server: string): Promise<readonly string[]>;
  approvals(): Promise<readonly ApprovalRow[]>;
  /** Resolves with the first question that waits. */
  asked(): Promise<ApprovalRow>;
  answer(id: string, grant: boolean, values?: JsonObject): Promise<unknown>;
  cli(...words: readonly string[]): Promise<CliResult>;
  /** Writes the configuration anew, with these servers. */
  configure(servers: ServerEntries): void;
}

export interface GatewayOptions {
  /** Further top-level keys of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** A home that an earlier daemon has used. */
  readonly home?: TestHome;
  /** Whether the spec lets the daemon's time pass. */
  readonly timePasses?: boolean;
  /** How many files and sockets the daemon may have open. */
  readonly descriptors?: number;
}

/** Starts a daemon over these servers; it ends with the spec. */
export async function startGateway(
  t: Test,
  servers: ServerEntries,
  { config = {}, env = {}, home = makeHome(t), timePasses = false, descriptors }: GatewayOptions = {},
): Promise<Gateway> {
  const configure = (entries: ServerEntries): void => {
    // JSON is YAML.
    home.write('config.yaml', JSON.stringify({ ...baseConfig(), ...config, mcp_servers: entries }, null, 2));
  };
  configure(servers);
  const daemon = await startDaemon(t, home.path, env, {
    timePasses,
    ...(descriptors === undefined ? {} : { descriptors }),
  });
  const control = await controlOf(t, home);
  const list = async (): Promise<readonly ServerRow[]> =>
    (await control.call('mcp.list')) as unknown as readonly ServerRow[];
  const server = async (name: string): Promise<ServerRow | undefined> =>
    (await list()).find((row) => row.name === name);
  const approvals = async (): Promise<readonly ApprovalRow[]> =>
    (await control.call('approvals.list')) as unknown as readonly ApprovalRow[];
  return {
    home,
    daemon,
    control,
    list,
    server,
    reaches: (name, ...states) =>
      eventually(async () => {
        const row = await server(name);
        return row !== undefined && states.includes(row.state) ? row : undefined;
      }),
    tools: async (of) =>
      (await control.call('mcp.tools', of === undefined ? {} : { server: of })) as unknown as readonly ToolRow[],
    call: async (name, args = {}) =>
      (await control.call('mcp.call', { name, arguments: args })) as unknown as CallAnswer,
    logs: async (name) => (await control.call('mcp.logs', { server: name, lines: 1_000 })) as readonly string[],
    approvals,
    asked: () => eventually(async () => (await approvals())[0]),
    answer: (id, grant, values) =>
      control.call('approvals.answer', { id, grant, ...(values === undefined ? {} : { values }) }),
    cli: (...words) => askCli(words, home.path),
    configure,
  };
}

/** A further connection to the control socket; it ends with the spec. */
export async function controlOf(t: Test, home: TestHome): Promise<ControlClient> {
  const control = await eventually(() => connectControl(homePaths(home.path).socket));
  t.teardown(() => control.close());
  return control;
}

/** The entry of an HTTP peer. */
export function entryOf(peer: HttpPeer, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { url: peer.url, ...(peer.kind === 'sse' ? { transport: 'sse' } : {}), ...more };
}

/** The entry of a stdio peer. */
export function commandOf(peer: StdioPeer, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { command: peer.command, args: peer.args, ...more };
}

/** A folder of its own for one spec. */
export function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'agent-mcp-'));
  t.teardown(() => removeFolder(path));
  return path;
}

export interface Child {
  readonly entry: Record<string, unknown>;
  pids(): readonly number[];
  /** How often a tool was executed; with a mark such as `write_note#7`, how often for the text that begins so. */
  executions(tool: string): number;
}

/** A stdio peer whose starts and executions are counted, across its processes. */
export function child(
  t: Test,
  behaviour: readonly (StdioBehaviour | `${StdioBehaviour}=${string}`)[] = [],
  more: Readonly<Record<string, unknown>> = {},
): Child {
  const place = folder(t);
  const pidFile = join(place, 'pids');
  const counter = join(place, 'counter');
  return {
    entry: commandOf(stdioPeer(behaviour, { pidFile, counter }), more),
    pids: () => numbersIn(pidFile),
    executions: (tool) => {
      try {
        return readFileSync(counter, 'utf8')
          .split('\n')
          .filter((line) => line === tool).length;
      } catch {
        return 0;
      }
    },
  };
}

/** Resolves once so many sessions have their stream at a peer over HTTP, which a client opens after it has connected. */
export async function streamsOpen(peer: HttpPeer, count = 1): Promise<void> {
  const { pathname } = new URL(peer.url);
  const opens = ({ httpMethod, path }: HttpPeer['requests'][number]): boolean =>
    httpMethod === 'GET' && path === pathname;
  await eventually(() => peer.requests.filter(opens).length >= count);
}

/** The schema cache of a server once the daemon has written it. */
export function cached({ home }: Gateway, server: string): Promise<string> {
  return eventually(() => {
    try {
      return readFileSync(join(home.path, 'cache', 'mcp', `${server}.json`), 'utf8');
    } catch {
      return undefined;
    }
  });
}

/** A healthy server answers, and a webhook is accepted. */
export async function isWell(t: Test, gateway: Gateway, healthy = 'healthy'): Promise<void> {
  t.equal(wordsOf(await gateway.call(`mcp__${healthy}__echo`, { text: 'well' })), 'well', 'another server answers');
  const id = `well-${Math.random()}`;
  const answer = await postSigned(`${gateway.daemon.url}/webhooks/ping`, { n: 1 }, { secret: webhookSecret, id });
  t.equal(answer.status, 202, 'a webhook is accepted');
}

/** Resolves with the first value that is there; the spec's own time limit ends a wait in vain. */
export async function eventually<Value>(
  look: () => Value | Promise<Value>,
): Promise<Exclude<NonNullable<Value>, false>> {
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== null && value !== false) {
      return value as Exclude<NonNullable<Value>, false>;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The text of the first block of an answer, or the error's code. */
export function wordsOf({ content, error }: CallAnswer): string {
  return error === undefined ? String(content?.[0]?.text ?? '') : `[${error.code}]`;
}

function baseConfig(): Record<string, unknown> {
  return {
    agent: { runner: 'echo' },
    platforms: {
      webhook: adapterOf({ ping: { prompt: 'ping {n}' } }),
    },
  };
}
