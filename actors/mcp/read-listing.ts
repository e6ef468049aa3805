/**
 * Reads the lists of a server defensively. From each page, fields that are `null` and entries beyond the limits of a listing
 * are removed before the client reads it. Once the client has refused a list, invalid entries are removed too, and the
 * fields of the others that are `null`. Reports which entries are left out.
 * @see FLT-4, LIF-7 and LIF-14 in docs/specification.md
 */

import { SdkError, SdkErrorCode, specTypeSchemas } from '@modelcontextprotocol/client';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { deepestRead } from '../../machines/base/read-json.ts';
import { ownToolsWords } from '../../machines/mcp/connect-failure.ts';
import {
  type Admission,
  createAdmission,
  createLeftOut,
  type LeftOut,
  maxPageBytes,
  nameOf,
} from '../../machines/mcp/listing-limits.ts';
import { servedGateways } from '../../machines/mcp/served-gateways.ts';
import { untrustedWords } from '../../machines/mcp/untrusted-words.ts';
import { withoutNulls } from '../../machines/mcp/without-nulls.ts';
import type { Handler } from './adapt-transport.ts';
import { hasMoreThan, maxMembers } from './bound-messages.ts';
import { maxValues } from './bounded-body.ts';
import { ConnectError } from './connect-errors.ts';
import type { OpenTransport } from './transports.ts';

/** By method: the key of its list, the noun for an entry, the member that identifies one, and the entry's schema. */
const lists = {
  'tools/list': { key: 'tools', noun: 'tool', id: 'name', schema: specTypeSchemas.Tool },
  'resources/list': { key: 'resources', noun: 'resource', id: 'uri', schema: specTypeSchemas.Resource },
  'resources/templates/list': {
    key: 'resourceTemplates',
    noun: 'resource template',
    id: 'uriTemplate',
    schema: specTypeSchemas.ResourceTemplate,
  },
  'prompts/list': { key: 'prompts', noun: 'prompt', id: 'name', schema: specTypeSchemas.Prompt },
} as const;

/**
 * A listing has as many pages as its entries need, which are limited in number and size; empty ones have no end, and neither
 * have those of a server whose cursors lead in a circle.
 */
const maxEmptyPages = 64;

const wrongHeader = 'an x-mcp-header in its inputSchema is not one that the protocol allows';

/** Of one listing: the SDK explains each. */
const maxMistakes = 100_000;
const tooManyMistakes = `the entries before have more than ${maxMistakes} mistakes`;

type Method = keyof typeof lists;
type List = (typeof lists)[Method];

interface ListReader extends Handler {
  /**
   * Requests a list; if the client refuses it, requests it once more and validates it entry by entry. Returns the answer,
   * and a sentence per reason for what is left out. Rejects with a ConnectError if a page is too long, or if it
   * comes from this gateway. Lists of one method are read one after another, as each has its own
   * limits.
   */
  ask<Value>(method: Method, work: () => Promise<Value>): Promise<CheckedList<Value>>;
}

export interface CheckedList<Value> {
  readonly answer: Value;
  readonly leftOut: readonly string[];
  /** The names of all that is left out; undefined if they are unknown or too many. */
  readonly leftOutNames?: readonly string[] | undefined;
  /** The gateways that it comes from. */
  readonly gateways: readonly string[];
}

/** One listing, page by page. */
interface Listed {
  readonly list: List;
  readonly leftOut: LeftOut;
  readonly admission: Admission;
  /** The id of the request for the latest page. */
  request: string | number;
  /** Whether its answer is too long to be read. */
  isTooLong: boolean;
  /** How many pages in a row had no entry that is new and admitted. */
  emptyPages: number;
  /** What identifies the admitted entries. */
  readonly known: Set<string>;
  /** Why further pages are skipped; undefined if they are not. */
  cut: string | undefined;
  /** The names of the entries that the client was given. */
  readonly given: (string | undefined)[];
  /** How many mistakes its entries had. */
  mistakes: number;
  gateways: readonly string[];
}

