/**
 * Decides the name that each tool of each server is registered under, and who keeps a name that two of them claim. A
 * name is never parsed back: where a tool comes from is read from its entry here. Knows no filter and no session.
 * @see NAM-1 and NAM-2 in docs/specification.md
 */

import { keptOfName, wireName } from './wire-name.ts';

export type Utility = 'list_resources' | 'read_resource' | 'list_prompts' | 'get_prompt';

export interface ServerTools {
  readonly server: string;
  /** The server's own names of its tools, after the filter. */
  readonly natives: readonly string[];
  readonly utilities: readonly Utility[];
}

export interface ToolOrigin {
  readonly server: string;
  /** The original name, as the server writes it. */
  readonly tool: string;
}

export interface RegisteredName extends ToolOrigin {
  readonly name: string;
  readonly kind: 'native' | 'utility';
}

export interface NameCollision {
  readonly name: string;
  /** Undefined where nobody keeps the name. */
  readonly kept?: ToolOrigin;
  readonly dropped: readonly ToolOrigin[];
  readonly reason: 'alike' | 'nativeFirst' | 'configuredFirst';
}

export interface Registration<Tool extends RegisteredName = RegisteredName> {
  readonly tools: readonly Tool[];
  readonly collisions: readonly NameCollision[];
}

/** In the order of the configuration. */
export interface Merged<Tool extends RegisteredName> {
  readonly byName: ReadonlyMap<string, Tool>;
  readonly collisions: readonly NameCollision[];
}

/** A collision across servers, while later servers may still join it. */
interface Contest extends NameCollision {
  readonly dropped: ToolOrigin[];
}

/**
 * Registers the tools of all servers, in the order of the configuration. What is left out claims no name: a later
 * server, or a utility of the same one, may still have it.
 */
export function registerNames(servers: readonly ServerTools[]): Registration {
  const { byName, collisions } = mergeNames(servers.map(namesOfServer));
  return { tools: [...byName.values()], collisions };
}

/** The same for servers whose own names stand already; as cheap as can be, for it is done again with every listing. */
export function mergeNames<Tool extends RegisteredName>(servers: readonly Registration<Tool>[]): Merged<Tool> {
  const kept = new Map<string, Tool>();
  const contests = new Map<string, Contest>();
  const collisions: NameCollision[] = [];
  for (const own of servers) {
    for (const collision of own.collisions) collisions.push(collision);
    for (const claim of own.tools) {
      const holder = kept.get(claim.name);
      if (holder === undefined) {
        kept.set(claim.name, claim);
        continue;
      }
      const contest = contests.get(claim.name);
      if (contest !== undefined) {
        contest.dropped.push(originOf(claim));
        continue;
      }
      const opened: Contest = {
        name: claim.name,
        kept: originOf(holder),
        dropped: [originOf(claim)],
        reason: 'configuredFirst',
      };
      contests.set(claim.name, opened);
      collisions.push(opened);
    }
  }
  return { byName: kept, collisions };
}

/** At most 64 characters, as model endpoints take them: a longer name is cut and ends with a hash of all of it. */
export function toolName(server: string, tool: string): string {
  return wireName(`mcp__${sanitise(server)}__${sanitise(tool)}`);
}

/** What the names of a server's tools begin with; as much of it as a cut name keeps. */
export function toolPrefix(server: string): string {
  return `mcp__${sanitise(server)}__`.slice(0, keptOfName);
}

/** The tool as people are shown it: `github.create_review` for the registered name `mcp__github__create_review`. */
export function toolWords(name: string, server = ''): string {
  const prefix = toolPrefix(server);
  return server !== '' && name.startsWith(prefix) ? `${server}.${name.slice(prefix.length)}` : name;
}

/** One line for the log: whose tools are left out, why, and what to change. */
export function describeCollision({ name, kept, dropped, reason }: NameCollision): string {
  const lost = dropped.map(({ server, tool }) => `"${tool}" of "${server}"`).join(', ');
  const place = `mcp server "${dropped[0]?.server ?? ''}"`;
  switch (reason) {
    case 'alike':
      return `${place}: ${lost} all become ${name} and are left out; exclude all but one of them in tools`;
    case 'nativeFirst':
      return `${place}: ${lost} is left out, for the server's own "${kept?.tool}" is ${name}; exclude that one to have it`;
    case 'configuredFirst':
      return `${place}: ${lost} left out, for "${kept?.tool}" of "${kept?.server}" is ${name} already; rename a server`;
  }
}

/** One server's claims. Its own tools come before its utilities, and two that look alike both lose. */
export function namesOfServer({ server, natives, utilities }: ServerTools): Registration {
  const alike = new Map<string, string[]>();
  // The same name twice is one tool: a listing whose pages shift while they are read repeats entries.
  for (const tool of new Set(natives)) {
    const name = toolName(server, tool);
    const group = alike.get(name);
    if (group === undefined) alike.set(name, [tool]);
    else group.push(tool);
  }
  const claims = new Map<string, RegisteredName>();
  const collisions: NameCollision[] = [];
  for (const [name, [tool = '', ...others]] of alike) {
    if (others.length === 0) claims.set(name, { name, server, kind: 'native', tool });
    else collisions.push({ name, dropped: [tool, ...others].map((each) => ({ server, tool: each })), reason: 'alike' });
  }
  for (const tool of new Set(utilities)) {
    const name = toolName(server, tool);
    const native = claims.get(name);
    if (native === undefined) claims.set(name, { name, server, kind: 'utility', tool });
    else collisions.push({ name, kept: originOf(native), dropped: [{ server, tool }], reason: 'nativeFirst' });
  }
  return { tools: [...claims.values()], collisions };
}

function originOf({ server, tool }: ToolOrigin): ToolOrigin {
  return { server, tool };
}

/** A character is a Unicode code point, and a letter is an ASCII one: models take tool names of no other form. */
function sanitise(text: string): string {
  return text.replace(/[^A-Za-z0-9_]/gu, '_');
}
