/**
 * The daemon's servers' half as the client that the suite tests: configuration, connection chart, sessions, registry,
 * calls and server requests are the ones that `agent gateway run` assembles; only the HTTP server and the control socket are left
 * out. Given the address of a server as its last argument, it connects and uses whatever the server offers once.
 * @see docs/decisions/0010-conformance.md
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActor, fromCallback, waitFor } from 'xstate';
import { loadHome } from '../../../actors/config/load-config.ts';
import type { Logger } from '../../../actors/ports.ts';
import { causeOf } from '../../../machines/base/fault.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import { printDiagnostic } from '../../../machines/config/diagnostic.ts';
import { homePaths } from '../../../machines/config/profile.ts';
import type { RegisteredTool } from '../../../runtime/mcp/registry.ts';
import { assembleServers, type Servers } from '../../../runtime/mcp/servers.ts';
import { createMetrics } from '../../../runtime/observe/metrics.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { createClock } from '../../../runtime/system/clock.ts';
import { noTracing } from '../../support/no-tracing.ts';

interface ToolCall {
  /** As the server spells it. */
  readonly name: string;
  readonly arguments: JsonObject;
}

interface Context {
  /** Left out: whatever there is. */
  readonly toolCalls?: readonly ToolCall[];
  /** A client that was registered beforehand. */
  readonly client_id?: string;
  readonly client_secret?: string;
}

const server = 'conformance';
const profile = 'default';
/** Under what the specs give a client, so that the client can say why. */
const connectLimitMs = 80_000;
/** A server that is never satisfied is given up. */
const maxLogins = 2;
/** What a value of each type may be. */
const samples: Readonly<Record<string, Json>> = {
  number: 2,
  integer: 2,
  boolean: true,
  string: 'text',
  array: [],
};

