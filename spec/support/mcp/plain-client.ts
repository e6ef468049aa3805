/** A plain SDK client for the checks of the peers themselves; nothing here knows the project's code. */

import {
  Client,
  type ClientOptions,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import type { Test } from 'tap';
import { type HttpPeer, type HttpPeerOptions, startHttpPeer } from './http-peer.ts';

export const echoHi = { name: 'echo', arguments: { text: 'hi' } };

/** Starts a peer that ends with the spec. */
export async function started(t: Test, options: HttpPeerOptions = {}): Promise<HttpPeer> {
  const peer = await startHttpPeer(options);
  t.teardown(() => peer.close());
  return peer;
}

export interface ConnectOptions extends ClientOptions {
  /** How the client speaks first; as the peer understands, unless told. */
  readonly era?: 'legacy' | 'modern';
  readonly timeoutMs?: number;
}

/** Connects to a peer over HTTP. */
export function connected(t: Test, peer: HttpPeer, options: ConnectOptions = {}): Promise<Client> {
  const url = new URL(peer.url);
  const transport = peer.kind === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
  return connectedBy(t, transport, { era: peer.kind === 'modern' ? 'modern' : 'legacy', ...options });
}

/** Connects by a transport; answers what a server may ask: a form with a name, an address never, a sample with hello. */
export async function connectedBy(
  t: Test,
  transport: Transport,
  { era = 'legacy', timeoutMs = 600_000, ...options }: ConnectOptions = {},
): Promise<Client> {
  const client = new Client(
    { name: 'spec', version: '1.0.0' },
    {
      capabilities: { sampling: {}, elicitation: { form: {}, url: {} } },
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
      ...options,
    },
  );
  client.setRequestHandler('elicitation/create', ({ params }) =>
    params.mode === 'url' ? { action: 'decline' } : { action: 'accept', content: { name: 'Ada' } },
  );
  client.setRequestHandler('sampling/createMessage', () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text: 'hello' },
  }));
  client.onerror = () => {};
  t.teardown(() => client.close());
  await client.connect(transport, { timeout: timeoutMs });
  return client;
}

/** What a promise rejects with. */
export async function caught(promise: Promise<unknown>): Promise<unknown> {
  try {
    return { resolvedWith: await promise };
  } catch (error) {
    return error;
  }
}

/** Calls a tool and returns the text of its answer. */
export async function textOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  const [first] = content;
  return first?.type === 'text' ? first.text : '';
}

/**
 * The source of a client for a program that a run starts, which has imported `spawn` and `readFileSync`: lists the tools of the
 * server that AGENT_MCP_CONFIG names, and calls one.
 */
export const toolClient = `const serve = (name, args, env) => new Promise((resolve) => {
  const { agent } = JSON.parse(readFileSync(process.env.AGENT_MCP_CONFIG, 'utf8')).mcpServers;
  const child = spawn(agent.command, agent.args, { env: { PATH: process.env.PATH, ...(env ?? agent.env) }, stdio: ['pipe', 'pipe', 'inherit'] });
  const say = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  const clientInfo = { name: 'program', version: '1' };
  say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  let text = '';
  let tools = [];
  child.stdout.on('data', (chunk) => {
    text += chunk;
    for (let end = text.indexOf('\\n'); end >= 0; end = text.indexOf('\\n')) {
      const { id, result } = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      if (id === 1) {
        say({ method: 'notifications/initialized' });
        say({ id: 2, method: 'tools/list', params: {} });
      }
      if (id === 2) {
        tools = result.tools.map((tool) => tool.name);
        say({ id: 3, method: 'tools/call', params: { name, arguments: args } });
      }
      if (id === 3) {
        child.stdin.end();
        resolve({ tools, content: result.content });
      }
    }
  });
});
`;
