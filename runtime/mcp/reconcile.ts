/**
 * Carries the configuration over to the connections: spawns what was added, retires what was removed, retires and spawns
 * again what changed, and touches nothing else.
 * @see LIF-2, LIF-6, LIF-12 and CFG-3 in docs/specification.md
 */

import type { SchemaCache } from '../../actors/mcp/schema-cache.store.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { WardHandle } from '../../machines/base/ward.ts';
import type { ServerEntry } from '../../machines/config/server-entry.ts';
import type { ApprovalRule } from '../../machines/mcp/approval-rules.ts';
import type { ConnectionInput } from '../../machines/mcp/server-connection.machine.ts';
import { readServerSettings, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import type { Respawns } from '../system/respawns.ts';
import type { Registry } from './registry.ts';
import { connectionKey } from './sessions.ts';

export interface ReconcilePorts {
  /** The entries of every profile, in the order of the configuration. */
  readonly entries: () => readonly { readonly profile: string; readonly servers: readonly ServerEntry[] }[];
  readonly ward: () => WardHandle<ConnectionInput>;
  readonly registry: (profile: string) => Registry;
  readonly cache: (profile: string) => SchemaCache;
  /** The entry of a connection is another, or none: what waits for it waits in vain. */
  readonly retired: (key: string, how: 'changed' | 'removed') => void;
  /** Closes what a connection has left that is gone. */
  readonly closeSessions: () => Promise<void>;
  /** When a connection whose chart crashed is spawned again. */
  readonly respawns: Respawns;
  readonly nowMs: () => number;
}

export interface Reconcile {
  run(): void;
  /** The settings in force. */
  settings(profile: string, server: string): ServerSettings | undefined;
  /** The rules of its entry by which calls run without a question. A change of them leaves the connection as it is. */
  rules(profile: string, server: string): readonly ApprovalRule[];
  /** The keys of the connections, in the order of the configuration. */
  keys(): readonly string[];
  /** The profiles that have servers. */
  profiles(): readonly string[];
  /** A connection has ended. */
  ended(key: string): void;
  /** The chart of a connection crashed. */
  crashed(key: string, error: unknown): void;
  /** Stops every connection; resolves when none is left, and no session. */
  retireAll(): Promise<void>;
}

interface Kept {
  readonly profile: string;
  readonly settings: ServerSettings;
  readonly problem: string | undefined;
  readonly rules: readonly ApprovalRule[];
  /** Tells whether anything of the entry changed. Holds secrets: compared, never shown. */
  readonly print: string;
}

export function createReconcile(ports: ReconcilePorts): Reconcile {
  const { respawns } = ports;
  let kept = new Map<string, Kept>();
  let stopping = false;
  let emptied: (() => void) | undefined;

  function spawn(key: string): void {
    const entry = kept.get(key);
    if (entry === undefined || stopping || respawns.rests(key) || ports.ward().get(key) !== undefined) return;
    ports.ward().spawn(key, inputOf(entry));
  }

  function inputOf({ profile, settings, problem }: Kept): ConnectionInput {
    const { name: server, transport } = settings;
    const common = {
      server,
      profile,
      transport: transport.kind,
      keepaliveMs: settings.keepaliveMs ?? 0,
      idleTimeoutMs: settings.idleTimeoutMs,
      maxLifetimeMs: settings.maxLifetimeMs,
      breakerLimits: settings.breaker,
      tools: 0,
      why: null,
    } as const;
    if (problem !== undefined) return { ...common, begin: 'failed', why: problem };
    if (!settings.enabled) return { ...common, begin: 'disabled' };
    if (!settings.lazy) return { ...common, begin: 'connecting' };
    const cached = ports.cache(profile).read(settings, ports.nowMs());
    if (cached.kind !== 'fresh') return { ...common, begin: 'connecting' };
    return { ...common, begin: 'lazy', tools: ports.registry(profile).learn(server, cached.discovery) };
  }

  return {
    run() {
      const next = new Map<string, Kept>();
      const gone = new Set([...kept.values()].map(({ profile }) => profile));
      for (const { profile, servers } of ports.entries()) {
        gone.delete(profile);
        const usable: ServerSettings[] = [];
        for (const entry of servers) {
          const key = connectionKey(profile, entry.name);
          const { problem } = entry;
          const read = readServerSettings(entry);
          const print = JSON.stringify([read, problem]);
          const before = kept.get(key);
          // What is known of a server is known of its settings, which stay the same while they say the same.
          const settings = before?.print === print ? before.settings : read;
          next.set(key, { profile, settings, problem, print, rules: entry.entry.approvals });
          if (settings.enabled && problem === undefined) usable.push(settings);
        }
        ports.registry(profile).configure(usable);
      }
      // A profile that is not served any more has no tools.
      for (const profile of gone) ports.registry(profile).configure([]);
      const earlier = kept;
      kept = next;
      for (const [key, { profile, settings, print }] of earlier) {
        const isSpent = respawns.isSpent(key);
        if (next.get(key)?.print === print && !isSpent) continue;
        // Another entry, or a person who asks again, has crashed nothing yet.
        respawns.forget(key);
        // What it listed was listed under other settings.
        if (next.has(key)) ports.registry(profile).forget(settings.name);
        const how = next.has(key) ? 'changed' : 'removed';
        ports.retired(key, how);
        ports
          .ward()
          .get(key)
          ?.send({ type: 'server.stop', why: `its entry was ${how}` });
      }
      for (const key of next.keys()) spawn(key);
    },
    settings: (profile, server) => kept.get(connectionKey(profile, server))?.settings,
    rules: (profile, server) => kept.get(connectionKey(profile, server))?.rules ?? [],
    keys: () => [...kept.keys()],
    profiles: () => [...new Set([...kept.values()].map(({ profile }) => profile))],
    ended(key) {
      if (ports.ward().size === 0) emptied?.();
      spawn(key);
    },
    crashed(key, error) {
      if (ports.ward().size === 0) emptied?.();
      const entry = kept.get(key);
      const wasSpent = respawns.isSpent(key);
      if (entry === undefined || stopping || respawns.crashed(key, () => spawn(key)) || wasSpent) return;
      const why = `mcp server "${entry.settings.name}": it crashed in the gateway again and again: ${causeOf(error)}; read the log, then \`agent mcp reload\` tries it anew`;
      ports.ward().spawn(key, { ...inputOf(entry), begin: 'failed', why });
    },
    async retireAll() {
      stopping = true;
      respawns.clear();
      const empty = new Promise<void>((resolve) => {
        emptied = resolve;
      });
      // Counted as they are told: a ward that does not live holds nobody, whatever its size says.
      let told = 0;
      ports.ward().each((_, connection) => {
        told += 1;
        connection.send({ type: 'server.stop', why: 'the gateway stops' });
        return true;
      });
      if (told > 0) await empty;
      await ports.closeSessions();
    },
  };
}