/**
 * A request without a cursor begins a new listing of its method.
 * @param gateway the name of this gateway in listings
 */
export function createListReader(
  { messageBytes, isCut }: Pick<OpenTransport, 'messageBytes' | 'isCut'>,
  isLegacy: boolean,
  gateway?: string,
): ListReader {
  let repairs = false;
  const latest = new Map<Method, Listed>();
  /** By method, the end of the last requested listing; never rejects. */
  const turns = new Map<Method, Promise<void>>();
  /** By request, the listing of a page whose answer is awaited. */
  const asked = new Map<string | number, Listed>();

  async function read<Value>(method: Method, work: () => Promise<Value>): Promise<CheckedList<Value>> {
    latest.delete(method);
    const answer = await work().catch((thrown: unknown) => {
      const refused = latest.get(method);
      if (refused !== undefined && (refused.isTooLong || isCut(refused.request))) {
        const max = `${maxPageBytes / 1_048_576} MiB, ${maxValues} values or ${deepestRead} levels`;
        const message = `the answer to its ${method} has more than ${max} in one page`;
        throw new ConnectError({ kind: 'oversized', message });
      }
      if (repairs || !(thrown instanceof SdkError) || thrown.code !== SdkErrorCode.InvalidResult) throw thrown;
      repairs = true;
      return work();
    });
    const listed = latest.get(method);
    if (listed === undefined) return { answer, leftOut: [], gateways: [] };
    const { gateways } = listed;
    if (gateway !== undefined && gateways.includes(gateway)) {
      const isDirect = gateways[0] === gateway;
      throw new ConnectError({ kind: 'ownTools', isDirect }, ownToolsWords(isDirect));
    }
    addExcluded(answer, listed);
    const leftOutNames = listed.cut === undefined ? listed.leftOut.names() : undefined;
    return { answer, leftOut: sentencesOf(listed), leftOutNames, gateways };
  }

  return {
    receive(message, extra, next) {
      if (asked.size > 0 && !('method' in message) && message.id !== undefined) {
        // As the client does: it takes the answer with the id "7" for the one to its request 7.
        const request = Number(message.id);
        const listed = asked.get(request);
        asked.delete(request);
        if (listed !== undefined && 'result' in message) {
          listed.isTooLong = (messageBytes() ?? 0) > maxPageBytes;
          // The client refuses a result without its list, and a page that is too long is freed at once.
          if (listed.isTooLong) Object.assign(message, { result: {} });
          else if (isJsonObject(message.result)) readPage(message.result, listed, { repairs, isLegacy });
        }
      }
      next(message, extra);
    },
    send(message, options, next) {
      if ('method' in message && 'id' in message && message.method in lists) {
        const method = message.method as Method;
        const begun = message.params?.cursor === undefined ? undefined : latest.get(method);
        const listed = begun ?? begin(method, message.id);
        listed.request = message.id;
        latest.set(method, listed);
        asked.set(message.id, listed);
      }
      return next(message, options);
    },
    ask(method, work) {
      const reading = (turns.get(method) ?? Promise.resolve()).then(() => read(method, work));
      const over = (): void => {
        // A request that timed out is not answered any more.
        const listed = latest.get(method);
        if (listed !== undefined) asked.delete(listed.request);
      };
      turns.set(method, reading.then(over, over));
      return reading;
    },
  };
}

function begin(method: Method, request: string | number): Listed {
  const list = lists[method];
  const leftOut = createLeftOut(list.noun);
  const admission = createAdmission(list.noun, leftOut);
  return {
    list,
    leftOut,
    admission,
    request,
    isTooLong: false,
    emptyPages: 0,
    known: new Set(),
    cut: undefined,
    given: [],
    mistakes: 0,
    gateways: [],
  };
}

/** The client excludes a tool only if it cannot send its headers, and does not report that to its caller. */
function addExcluded(answer: unknown, { list, leftOut, given }: Listed): void {
  const kept = (answer as Readonly<Record<string, unknown>>)[list.key];
  if (list.key !== 'tools' || !Array.isArray(kept) || kept.length === given.length) return;
  const names = new Set(kept.map(nameOf));
  for (const name of given) if (!names.has(name)) leftOut.add(name, wrongHeader);
}

