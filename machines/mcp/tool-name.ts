/**
 * Decides the registered name of each server's tools, and which tool keeps a name that two claim. Names are never parsed: a
 * tool's origin is read from its entry here.
 * @see NAM-1 and NAM-2 in docs/specification.md
 */

import { getOrMake } from '../base/get-or-make.ts';
import { untrustedWords } from './untrusted-words.ts';
import { keptOfName, wireName } from './wire-name.ts';

export type Utility = 'list_resources' | 'read_resource' | 'list_prompts' | 'get_prompt';

export interface ServerTools {
  readonly server: string;
  /** The server's own tool names, after the filter. */
  readonly natives: readonly string[];
  readonly utilities: readonly Utility[];
}

interface ToolOrigin {
  readonly server: string;
  /** The original name, as the server lists it. */
  readonly tool: string;
}

export interface RegisteredName extends ToolOrigin {
  readonly name: string;
  readonly kind: 'native' | 'utility';
}

export interface NameCollision {
  readonly name: string;
  /** Undefined if no tool keeps the name. */
  readonly kept?: ToolOrigin;
  readonly dropped: readonly ToolOrigin[];
  readonly reason: 'alike' | 'nativeFirst' | 'configuredFirst';
}

export interface Registration<Tool extends RegisteredName = RegisteredName> {
  readonly tools: readonly Tool[];
  readonly collisions: readonly NameCollision[];
}

/** In configuration order. */
interface Merged<Tool extends RegisteredName> {
  readonly byName: ReadonlyMap<string, Tool>;
  readonly collisions: readonly NameCollision[];
}

/** A collision across servers, to which later servers may still be added. */
interface Contest extends NameCollision {
  readonly dropped: ToolOrigin[];
}

/**
 * Merges the tools of all servers in configuration order. A tool that is left out claims no name: a later server, or a
 * utility of the same one, may still use it. Cheap, because it runs again with every listing.
 */
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

/** At most 64 characters, as model endpoints require: a longer name is cut and ends with a hash of the full name. */
export function toolName(server: string, tool: string): string {
  return wireName(`mcp__${sanitise(server)}__${sanitise(tool)}`);
}

/** The prefix of a server's tool names, as far as a cut name keeps it. */
export function toolPrefix(server: string): string {
  return `mcp__${sanitise(server)}__`.slice(0, keptOfName);
}

/** The tool's name for people: `github.create_review` for the registered name `mcp__github__create_review`. */
export function toolWords(name: string, server = ''): string {
  const prefix = toolPrefix(server);
  return server !== '' && name.startsWith(prefix) ? `${server}.${name.slice(prefix.length)}` : name;
}

/** More are counted: a server chooses how many of its tools collide, and how long their names are. */
const maxNamed = 3;
const maxNamedLength = 100;

/** One log line: which tools are left out, why, and what to change. */
export function describeCollision({ name, kept, dropped, reason }: NameCollision): string {
  const named = dropped.slice(0, maxNamed).map(({ server, tool }) => `${shown(tool)} of "${server}"`);
  const more = dropped.length > maxNamed ? [`${dropped.length - maxNamed} more`] : [];
  const lost = [...named, ...more].join(', ');
  const place = `mcp server "${dropped[0]?.server ?? ''}"`;
  switch (reason) {
    case 'alike':
      return `${place}: ${lost} all become ${name} and are left out; exclude all but one of them in tools`;
    case 'nativeFirst':
      return `${place}: ${lost} is left out, for the server's own ${shown(kept?.tool)} is ${name}; exclude that one to have it`;
    case 'configuredFirst':
      return `${place}: ${lost} left out, for ${shown(kept?.tool)} of "${kept?.server}" is ${name} already; rename a server`;
  }
}

function shown(tool = ''): string {
  return `"${untrustedWords(tool, maxNamedLength)}"`;
}

/** One server's claims. Its own tools take precedence over utilities; two with one registered name are both left out. */
export function namesOfServer({ server, natives, utilities }: ServerTools): Registration {
  const alike = new Map<string, string[]>();
  // A repeated name is one tool: a listing whose pages shift while they are read repeats entries.
  for (const tool of new Set(natives)) getOrMake(alike, toolName(server, tool), () => []).push(tool);
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

/** Characters are Unicode code points, letters are ASCII: models accept no other tool names. */
export function sanitise(text: string): string {
  return text.replace(/[^A-Za-z0-9_]/gu, '_');
}
