/**
 * The callable tools by registered name: built from the servers' listings, filtered and named by the rules. A new listing
 * replaces the old one in one step, so that a tool that still exists is never missing.
 * @see NAM-2, FLT-4 and LIF-7 in docs/specification.md
 */

import type { Listing } from '../../actors/mcp/session.ts';
import { utilityTools } from '../../actors/mcp/utility-tools.ts';
import type { Logger } from '../../actors/ports.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { type ListName, listNames, type Offered, type OfferList, utilityOf } from '../../machines/mcp/offers.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { mapWords, stripTags } from '../../machines/mcp/strip-tags.ts';
import { chooseTools, idlePatterns } from '../../machines/mcp/tool-filter.ts';
import {
  describeCollision,
  mergeNames,
  type NameCollision,
  namesOfServer,
  type RegisteredName,
  type Registration,
  type Utility,
} from '../../machines/mcp/tool-name.ts';

export interface RegisteredTool extends RegisteredName {
  /** As the server describes it, without secrets of the configuration; for a utility, as the gateway does. */
  readonly definition: JsonObject;
}

export interface Registry {
  /**
   * Sets the servers, in the order of the configuration; removes the listings of all others.
   * @param last the last listing of a server that has listed nothing yet
   */
  configure(servers: readonly ServerSettings[], last?: (server: ServerSettings) => Listing | undefined): void;
  /** Stores a server's listing; returns how many of its tools are registered. */
  learn(server: string, listing: Listing): number;
  forget(server: string): void;
  /** How many tools of a server are registered now; undefined if it has listed nothing yet. */
  count(server: string): number | undefined;
  /** Which tools of a server are left out, and why, and which patterns of its filter match none. */
  leftOut(server: string): readonly string[];
  /** A server's listing, with its resources and prompts; undefined if it has listed nothing yet. */
  listing(server: string): Listing | undefined;
  /** Stores the rows of a client's listing; returns whether they have changed. */
  keepOffered(server: string, list: OfferList, rows: readonly JsonObject[]): boolean;
  find(name: string): RegisteredTool | undefined;
  all(): readonly RegisteredTool[];
  /** Reports that lists of a server other than its tools changed. */
  announce(lists: readonly ListName[]): void;
  /** Calls back after each change, with the lists that have or may have changed, until the returned function is called. */
  onChange(listener: (lists: readonly ListName[]) => void): () => void;
}

/** The tools of one server, by themselves. */
interface OwnTools extends Registration<RegisteredTool> {
  /** Which of its tools are left out, and why; none if the filter excludes all of them anyway. */
  readonly unusable: readonly string[];
  /** The patterns of its filter that match no tool. */
  readonly idle: readonly string[];
  /** How many of its own tools the filter excludes. */
  readonly filtered: number;
}

interface Own extends OwnTools {
  readonly settings: ServerSettings;
  readonly listing: Listing;
}

