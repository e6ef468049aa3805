/**
 * The resources and prompts of a profile's servers as one offer: lists them, reads a resource at its server, and fills in
 * a prompt. Every request is a call under the name of its utility tool, so that filters, trust, limits and supervision
 * apply. A listing wakes no server.
 * @see CLI-5, FLT-2 and LIF-6 in docs/specification.md
 */

import { setMaxListeners } from 'node:events';
import { createStopSignal } from '../../actors/stop-signal.ts';
import type { ServerTool } from '../../machines/agent/toolset.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { noSuchPrompt, noSuchResource, resourceOfMany } from '../../machines/mcp/call-faults.ts';
import { isAsleep, isReachable } from '../../machines/mcp/connection-state.ts';
import { type OfferList, type OfferMethod, offerRows, utilityOf, viewOf } from '../../machines/mcp/offers.ts';
import { mergeNames, namesOfServer } from '../../machines/mcp/tool-name.ts';
import { maxSteps, templateMatcher } from '../../machines/mcp/uri-template.ts';
import type { CallAnswer, CallRequest, Calls } from './calls.ts';
import type { RegisteredTool, Registry } from './registry.ts';

/** The caller, and the tools that it may use. */
export interface OfferCaller extends Omit<CallRequest, 'name' | 'args' | 'method'> {
  readonly allows: (tool: ServerTool) => boolean;
}

export interface Offers {
  /** The rows of all servers in the order of the configuration, without those of unreachable servers. */
  resources(caller: OfferCaller): Promise<readonly JsonObject[]>;
  resourceTemplates(caller: OfferCaller): Promise<readonly JsonObject[]>;
  /** Each prompt under the name `mcp__<server>__<prompt>`. */
  prompts(caller: OfferCaller): Promise<readonly JsonObject[]>;
  /** Resolves with the protocol's answer as the `structuredContent` of the result, or with a fault. */
  readResource(uri: string, caller: OfferCaller): Promise<CallAnswer>;
  getPrompt(name: string, args: JsonObject, caller: OfferCaller): Promise<CallAnswer>;
  /** Remembers the resources to which a tool's result links, because its server need not list them. */
  keepLinks(profile: string, server: string, content: readonly JsonObject[]): void;
}

interface OffersPorts {
  readonly calls: Pick<Calls, 'start'>;
  readonly registry: (profile: string) => Registry | undefined;
  /** The state of a server's connection; empty if there is none. */
  readonly state: (profile: string, server: string) => string;
  readonly keep: (profile: string, server: string, list: OfferList, rows: readonly JsonObject[]) => void;
}

interface Listed {
  readonly server: string;
  readonly rows: readonly JsonObject[];
}

/** A server that lists more slowly is left out, or has its earlier rows: programs wait at most a minute for all servers. */
const listingLimitMs = 15_000;
/** Templates per server that are matched with an address. */
const maxTemplates = 200;
/** The newest links that are remembered, and the characters of one. */
const maxLinks = 1_000;
const maxLink = 2_048;

