/**
 * Decides which tools a run may use, from toolset names. A route's list replaces the default. Names that are unknown, or
 * that no third party's payload may reach, are dropped with a reason.
 * @see DIS-5 in docs/specification.md
 */

import { matchesGlob } from '../mcp/glob.ts';
import { toolPrefix } from '../mcp/tool-name.ts';

interface Toolsets {
  /** Built-in tools by name, servers as `mcp-<server>`, single server tools by their registered names. */
  readonly names: readonly string[];
  readonly dropped: readonly { readonly name: string; readonly why: string }[];
}

/** The tools of the toolset `agent-webhook`. */
export const webhookToolset = ['web_search', 'web_extract', 'vision_analyze', 'clarify'] as const;

/** Prefixes of a server's tool, and of a server's toolset. */
const ofTool = 'mcp__';
const ofServer = 'mcp-';
const globMark = /[*?[\\]/;
/** Every server of the profile. */
export const allServers = `${ofServer}*`;

/** The toolsets of the owner's own work, a chat or a cron job: the built-in tools and every server of the profile. */
export const ownersToolsets: readonly string[] = ['agent-webhook', 'mcp'];

const sets: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['agent-webhook', webhookToolset],
  ['web', ['web_search', 'web_extract']],
  ['vision', ['vision_analyze']],
  ['mcp', [allServers]],
  ...webhookToolset.map((name) => [name, [name]] as const),
]);
/** Not for payloads, which are a third party's text. */
const restricted: ReadonlySet<string> = new Set(['terminal']);

/**
 * Without a list, a run gets the webhook toolset and no server's tools, because anyone who can send an event writes the
 * prompt that the tools are offered to.
 * @param servers the servers of the profile, connected or not
 */
export function resolveToolsets(asked: readonly string[] | undefined, servers: readonly string[]): Toolsets {
  if (asked === undefined) return { names: webhookToolset, dropped: [] };
  const names = new Set<string>();
  const dropped: { name: string; why: string }[] = [];
  for (const name of asked) {
    const set = sets.get(name) ?? serversNamed(name, servers);
    for (const tool of set) names.add(tool);
    if (set.length === 0)
      dropped.push({ name, why: restricted.has(name) ? 'not for webhook runs' : 'unknown toolset' });
  }
  return { names: [...names], dropped };
}

/** The names that a route may list: the toolsets, and one for each server. */
export function toolsetNames(servers: readonly string[]): readonly string[] {
  return [...sets.keys(), ...servers.map((server) => `${ofServer}${server}`)];
}

/** The listed names that mean nothing. A pattern may be meant for servers that are added later. */
export function unknownToolsets(asked: readonly string[], servers: readonly string[]): readonly string[] {
  const { dropped } = resolveToolsets(asked, servers);
  return dropped.map(({ name }) => name).filter((name) => !restricted.has(name) && !globMark.test(name));
}

/** The listed names that no webhook run may use. */
export function restrictedToolsets(asked: readonly string[]): readonly string[] {
  return asked.filter((name) => restricted.has(name));
}

/** The servers of which a list names a tool, or may: before a server connects, only its tools' prefix is known. */
export function serversOf(asked: readonly string[], servers: readonly string[]): readonly string[] {
  const { names } = resolveToolsets(asked, servers);
  const allows = toolFilter(names);
  const tools = names.filter((name) => name.startsWith(ofTool));
  return servers.filter((server) => {
    const prefix = toolPrefix(server);
    const mayName = (name: string): boolean => {
      const begin = literalBegin(name);
      return begin.startsWith(prefix) || (begin !== name && prefix.startsWith(begin));
    };
    return allows({ server, name: prefix }) || tools.some(mayName);
  });
}

/**
 * Whether a name that a run's program requests is within what the run is lent. Uses only what the run may see, so the answer
 * is the same for a server that is not lent and for one that does not exist. A wider pattern may pass as within, because
 * both lists must allow a tool.
 * @param tools the tools that the run is lent
 */
export function isWithin(name: string, lent: readonly string[], tools: readonly ServerTool[]): boolean {
  if (!name.startsWith(ofServer) && !name.startsWith(ofTool)) return true;
  if (lent.some((one) => one === name || matchesGlob(one)(name)) || lent.includes(allServers)) return true;
  const wholly = toolFilter(lent.filter((one) => one.startsWith(ofServer)));
  const begin = literalBegin(name);
  // A server lent by name may not have listed its tools yet.
  const lentServers = lent.filter((one) => one.startsWith(ofServer) && !globMark.test(one));
  return (
    lentServers.some((one) => begin.startsWith(toolPrefix(one.slice(ofServer.length)))) ||
    tools.some((tool) => tool.name === name || (wholly(tool) && begin.startsWith(toolPrefix(tool.server))))
  );
}

/** A tool's own name is kept: its server need not be connected yet. A bare server name means its toolset. */
function serversNamed(name: string, servers: readonly string[]): readonly string[] {
  if (name.startsWith(ofTool)) return [name];
  if (servers.includes(name)) return [`${ofServer}${name}`];
  if (!name.startsWith(ofServer)) return [];
  return servers.some(matchesGlob(name.slice(ofServer.length))) ? [name] : [];
}

/** What precedes the first wildcard of a name; the complete name if it has none. */
function literalBegin(name: string): string {
  return name.split(globMark, 1)[0] ?? '';
}

/** A server's tool, with the name that it is registered under. */
export interface ServerTool {
  readonly server: string;
  readonly name: string;
}

/**
 * Returns a predicate for the server tools that the names allow: `mcp-<server>` for all of a server, `mcp__<server>__<tool>`
 * for one; both may contain shell wildcards.
 */
export function toolFilter(names: readonly string[]): (tool: ServerTool) => boolean {
  const servers = names
    .filter((name) => name.startsWith(ofServer))
    .map((name) => matchesGlob(name.slice(ofServer.length)));
  const tools = names.filter((name) => name.startsWith(ofTool)).map((name) => matchesGlob(name));
  return ({ server, name }) => servers.some((matches) => matches(server)) || tools.some((matches) => matches(name));
}
