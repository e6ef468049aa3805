/**
 * A server over stdio that means harm, written by hand, since no SDK would do what it does. To be run as a process of its
 * own: `node dist/spec/support/mcp/hostile-peer.js <harm>`.
 */

import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../../machines/base/json.ts';
import { leakedToken } from './odd-tools.ts';
import type { StdioPeer } from './stdio-peer.ts';

export type Harm =
  /** Its result is held against a pattern that backtracks for ever. */
  | 'result-pattern'
  /** Its arguments are held against a schema that doubles with each of its parts. */
  | 'doubling-schema'
  /** The same with several tools, each with a schema of its own. */
  | 'doubling-schemas'
  /** Says without end that its tools changed; its tool reports how often it said so and how often it was asked. */
  | 'changes'
  /** Writes notifications without end, from its first connection on. */
  | 'flood'
  /** Writes progress of its call without end, and never answers. */
  | 'progress'
  /** Asks for so many forms at once; its tool reports how many were answered. */
  | 'forms'
  /** Asks on and on and reads nothing any more. */
  | 'deaf'
  /** Dies in a call, with a secret for its last words. */
  | 'dying-words'
  /** Lists tens of thousands of small tools in one page. */
  | 'many-tools'
  /** Lists tens of thousands of malformed tools in one page. */
  | 'malformed-tools'
  /** Lists 2 MiB of tools in each page, and names another page after each; its tool reports how many were read. */
  | 'endless-pages'
  /** The same with resources or prompts. */
  | 'endless-resources'
  | 'endless-prompts'
  /** Its page and its tool's result have 9 MiB each. */
  | 'long-page'
  /** Its page has 11 MiB, which is more than any message may have. */
  | 'longer-page';

export const maxForms = 500;
/** More than a server has time for. */
export const manySchemas = 14;
/** Of the harms that list many. */
export const maxTools = 60_000;

/** Longer than a page may be, and no longer than a message. */
const long = 'l'.repeat(9 * 1_048_576);

export function hostilePeer(harm: Harm): StdioPeer {
  return { command: process.execPath, args: [fileURLToPath(import.meta.url), harm] };
}

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string; readonly _meta?: { readonly progressToken?: number } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv[2] as Harm);

function main(harm: Harm): void {
  const told = { said: 0, asked: 0, answered: 0 };
  const lines = createInterface({ input: process.stdin }).on('close', () => process.exit(0));
  lines.on('line', (line) => {
    const { id, method, params } = JSON.parse(line) as Message;
    if (method === 'initialize') {
      send({ id: id ?? 0, result: { protocolVersion: params?.protocolVersion ?? '', ...identity } });
    } else if (method === 'tools/list') {
      told.asked += 1;
      send({ id: id ?? 0, result: pageOf(harm, told.asked) });
      if (harm === 'deaf') {
        lines.pause();
        askOn();
      }
    } else if (method === 'resources/list' || method === 'prompts/list') {
      told.asked += 1;
      send({ id: id ?? 0, result: otherPageOf(method, told.asked) });
    } else if (method === 'tools/call' && harm === 'dying-words') {
      process.stderr.write(`upstream refused Authorization: Bearer ${leakedToken}\n`, () => process.exit(3));
    } else if (method === 'tools/call' && harm === 'progress') {
      flood('notifications/progress', { progressToken: params?._meta?.progressToken ?? 0, progress: 1 });
    } else if (method === 'tools/call') {
      send({ id: id ?? 0, result: resultOf(harm, told) });
    } else if (method === 'notifications/initialized') {
      if (harm === 'changes') sayOn(told);
      if (harm === 'flood') flood('notifications/message', { level: 'info', data: '' });
      if (harm === 'forms') for (let form = 0; form < maxForms; form += 1) send({ id: `form-${form}`, ...formRequest });
    } else if (method === undefined) told.answered += 1;
  });
}

const identity = {
  capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
  serverInfo: { name: 'hostile', version: '1.0.0' },
};

const formRequest = {
  method: 'elicitation/create',
  params: { message: 'Once more?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
};

function toolOf(harm: Harm, title = ''): JsonObject {
  const harmless = { name: 'tool', inputSchema: { type: 'object' } };
  if (harm === 'result-pattern') {
    const properties = { text: { type: 'string', pattern: '^(a+)+$' } };
    return { ...harmless, outputSchema: { type: 'object', properties } };
  }
  if (harm !== 'doubling-schema' && harm !== 'doubling-schemas') return harmless;
  const parts = 60;
  const $defs: Record<string, JsonObject> = { [`d${parts}`]: {} };
  for (let part = 0; part < parts; part += 1) {
    const next = { $ref: `#/$defs/d${part + 1}` };
    $defs[`d${part}`] = { allOf: [next, next] };
  }
  return { ...harmless, inputSchema: { title, type: 'object', properties: { value: { $ref: '#/$defs/d0' } }, $defs } };
}

function pageOf(harm: Harm, number: number): JsonObject {
  if (harm === 'endless-pages') {
    const description = 'd'.repeat(200_000);
    const tools = Array.from({ length: 10 }, (_, at) => ({ ...toolOf(harm), name: `t${number}_${at}`, description }));
    return { tools: [toolOf(harm), ...tools], nextCursor: String(number) };
  }
  if (harm === 'doubling-schemas') {
    return { tools: Array.from({ length: manySchemas }, (_, at) => ({ ...toolOf(harm, `t${at}`), name: `t${at}` })) };
  }
  if (harm === 'long-page') return { tools: [toolOf(harm)], _meta: { rest: long } };
  if (harm === 'longer-page') return { tools: [toolOf(harm)], _meta: { rest: long, more: 'm'.repeat(2_097_152) } };
  if (harm !== 'many-tools' && harm !== 'malformed-tools') return { tools: [toolOf(harm)] };
  const rest = harm === 'many-tools' ? toolOf(harm) : {};
  return { tools: Array.from({ length: maxTools }, (_, at) => ({ ...rest, name: `t${at}` })) };
}

function otherPageOf(method: string, number: number): JsonObject {
  const description = 'd'.repeat(200_000);
  const entries = Array.from({ length: 10 }, (_, at) => {
    const uri = `mem://${number}_${at}`;
    return { name: uri, uri, description };
  });
  return { [method.replace('/list', '')]: entries, nextCursor: String(number) };
}

function resultOf(harm: Harm, told: JsonObject): JsonObject {
  const text = harm === 'result-pattern' ? `${'a'.repeat(60)}!` : JSON.stringify(told);
  return { content: [{ type: 'text', text }], ...(harm === 'result-pattern' ? { structuredContent: { text } } : {}) };
}

function send(message: JsonObject, sent: () => void = () => {}): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`, sent);
}

/** Each waits for the one before it, lest what is said lies in this process and not before the daemon. */
function sayOn(told: { said: number }): void {
  told.said += 1;
  send({ method: 'notifications/tools/list_changed' }, () => setImmediate(sayOn, told));
}

function flood(method: string, params: JsonObject): void {
  const message = JSON.stringify({ jsonrpc: '2.0', method, params });
  const block = `${message}\n`.repeat(500);
  const goOn = (): void => void process.stdout.write(block, () => setImmediate(goOn));
  goOn();
}

function askOn(): void {
  send({ id: 'x'.repeat(100_000), method: 'ping' }, () => setImmediate(askOn));
}
