/**
 * The tools that can be called, by their registered names: built from what each server listed, filtered and named by the
 * rules. A new listing replaces the old one in one step, so that a tool that still exists is never missing.
 * @see NAM-2, FLT-4 and LIF-7 in docs/specification.md
 */

import type { Listing } from '../../actors/mcp/session.ts';
import { utilityTools } from '../../actors/mcp/utility-tools.ts';
import type { Logger } from '../../actors/ports.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { chooseTools } from '../../machines/mcp/tool-filter.ts';
import {
  describeCollision,
  type RegisteredName,
  registerNames,
  type ServerTools,
  type Utility,
} from '../../machines/mcp/tool-name.ts';

export interface RegisteredTool extends RegisteredName {
  /** As the server describes it, or as we describe a utility. */
  readonly definition: JsonObject;
}

export interface Registry {
  /** Says which servers there are, in the order of the configuration; forgets the listings of those that are gone. */
  configure(servers: readonly ServerSettings[]): void;
  /** Takes over what a server listed; returns how many of its tools are registered. */
  learn(server: string, listing: Listing): number;
  forget(server: string): void;
  find(name: string): RegisteredTool | undefined;
  all(): readonly RegisteredTool[];
  /** Calls back after each change until the returned function is called. */
  onChange(listener: () => void): () => void;
}

export function createRegistry(log: Logger): Registry {
  let servers: readonly ServerSettings[] = [];
  const listings = new Map<string, Listing>();
  const listeners = new Set<() => void>();
  let tools = new Map<string, RegisteredTool>();

  function rebuild(): void {
    const chosen = servers.flatMap((settings): ServerTools[] => {
      const listing = listings.get(settings.name);
      return listing === undefined ? [] : [toolsOf(settings, listing)];
    });
    const { tools: names, collisions } = registerNames(chosen);
    for (const collision of collisions) {
      const text = describeCollision(collision);
      log.warnOnce(`mcp/collision/${text}`, text);
    }
    const definitions = new Map<string, ReadonlyMap<unknown, JsonObject>>();
    for (const [server, listing] of listings) {
      definitions.set(server, new Map(listing.tools.map((tool) => [tool.name, tool])));
    }
    const definitionOf = ({ server, kind, tool }: RegisteredName): JsonObject =>
      kind === 'utility' ? utilityTools[tool as Utility] : (definitions.get(server)?.get(tool) ?? {});
    tools = new Map(names.map((name) => [name.name, { ...name, definition: definitionOf(name) }]));
    for (const listener of listeners) listener();
  }

  return {
    configure(next) {
      servers = next;
      const names = new Set(next.map(({ name }) => name));
      for (const name of listings.keys()) if (!names.has(name)) listings.delete(name);
      rebuild();
    },
    learn(server, listing) {
      listings.set(server, listing);
      rebuild();
      let count = 0;
      for (const tool of tools.values()) if (tool.server === server) count += 1;
      return count;
    },
    forget(server) {
      if (listings.delete(server)) rebuild();
    },
    find: (name) => tools.get(name),
    all: () => [...tools.values()],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function toolsOf(settings: ServerSettings, { tools, capabilities }: Listing): ServerTools {
  const natives = tools.map(({ name }) => String(name));
  const chosen = chooseTools(settings.tools, natives, {
    resources: capabilities.resources !== undefined,
    prompts: capabilities.prompts !== undefined,
  });
  return { server: settings.name, ...chosen };
}