export function createOffers({ calls, registry, state, keep }: OffersPorts): Offers {
  /** By profile and address: the server of the tool that linked to it last. */
  const links = new Map<string, string>();
  const linkOf = (profile: string, uri: string): string => `${profile} ${uri}`;

  const ask = (tool: RegisteredTool, method: OfferMethod, args: JsonObject, caller: OfferCaller) =>
    calls.start({ ...caller, name: tool.name, args, method });

  /** The utility tools, one per server, by which the caller may make a request. */
  function toolsFor(method: OfferMethod, { profile, allows }: OfferCaller): readonly RegisteredTool[] {
    const all = registry(profile)?.all() ?? [];
    return all.filter((tool) => tool.kind === 'utility' && tool.tool === utilityOf[method] && allows(tool));
  }

  function remembered(profile: string, server: string, list: OfferList): readonly JsonObject[] | undefined {
    return registry(profile)?.listing(server)?.offered?.[list];
  }

  async function rowsOf(
    tool: RegisteredTool,
    list: OfferList,
    { wakes, ...caller }: OfferCaller & { readonly wakes: boolean },
  ): Promise<readonly JsonObject[]> {
    const { profile } = caller;
    const { server } = tool;
    const standing = state(profile, server);
    const before = remembered(profile, server, list);
    if (!isAsleep(standing) && !isReachable(standing)) return [];
    // Clients are notified when it has connected.
    if (standing !== 'connected' && (before !== undefined || !wakes)) return before ?? [];
    const limit = createStopSignal([caller.signal], listingLimitMs);
    const answer = await ask(tool, list, {}, { ...caller, signal: limit.signal });
    limit.release();
    const given = answer.kind === 'result' ? answer.result.structuredContent : undefined;
    const rows = isJsonObject(given) ? given[offerRows[list].key] : undefined;
    // It listed before and is not down, so its earlier rows are most likely still valid.
    if (!Array.isArray(rows)) return isAway(answer) ? [] : (before ?? []);
    keep(profile, server, list, rows);
    return rows;
  }

  function listAll(list: OfferList, caller: OfferCaller, wakes = false): Promise<readonly Listed[]> {
    // One listener per server, each removed with its answer.
    if (caller.signal !== undefined) setMaxListeners(0, caller.signal);
    const asked = toolsFor(list, caller).map(async (tool) => ({
      server: tool.server,
      rows: await rowsOf(tool, list, { ...caller, wakes }),
    }));
    return Promise.all(asked);
  }

  /** The stored rows of these servers, without a request; reachable servers come first, each group in order. */
  function known(list: OfferList, tools: readonly RegisteredTool[], profile: string): readonly Listed[] {
    const isUp = ({ server }: RegisteredTool): boolean => {
      const standing = state(profile, server);
      return isAsleep(standing) || isReachable(standing);
    };
    const inOrder = [...tools.filter(isUp), ...tools.filter((tool) => !isUp(tool))];
    return inOrder.map(({ server }) => ({ server, rows: remembered(profile, server, list) ?? [] }));
  }

  /** Requests the lists of these servers, so that an address or a name can be looked up in them. */
  async function learn(lists: readonly OfferList[], tools: readonly RegisteredTool[], caller: OfferCaller) {
    const servers = new Set(tools.map(({ server }) => server));
    const allows = ({ server }: ServerTool): boolean => servers.has(server);
    await Promise.all(lists.map((list) => listAll(list, { ...caller, allows }, true)));
  }

  return {
    async resources(caller) {
      return firstOfEach(await listAll('resources/list', caller));
    },

    async resourceTemplates(caller) {
      return (await listAll('resources/templates/list', caller)).flatMap(({ rows }) => rows);
    },

    async prompts(caller) {
      const listed = await listAll('prompts/list', caller);
      const rows = new Map(listed.map(({ server, rows: own }) => [server, byName(own)]));
      return [...namesOf(listed)].map(([name, { server, tool }]) => ({ ...rows.get(server)?.get(tool), name }));
    },

    async readResource(uri, caller) {
      const { profile } = caller;
      const tools = toolsFor('resources/read', caller);
      const named = (): RegisteredTool | undefined => {
        const { server } = known('resources/list', tools, profile).find(({ rows }) =>
          rows.some((row) => row.uri === uri),
        ) ??
          registry(profile)
            ?.all()
            .find((tool) => viewOf(tool.definition) === uri && caller.allows(tool)) ?? {
            server: links.get(linkOf(profile, uri)),
          };
        return tools.find((tool) => tool.server === server);
      };
      let tool = named();
      if (tool === undefined) {
        await learn(['resources/list', 'resources/templates/list'], tools, caller);
        tool = named();
      }
      if (tool === undefined) {
        // Each server has its share of the steps, so that its templates cannot use up those of the others.
        const steps = maxSteps / tools.length;
        const takers = known('resources/templates/list', tools, profile).filter(({ rows }) => takes(rows, uri, steps));
        const [only, ...others] = tools.filter(({ server }) => takers.some((taker) => taker.server === server));
        if (only === undefined) return { kind: 'fault', fault: noSuchResource(uri) };
        if (others.length > 0) return { kind: 'fault', fault: resourceOfMany(uri, [only, ...others]) };
        tool = only;
      }
      return ask(tool, 'resources/read', { uri }, caller);
    },

    async getPrompt(name, args, caller) {
      const tools = toolsFor('prompts/get', caller);
      const find = () => namesOf(known('prompts/list', tools, caller.profile)).get(name);
      let found = find();
      if (found === undefined) {
        await learn(['prompts/list'], tools, caller);
        found = find();
      }
      const tool = tools.find(({ server }) => server === found?.server);
      if (found === undefined || tool === undefined) return { kind: 'fault', fault: noSuchPrompt(name) };
      return ask(tool, 'prompts/get', { name: found.tool, arguments: args }, caller);
    },

    keepLinks(profile, server, content) {
      for (const { type, uri } of content) {
        if (type !== 'resource_link' || typeof uri !== 'string' || uri.length > maxLink) continue;
        const link = linkOf(profile, uri);
        links.delete(link);
        links.set(link, server);
        for (const oldest of links.keys()) {
          if (links.size <= maxLinks) break;
          links.delete(oldest);
        }
      }
    },
  };
}

/** If several servers list one address, the first configured one keeps it. */
function firstOfEach(listed: readonly Listed[]): readonly JsonObject[] {
  const kept = new Map<string, JsonObject>();
  for (const { rows } of listed) {
    for (const row of rows) if (!kept.has(String(row.uri))) kept.set(String(row.uri), row);
  }
  return [...kept.values()];
}

/** Prompts are named like tools; if names collide, the first configured server keeps the name. */
function namesOf(listed: readonly Listed[]) {
  const own = listed.map(({ server, rows }) => {
    const natives = rows.map(({ name }) => String(name));
    return namesOfServer({ server, natives, utilities: [] });
  });
  return mergeNames(own).byName;
}

function byName(rows: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(rows.map((row) => [String(row.name), row]));
}

function takes(templates: readonly JsonObject[], uri: string, steps: number): boolean {
  const matches = templateMatcher(uri, steps);
  return templates.slice(0, maxTemplates).some(({ uriTemplate }) => matches(String(uriTemplate)));
}

function isAway(answer: CallAnswer): boolean {
  return answer.kind === 'fault' && (answer.fault.code === 'server_unavailable' || answer.fault.code === 'needs_login');
}