function sentencesOf({ list, leftOut, cut }: Listed): readonly string[] {
  const further = `its ${list.noun}s on further pages are left out: they are not asked for ${cut}`;
  return cut === undefined ? leftOut.sentences() : [...leftOut.sentences(), further];
}

interface Reading {
  readonly repairs: boolean;
  readonly isLegacy: boolean;
}

/** A page without a list is left to the client, which refuses it. */
function readPage(page: JsonObject, listed: Listed, { repairs, isLegacy }: Reading): void {
  const { list, admission } = listed;
  if (page._meta !== undefined) listed.gateways = servedGateways(page._meta);
  // Go writes an empty list as null.
  if (page[list.key] === null) Object.assign(page, { [list.key]: [] });
  for (const [key, value] of Object.entries(page)) if (value === null) delete (page as Record<string, Json>)[key];
  const entries = page[list.key];
  if (!Array.isArray(entries)) return;
  const idOf = (entry: Json): Json | undefined => (isJsonObject(entry) ? entry[list.id] : undefined);
  const isKnown = (entry: Json): boolean => listed.known.has(idOf(entry) as string);
  const admitted = entries.every(isKnown) ? [] : admission.admit(entries as readonly Json[]);
  const before = listed.known.size;
  for (const entry of admitted) {
    const id = idOf(entry);
    if (typeof id === 'string') listed.known.add(id);
  }
  const isChecked = repairs || hasMoreThan(maxMembers, admitted);
  const given = isChecked ? repaired(admitted, listed, isLegacy) : admitted;
  for (const entry of given) listed.given.push(nameOf(entry));
  Object.assign(page, { [list.key]: given });
  listed.emptyPages = listed.known.size === before ? listed.emptyPages + 1 : 0;
  if (page.nextCursor === undefined) return;
  if (admission.isOver()) listed.cut = 'once one is beyond what a server may list';
  else if (listed.emptyPages >= maxEmptyPages) listed.cut = `after ${maxEmptyPages} pages in a row without a new one`;
  else return;
  delete (page as Record<string, Json>).nextCursor;
}

function repaired(entries: readonly Json[], listed: Listed, isLegacy: boolean): readonly Json[] {
  const { list, leftOut } = listed;
  return entries.flatMap((entry) => {
    if (listed.mistakes > maxMistakes) {
      leftOut.add(nameOf(entry), tooManyMistakes);
      return [];
    }
    const given = isJsonObject(entry) ? withoutNulls(entry) : entry;
    const wrong = wrongWith(given, list, isLegacy);
    if (wrong === undefined) return [given];
    leftOut.add(nameOf(given), wrong.first);
    listed.mistakes += wrong.count;
    return [];
  });
}

interface Wrong {
  readonly first: string;
  readonly count: number;
}

function wrongWith(entry: Json, { schema }: List, isLegacy: boolean): Wrong | undefined {
  const wrong = mistakesOf(schema, entry);
  if (wrong !== undefined || !isLegacy || !isJsonObject(entry) || entry.outputSchema === undefined) return wrong;
  // In the era of handshakes the rules for the schema of arguments apply to that of results too.
  const found = mistakesOf(specTypeSchemas.Tool, { name: 'x', inputSchema: entry.outputSchema });
  return found && { ...found, first: found.first.replace('inputSchema', 'outputSchema') };
}

function mistakesOf(schema: List['schema'], value: Json): Wrong | undefined {
  const { issues = [] } = schema['~standard'].validate(value) as {
    readonly issues?: readonly { readonly path?: readonly unknown[]; readonly message: string }[];
  };
  const [issue] = issues;
  if (issue === undefined) return undefined;
  const place = (issue.path ?? []).map(String).join('.');
  const words = `${place === '' ? 'it' : place} is not as it has to be: ${issue.message.replace(/^Invalid input: /, '')}`;
  return { first: untrustedWords(words), count: issues.length };
}
