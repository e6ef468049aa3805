/**
 * Decides which toolsets a webhook run may use. A route's list replaces the default; names that are unknown, or that no
 * stranger's payload may reach, are dropped and said so. Knows no tool.
 * @see DIS-5 in docs/specification.md
 */

import { matchesGlob } from '../mcp/glob.ts';

export interface Toolsets {
  readonly names: readonly string[];
  readonly dropped: readonly { readonly name: string; readonly why: string }[];
}

/** What a webhook run has unless its route says otherwise. */
export const webhookToolset = ['web_search', 'web_extract', 'vision_analyze', 'clarify'] as const;

const sets: ReadonlyMap<string, readonly string[]> = new Map([['agent-webhook', webhookToolset]]);
const single: ReadonlySet<string> = new Set(webhookToolset);
/** A payload is a stranger's text: it must not reach these. */
const restricted: ReadonlySet<string> = new Set(['terminal']);

export function resolveToolsets(asked: readonly string[] | undefined): Toolsets {
  if (asked === undefined) return { names: webhookToolset, dropped: [] };
  const names = new Set<string>();
  const dropped: { name: string; why: string }[] = [];
  for (const name of asked) {
    const set = sets.get(name);
    if (set !== undefined) for (const tool of set) names.add(tool);
    else if (single.has(name) || name.startsWith('mcp__') || name.startsWith('mcp:')) names.add(name);
    else dropped.push({ name, why: restricted.has(name) ? 'not for webhook runs' : 'unknown toolset' });
  }
  return { names: [...names], dropped };
}

/** Where a tool of a server comes from, and the name that it is registered under. */
export interface ServerTool {
  readonly server: string;
  readonly name: string;
}

/**
 * Tells which tools of servers the names allow: `mcp:<server>` all of one server, `mcp__<server>__<tool>` one, either
 * with the stars of a shell. Without such a name there is none: a stranger's payload starts the run.
 */
export function toolFilter(names: readonly string[]): (tool: ServerTool) => boolean {
  const servers = names.filter((name) => name.startsWith('mcp:')).map((name) => matchesGlob(name.slice('mcp:'.length)));
  const tools = names.filter((name) => name.startsWith('mcp__')).map((name) => matchesGlob(name));
  return ({ server, name }) => servers.some((matches) => matches(server)) || tools.some((matches) => matches(name));
}
