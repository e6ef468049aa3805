/**
 * Says what a sound configuration may still lack, for a person who checks it: routes whose runs have no tool of the servers
 * beside them. A hint is no finding: it is neither logged nor counted.
 * @see CFG-2 and DIS-5 in docs/specification.md
 */

import type { Settings } from './settings.ts';

const mostNamed = 3;

/** One hint for all routes of a profile that run an agent without `toolsets`, though servers are enabled. */
export function hintsOf(
  profile: Pick<Settings, 'servers' | 'agent'>,
  routes: Settings['webhook']['routes'],
): readonly string[] {
  const server = profile.servers.find(({ enabled }) => enabled)?.name;
  if (server === undefined || profile.agent.runner === 'echo') return [];
  const lacking = routes
    .filter(
      ({ route }) => route.enabled && !route.deliverOnly && route.cronJob === undefined && route.toolsets === undefined,
    )
    .map(({ route }) => `"${route.name}"`);
  if (lacking.length === 0) return [];
  const left = lacking.length - mostNamed;
  const names = lacking.slice(0, mostNamed).join(', ') + (left > 0 ? ` and ${left} more` : '');
  const run = lacking.length === 1 ? `route ${names} runs` : `routes ${names} run`;
  return [`${run} without the tools of your servers; add toolsets: [agent-webhook, mcp-${server}] to lend them`];
}
