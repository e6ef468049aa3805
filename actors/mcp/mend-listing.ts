/**
 * Reads the lists of a server with care, once one of them was refused whole: an entry that is none of the protocol is left
 * out and told, and what is `null` counts as not given. Nothing of it runs for a server whose lists are as they should be.
 * @see FLT-4 and LIF-7 in docs/specification.md
 */

import { SdkError, SdkErrorCode, specTypeSchemas, type Transport } from '@modelcontextprotocol/client';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { strangersWords } from '../../machines/mcp/strangers-words.ts';

/** By the method: where its list lies, what an entry is called, and what it has to be. */
const lists = {
  'tools/list': { key: 'tools', noun: 'tool', schema: specTypeSchemas.Tool },
  'resources/list': { key: 'resources', noun: 'resource', schema: specTypeSchemas.Resource },
  'prompts/list': { key: 'prompts', noun: 'prompt', schema: specTypeSchemas.Prompt },
} as const;

type List = (typeof lists)[keyof typeof lists];

export interface ListMender {
  /** Asks for a list; where it is refused whole, asks once more and reads it entry by entry. */
  ask<Value>(work: () => Promise<Value>): Promise<Value>;
}

/**
 * Made once the client is connected.
 * @param tell hears of each entry that is left out, as often as it is listed
 */
export function createListMender(transport: Transport, isLegacy: boolean, tell: (words: string) => void): ListMender {
  let mends = false;
  return {
    async ask(work) {
      try {
        return await work();
      } catch (thrown) {
        if (mends || !(thrown instanceof SdkError) || thrown.code !== SdkErrorCode.InvalidResult) throw thrown;
        mends = true;
        mendLists(transport, isLegacy, tell);
        return work();
      }
    },
  };
}

function mendLists(transport: Transport, isLegacy: boolean, tell: (words: string) => void): void {
  const asked = new Map<string | number, List>();
  const send = transport.send.bind(transport);
  const take = transport.onmessage;
  transport.send = (message, options) => {
    if ('method' in message && 'id' in message && message.method in lists) {
      asked.set(message.id, lists[message.method as keyof typeof lists]);
    }
    return send(message, options);
  };
  transport.onmessage = (message, extra) => {
    if (!('method' in message) && message.id !== undefined) {
      const list = asked.get(message.id);
      asked.delete(message.id);
      if (list !== undefined && 'result' in message) mendPage(message.result as JsonObject, { list, isLegacy, tell });
    }
    take?.(message, extra);
  };
}

interface Mending {
  readonly list: List;
  readonly isLegacy: boolean;
  readonly tell: (words: string) => void;
}

/** A page without a list is left as it is, for the client to refuse. */
function mendPage(page: JsonObject, { list, isLegacy, tell }: Mending): void {
  const entries = page[list.key];
  if (!Array.isArray(entries)) return;
  const kept = (entries as readonly Json[]).flatMap((entry) => {
    const given = isJsonObject(entry) ? withoutNulls(entry) : entry;
    const wrong = wrongWith(given, list, isLegacy);
    if (wrong === undefined) return [given];
    tell(`its ${list.noun} ${nameOf(given)} is left out, for ${wrong}`);
    return [];
  });
  Object.assign(page, { [list.key]: kept });
}

function withoutNulls(entry: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}

function wrongWith(entry: Json, { schema }: List, isLegacy: boolean): string | undefined {
  const wrong = firstIssue(schema, entry);
  if (wrong !== undefined || !isLegacy || !isJsonObject(entry) || entry.outputSchema === undefined) return wrong;
  // In the era of handshakes what holds for the schema of arguments holds for that of results too.
  return firstIssue(specTypeSchemas.Tool, { name: 'x', inputSchema: entry.outputSchema })?.replace(
    'inputSchema',
    'outputSchema',
  );
}

function firstIssue(schema: List['schema'], value: Json): string | undefined {
  const verdict = schema['~standard'].validate(value) as {
    readonly issues?: readonly { readonly path?: readonly unknown[]; readonly message: string }[];
  };
  const [issue] = verdict.issues ?? [];
  if (issue === undefined) return undefined;
  const place = (issue.path ?? []).map(String).join('.');
  return strangersWords(
    `${place === '' ? 'it' : place} is not as it has to be: ${issue.message.replace(/^Invalid input: /, '')}`,
  );
}

function nameOf(entry: Json): string {
  const name = isJsonObject(entry) ? (entry.name ?? entry.uri) : undefined;
  return typeof name === 'string' ? `"${strangersWords(name, 100)}"` : 'without a name';
}
