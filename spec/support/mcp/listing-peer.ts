/**
 * An MCP server over stdio that answers each method with the results it was given, page by page and the last for ever,
 * whatever the protocol says of them: `node dist/spec/support/mcp/listing-peer.js <results as JSON>`.
 */

import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Json, JsonObject } from '../../../machines/base/json.ts';

/** By the method, what it is answered with. */
export type Listed = Readonly<Record<string, readonly Json[]>>;

/** The entry of a server that lists so. */
export function listingPeer(listed: Listed): JsonObject {
  return { command: process.execPath, args: [fileURLToPath(import.meta.url), JSON.stringify(listed)] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(JSON.parse(process.argv[2] ?? '{}') as Listed);

function main(listed: Listed): void {
  const left = new Map(Object.entries(listed).map(([method, results]) => [method, [...results]]));
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line) as { id?: number; method: string; params?: JsonObject };
    if (id === undefined) return;
    const given = params?.cursor === undefined ? [...(listed[method] ?? [])] : left.get(method);
    if (given !== undefined) left.set(method, given);
    const [first = usual(method, params)] = given ?? [];
    if ((given?.length ?? 0) > 1) given?.shift();
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: first })}\n`);
  });
}

function usual(method: string, params: JsonObject | undefined): JsonObject {
  if (method !== 'initialize') return {};
  return {
    protocolVersion: params?.protocolVersion ?? '',
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: 'listing', version: '1' },
  };
}
