/**
 * The SDK's client and nothing of the project: what the suite runs to show that the rig works. Given the address of a
 * server as its last argument, it connects, and uses whatever the server offers once. It cannot log in.
 */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

interface Context {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
}

const url = new URL(process.argv.at(-1) ?? '');
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context;
const isModern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28';
const client = new Client(
  { name: 'plain-client', version: '1.0.0' },
  {
    capabilities: { roots: {}, sampling: {}, elicitation: { form: { applyDefaults: true }, url: {} } },
    versionNegotiation: { mode: isModern ? 'auto' : 'legacy' },
  },
);
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }));
client.setRequestHandler('roots/list', () => ({ roots: [] }));
client.setRequestHandler('sampling/createMessage', () => ({
  model: 'none',
  role: 'assistant',
  content: { type: 'text', text: 'hello' },
}));

await client.connect(new StreamableHTTPClientTransport(url));
const offered = client.getServerCapabilities() ?? {};
if (offered.tools !== undefined) await useTools();
if (offered.resources !== undefined) {
  const { resources } = await client.listResources();
  for (const { uri } of resources) await client.readResource({ uri });
}
if (offered.prompts !== undefined) {
  const { prompts } = await client.listPrompts();
  for (const { name } of prompts) await client.getPrompt({ name });
}
await client.close();

async function useTools(): Promise<void> {
  const { tools } = await client.listTools();
  const calls =
    context.toolCalls ??
    tools.map(({ name, inputSchema }) => ({ name, arguments: argumentsFor(inputSchema.properties ?? {}) }));
  for (const call of calls) await client.callTool({ name: call.name, arguments: call.arguments });
}

/** Something of the right type for each property. */
function argumentsFor(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const samples: Readonly<Record<string, unknown>> = {
    number: 2,
    integer: 2,
    boolean: true,
    string: 'text',
    array: [],
  };
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, samples[(schema as { type?: string }).type ?? ''] ?? {}]),
  );
}