/** @param redact masks the secrets of the configuration, which a server may quote in its descriptions */
export function createRegistry(log: Logger, redact = (text: string): string => text): Registry {
  let servers: readonly ServerSettings[] = [];
  const listings = new Map<string, Listing>();
  /**
   * Computed once per listing: hundreds of servers list one after the other, and each listing rebuilds the complete
   * table.
   */
  const named = new Map<string, Own>();
  const offered = new Map<string, Offered>();
  const listeners = new Set<(lists: readonly ListName[]) => void>();
  let tools: ReadonlyMap<string, RegisteredTool> = new Map();
  let collisions: readonly NameCollision[] = [];

  function ownOf(settings: ServerSettings): Own | undefined {
    const { name } = settings;
    const listing = listings.get(name);
    if (listing === undefined) return undefined;
    const standing = named.get(name);
    if (standing?.settings === settings && standing.listing === listing) return standing;
    const { tools: listed, ...rest } = toolsOf(settings, listing);
    const own = listed.map((tool) => ({ ...tool, definition: withoutSecrets(tool.definition) }));
    const made = { settings, listing, ...rest, tools: own };
    for (const words of made.idle) log.warnOnce(`mcp/filter/${name}/${words}`, `mcp server "${name}": ${words}`);
    named.set(name, made);
    return made;
  }

  /** Copied only where there is one. */
  function withoutSecrets(definition: JsonObject): JsonObject {
    const text = JSON.stringify(definition);
    return redact(text) === text ? definition : (mapWords(definition, redact) as JsonObject);
  }

  function announce(lists: readonly ListName[]): void {
    for (const listener of listeners) listener(lists);
  }

  function rebuild(lists: readonly ListName[]): void {
    const merged = mergeNames(servers.flatMap((settings) => ownOf(settings) ?? []));
    ({ collisions } = merged);
    for (const collision of collisions) {
      const text = describeCollision(collision);
      log.warnOnce(`mcp/collision/${text}`, text);
    }
    const before = tools;
    tools = merged.byName;
    const changed = lists.filter((list) => !isSame(before, tools, list));
    if (changed.length > 0) announce(changed);
  }

  function forgetListing(server: string): boolean {
    named.delete(server);
    offered.delete(server);
    return listings.delete(server);
  }

  function keep(server: string, listing: Listing): void {
    listings.set(server, listing);
    if (listing.offered !== undefined) offered.set(server, listing.offered);
  }

  function count(server: string): number | undefined {
    if (!listings.has(server)) return undefined;
    return (named.get(server)?.tools ?? []).filter((tool) => tools.get(tool.name) === tool).length;
  }

  return {
    count,
    configure(next, last = () => undefined) {
      servers = next;
      const names = new Set(next.map(({ name }) => name));
      for (const name of [...listings.keys()]) if (!names.has(name)) forgetListing(name);
      for (const server of next) {
        const listing = listings.has(server.name) ? undefined : last(server);
        if (listing !== undefined) keep(server.name, listing);
      }
      rebuild(listNames);
    },
    learn(server, listing) {
      keep(server, listing);
      rebuild(['tools']);
      return count(server) ?? 0;
    },
    forget(server) {
      if (forgetListing(server)) rebuild(listNames);
    },
    leftOut: (server) => [
      ...(named.get(server)?.unusable ?? []),
      ...collisionsOf(server, collisions),
      ...(named.get(server)?.idle ?? []),
    ],
    listing(server) {
      const listing = listings.get(server);
      const rows = offered.get(server);
      return listing === undefined || rows === undefined ? listing : { ...listing, offered: rows };
    },
    keepOffered(server, list, rows) {
      const before = offered.get(server);
      if (!listings.has(server) || JSON.stringify(before?.[list]) === JSON.stringify(rows)) return false;
      offered.set(server, { ...before, [list]: rows });
      return true;
    },
    announce,
    find: (name) => tools.get(name),
    all: () => [...tools.values()],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Whether a client's list is as before, as far as the tools show: its other rows are listed by utility tools. */
function isSame(
  before: ReadonlyMap<string, RegisteredTool>,
  after: ReadonlyMap<string, RegisteredTool>,
  list: ListName,
): boolean {
  if (list === 'tools' && before.size !== after.size) return false;
  const utility = list === 'tools' ? undefined : utilityOf[`${list}/list`];
  const of = (tools: typeof before) =>
    [...tools.values()].filter(({ kind, tool }) => utility === undefined || (kind === 'utility' && tool === utility));
  const then = of(before);
  const now = of(after);
  return then.length === now.length && now.every((tool, index) => isSameTool(tool, then[index]));
}

/** A listing that was read again has new objects. */
function isSameTool(tool: RegisteredTool, other: RegisteredTool | undefined): boolean {
  if (tool === other) return true;
  return tool.name === other?.name && JSON.stringify(tool) === JSON.stringify(other);
}

/** More are counted: two servers of one kind may share hundreds of names. */
const maxCollisions = 3;

function collisionsOf(server: string, collisions: readonly NameCollision[]): string[] {
  const place = `mcp server "${server}": `;
  const own = collisions.flatMap((collision) => {
    const dropped = collision.dropped.filter((each) => each.server === server);
    return dropped.length === 0 ? [] : [{ ...collision, dropped }];
  });
  const words = own.slice(0, maxCollisions).map((each) => describeCollision(each).slice(place.length));
  return own.length <= maxCollisions ? words : [...words, `${own.length - maxCollisions} more names are taken`];
}

export function toolsOf(settings: ServerSettings, listing: Listing): OwnTools {
  const { tools, leftOut = [], leftOutNames = [], capabilities } = listing;
  const natives = tools.map(({ name }) => String(name));
  const offered = { resources: capabilities.resources !== undefined, prompts: capabilities.prompts !== undefined };
  const chosen = chooseTools(settings.tools, natives, offered);
  const isWanted = leftOutNames.length === 0 || chooseTools(settings.tools, leftOutNames, offered).natives.length > 0;
  const { tools: names, collisions } = namesOfServer({ server: settings.name, ...chosen });
  const definitions = new Map(tools.map((tool) => [String(tool.name), tool]));
  const definitionOf = ({ kind, tool }: RegisteredName): JsonObject =>
    kind === 'utility' ? utilityTools[tool as Utility] : (definitions.get(tool) ?? {});
  return {
    tools: names.map((name) => ({ ...name, definition: definitionOf(name) })),
    collisions,
    unusable: isWanted ? leftOut : [],
    idle: idlePatterns(settings.tools, [...natives, ...leftOutNames]).map(stripTags),
    filtered: natives.length - chosen.natives.length,
  };
}
