/**
 * Decides which toolsets a webhook run may use. A route's list replaces the default; names that are unknown, or that no
 * stranger's payload may reach, are dropped and said so. Knows no tool.
 * @see DIS-5 in docs/specification.md
 */

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