const env = process.env;
const url = process.argv.at(-1) ?? '';
const isAboutLogin = env.MCP_CONFORMANCE_SCENARIO?.startsWith('auth/') === true;
const context = JSON.parse(env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context;
/** `auto` would begin with `initialize`, which that revision's scenarios do not know. */
const protocol = env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28' ? 'stateless' : 'auto';
/** The document that the suite knows; it is never fetched. */
const document = { client_metadata_url: 'https://conformance-test.local/client-metadata.json' };
const { client_id, client_secret } = context;
const oauth = client_id === undefined ? document : { client_id, client_secret };
const entry = { url, protocol, timeout: 80, ...(isAboutLogin ? { auth: 'oauth', oauth } : {}) };

const log: Logger = {
  log: (level, message) => void process.stderr.write(`${level} ${message}\n`),
  warnOnce: (_, message) => void process.stderr.write(`warn ${message}\n`),
};

const folder = mkdtempSync(join(tmpdir(), 'agent-conformance-client-'));
try {
  await main();
} catch (thrown) {
  log.log('error', causeOf(thrown));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const paths = homePaths(folder);
  writeFileSync(paths.config, JSON.stringify({ mcp_servers: { [server]: entry } }));
  const home = loadHome({ home: folder, env });
  for (const found of home.diagnostics) throw new Error(printDiagnostic(found));
  const servers = assembleServers({
    paths,
    root: () => root,
    home: () => home,
    env,
    version: '1.0.0',
    compiling: {},
    redactor: createRedactor(),
    metrics: createMetrics(),
    tracing: noTracing,
    chats: fromCallback(() => {}),
    nowMs: Date.now,
    steadyMs: () => performance.now(),
    log,
  });
  const root = createActor(servers.logic, { clock: createClock() });
  const ended = new Promise<void>((resolve) => {
    root.subscribe({ complete: () => resolve() });
  });
  // A form is sent back as it came: its defaults are what the suite looks for.
  servers.approvals.onAsked(({ id }) => void servers.approvals.answer(String(id), true, 'suite', {}));
  root.start();
  try {
    await waitFor(root, () => servers.connections().get(server) !== undefined, { timeout: connectLimitMs });
    const connection = servers.connections().get(server);
    if (connection === undefined) throw new Error('the server is not configured');
    for (let logins = 0; ; logins += 1) {
      const settled = await waitFor(connection, ({ value }) => value !== 'connecting', { timeout: connectLimitMs });
      if (settled.value === 'connected') break;
      if (settled.value !== 'needsLogin' || logins === maxLogins) {
        throw new Error(`${settled.value}: ${settled.context.why}`);
      }
      await logIn(servers);
    }
    await useServer(servers);
  } finally {
    root.send({ type: 'servers.stop' });
    await ended;
  }
}

/** Logs in as a person would whose browser is already known to the authorization server: it redirects at once. */
async function logIn({ logins }: Servers): Promise<void> {
  const verdict = await logins.login({
    profile,
    server,
    startedFrom: 'terminal',
    signal: AbortSignal.timeout(connectLimitMs),
    report: (progress) => {
      if (progress.kind === 'url') void visit(progress.url);
    },
  });
  if (verdict.kind !== 'loggedIn') throw new Error(verdict.kind === 'stopped' ? verdict.why : verdict.message);
}

async function visit(address: string): Promise<void> {
  const redirect = await fetch(address, { redirect: 'manual' });
  const location = redirect.headers.get('location');
  if (location !== null) await fetch(location);
}

/** Calls what the suite asks for, or else every tool once; reads every resource and gets every prompt. */
async function useServer(servers: Servers): Promise<void> {
  const { calls, registry } = servers;
  const tools = registry(profile)?.all() ?? [];

  async function call(name: string, args: JsonObject): Promise<JsonObject> {
    let answer = await calls.start({ profile, name, args, caller: 'suite' });
    for (let more = 0; more < maxLogins && answer.kind === 'fault' && answer.fault.code === 'needs_login'; more += 1) {
      await logIn(servers);
      answer = await calls.start({ profile, name, args, caller: 'suite' });
    }
    if (answer.kind === 'result') return answer.result as unknown as JsonObject;
    const { code, message } = answer.fault;
    // The suite's servers list tools that they do not have.
    // A schema that would have to be fetched cannot be used, and its tool is not called (LIF-13).
    if (code !== 'rpc_error' && code !== 'invalid_schema') throw new Error(`${code}: ${message}`);
    log.log('info', message);
    return { content: [] };
  }

  const natives = tools.filter(({ kind }) => kind === 'native');
  const wanted = context.toolCalls ?? echoCalls(natives) ?? natives.map(sampleCall);
  for (const { name, tool } of natives) {
    for (const planned of wanted) if (planned.name === tool) await call(name, planned.arguments);
  }
  const utility = (wanted: string) => tools.find(({ kind, tool }) => kind === 'utility' && tool === wanted)?.name;
  const pairs = [
    { list: utility('list_resources'), get: utility('read_resource'), items: 'resources', key: 'uri' },
    { list: utility('list_prompts'), get: utility('get_prompt'), items: 'prompts', key: 'name' },
  ];
  for (const { list, get, items, key } of pairs) {
    if (list === undefined || get === undefined) continue;
    for (const item of itemsOf(await call(list, {}), items)) await call(get, { [key]: item[key] ?? null });
  }
}

/** One scenario wants to see what became of a schema on its way; undefined in every other. */
function echoCalls(natives: readonly RegisteredTool[]): readonly ToolCall[] | undefined {
  const echo = natives.find(({ tool }) => tool === 'json_schema_echo');
  const shown = natives.find((each) => each !== echo)?.definition.inputSchema;
  return echo === undefined ? undefined : [{ name: echo.tool, arguments: { schema: shown ?? null } }];
}

/** Something of the right type for each argument. */
function sampleCall({ tool, definition }: RegisteredTool): ToolCall {
  const { inputSchema } = definition;
  const properties = isJsonObject(inputSchema) ? inputSchema.properties : undefined;
  const fields = isJsonObject(properties) ? Object.entries(properties) : [];
  const sampleOf = (schema: Json): Json => samples[String(isJsonObject(schema) ? schema.type : '')] ?? {};
  return { name: tool, arguments: Object.fromEntries(fields.map(([name, schema]) => [name, sampleOf(schema)])) };
}

/** What a list utility answers is a text of JSON. */
function itemsOf({ content }: JsonObject, items: string): readonly JsonObject[] {
  const [block] = content as readonly JsonObject[];
  if (block === undefined) return [];
  const listed = JSON.parse(String(block.text)) as Readonly<Record<string, readonly JsonObject[]>>;
  return listed[items] ?? [];
}
