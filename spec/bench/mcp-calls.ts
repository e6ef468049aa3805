/**
 * Calls the same tool of the same peer through the raw SDK client and through the gateway's half of servers, both in this
 * process, to be run as a process of its own. The rounds alternate, and so does who begins one. Reports its parent what
 * each round took.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type AnyActorRef, createActor, fromCallback } from 'xstate';
import { loadHome } from '../../actors/config/load-config.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { assembleServers } from '../../runtime/mcp/servers.ts';
import { createLog } from '../../runtime/observe/log.ts';
import { createMetrics } from '../../runtime/observe/metrics.ts';
import { createRedactor } from '../../runtime/observe/redact.ts';
import { createClock } from '../../runtime/system/clock.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { noTracing } from '../support/no-tracing.ts';

export interface CallOrder {
  /** Of the Streamable HTTP peer. */
  readonly url: string;
  readonly rounds: number;
  readonly calls: number;
  /** The comparisons whose name begins so; all of them by default. */
  readonly only?: string;
}

export interface RoundCost {
  /** Of one call, all that this process waits for it. */
  readonly micros: number;
  /** Of one call, in this process. */
  readonly cpuMicros: number;
}

export interface CallComparison {
  readonly name: string;
  readonly rounds: readonly { readonly raw: RoundCost; readonly gateway: RoundCost }[];
}

type Call = () => Promise<unknown>;

const warmUps = 3;
const args = { text: 'hello' };

async function rawCall(kind: 'stdio' | 'http', url: string): Promise<Call> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const { command, args: words } = stdioPeer();
  await client.connect(
    kind === 'stdio'
      ? new StdioClientTransport({ command, args: [...words] })
      : new StreamableHTTPClientTransport(new URL(url)),
  );
  await client.listTools();
  return async () => {
    const { content } = await client.callTool({ name: 'echo', arguments: args });
    if (content[0]?.type !== 'text' || content[0].text !== args.text) throw new Error('the peer did not echo');
  };
}

/** The gateway's servers as the daemon assembles them. */
async function gatewayCalls(url: string): Promise<(kind: 'stdio' | 'http') => Call> {
  const home = mkdtempSync(join(tmpdir(), 'agent-bench-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  const entries = { stdio: stdioPeer(), http: { url } };
  writeFileSync(
    join(home, 'config.yaml'),
    JSON.stringify({
      mcp_servers: Object.fromEntries(
        Object.entries(entries).map(([name, entry]) => [name, { ...entry, supports_parallel_tool_calls: true }]),
      ),
    }),
  );
  const redactor = createRedactor();
  const loaded = loadHome({ home, env: process.env });
  const root = (): AnyActorRef => actor;
  const servers = assembleServers({
    paths: homePaths(home),
    root,
    home: () => loaded,
    env: process.env,
    version: 'bench',
    compiling: { now: Date.now, trail: 24, watched: () => false },
    redactor,
    metrics: createMetrics(),
    tracing: noTracing,
    chats: fromCallback(() => {}),
    nowMs: Date.now,
    steadyMs: () => performance.now(),
    log: createLog({ env: process.env, redactor, sink: { fd: 2, isTerminal: false } }),
  });
  const actor = createActor(servers.logic, { clock: createClock() });
  // The servers are connected at the start, and reach the actor by its name.
  actor.start();
  for (const kind of ['stdio', 'http']) {
    while (servers.registry('default')?.find(`mcp__${kind}__echo`) === undefined)
      await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return (kind) => async () => {
    const request = { profile: 'default', name: `mcp__${kind}__echo`, args, caller: 'bench' };
    const answer = await servers.calls.start(request);
    if (answer.kind === 'fault' || answer.result.content[0]?.text !== args.text)
      throw new Error(`the gateway did not echo: ${JSON.stringify(answer)}`);
  };
}

async function round(call: Call, calls: number, queues: number): Promise<RoundCost> {
  const before = process.cpuUsage();
  const began = performance.now();
  let left = calls;
  await Promise.all(
    Array.from({ length: queues }, async () => {
      while (left > 0) {
        left -= 1;
        await call();
      }
    }),
  );
  const micros = ((performance.now() - began) * 1_000) / calls;
  const { user, system } = process.cpuUsage(before);
  return { micros, cpuMicros: (user + system) / calls };
}

async function compare({ url, rounds, calls, only = '' }: CallOrder): Promise<CallComparison[]> {
  const gateway = await gatewayCalls(url);
  const subjects: { name: string; raw: Call; gateway: Call; queues: number; rounds: CallComparison['rounds'][0][] }[] =
    [];
  for (const kind of ['stdio', 'http'] as const) {
    const raw = await rawCall(kind, url);
    for (const queues of [1, 16])
      subjects.push({
        name: `${kind}, ${queues === 1 ? 'one at a time' : `${queues} at once`}`,
        raw,
        gateway: gateway(kind),
        queues,
        rounds: [],
      });
  }
  const chosen = subjects.filter(({ name }) => name.startsWith(only));
  for (let at = -warmUps; at < rounds; at += 1) {
    for (const subject of chosen) {
      const { raw, gateway, queues } = subject;
      const first = await round(at % 2 === 0 ? raw : gateway, calls, queues);
      const second = await round(at % 2 === 0 ? gateway : raw, calls, queues);
      if (at < 0) continue;
      subject.rounds.push(at % 2 === 0 ? { raw: first, gateway: second } : { raw: second, gateway: first });
    }
  }
  return chosen.map(({ name, rounds: measured }) => ({ name, rounds: measured }));
}

process.once('message', (order: CallOrder) => {
  void compare(order).then(
    (compared) => process.send?.(compared, () => process.exit(0)),
    (thrown: unknown) => {
      process.stderr.write(`${String(thrown)}\n`);
      process.exit(1);
    },
  );
});
process.send?.('ready');
