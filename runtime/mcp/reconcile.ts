/**
 * Applies the configuration to the connections: spawns added ones, retires removed ones, replaces changed ones, and
 * leaves all others alone.
 * @see LIF-2, LIF-6, LIF-12 and CFG-3 in docs/specification.md
 */

import type { SchemaCache } from '../../actors/mcp/schema-cache.store.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { ServerEntry } from '../../machines/config/server-entry.ts';
import type { ApprovalRule } from '../../machines/mcp/approval-rules.ts';
import type { Connections } from '../../machines/mcp/connection-state.ts';
import type { ConnectionInput } from '../../machines/mcp/server-connection.machine.ts';
import { readServerSettings, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import type { Respawns } from '../system/respawns.ts';
import type { Registry } from './registry.ts';
import { connectionKey } from './sessions.ts';

interface ReconcilePorts {
  /** The entries of every profile, in the order of the configuration. */
  readonly entries: () => readonly { readonly profile: string; readonly servers: readonly ServerEntry[] }[];
  readonly pool: Connections;
  readonly registry: (profile: string) => Registry;
  readonly cache: (profile: string) => SchemaCache;
  /** Called when the entry of a connection was changed or removed, so that no call waits for it in vain. */
  readonly retired: (key: string, how: 'changed' | 'removed') => void;
  /** Called when the connection of a removed entry has ended, and with it its last calls. */
  readonly removed: (profile: string, server: string) => void;
  /** Called when the configuration has been applied. */
  readonly applied: () => void;
  readonly closeSessions: () => Promise<void>;
  /** Decides when a crashed connection is spawned again. */
  readonly respawns: Respawns;
  readonly nowMs: () => number;
}

export interface Reconcile {
  run(): void;
  /** The settings in force. */
  settings(profile: string, server: string): ServerSettings | undefined;
  /** The approval rules of its entry. A change of them does not affect the connection. */
  rules(profile: string, server: string): readonly ApprovalRule[];
  /** The keys of the connections, in the order of the configuration. */
  keys(): readonly string[];
  ended(key: string): void;
  /** Called when the chart of a connection has crashed. */
  crashed(key: string, error: unknown): void;
  /** Stops every connection; resolves when all connections and sessions have ended. */
  retireAll(): Promise<void>;
}

interface Kept {
  readonly profile: string;
  readonly settings: ServerSettings;
  readonly problem: string | undefined;
  readonly rules: readonly ApprovalRule[];
  /** Changes with any setting of the entry. Contains secrets: only for comparison. */
  readonly fingerprint: string;
}

export function createReconcile(ports: ReconcilePorts): Reconcile {
  const { respawns } = ports;
  let kept = new Map<string, Kept>();
  /** Removed entries whose connection has not ended yet. */
  const leaving = new Map<string, Kept>();
  let stopping = false;
  let emptied: (() => void) | undefined;

  function spawn(key: string): void {
    const entry = kept.get(key);
    if (entry === undefined || stopping || respawns.rests(key) || ports.pool().get(key) !== undefined) return;
    ports.pool().spawn(key, inputOf(entry));
  }

  /** Called when there is no connection of a key any more. */
  function left(key: string): void {
    const entry = leaving.get(key);
    leaving.delete(key);
    if (entry !== undefined && !kept.has(key)) ports.removed(entry.profile, entry.settings.name);
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
    const cached = settings.lazy ? ports.cache(profile).read(settings, ports.nowMs()) : undefined;
    if (cached === undefined) return { ...common, begin: 'connecting' };
    const registry = ports.registry(profile);
    return { ...common, begin: 'lazy', tools: registry.count(server) ?? registry.learn(server, cached) };
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
          const fingerprint = JSON.stringify([read, problem]);
          const before = kept.get(key);
          // Caches are keyed by the settings object, so an unchanged entry keeps its object.
          const isSame = before?.fingerprint === fingerprint;
          const settings = isSame ? before.settings : read;
          // Its listing belongs to the earlier settings.
          if (!isSame) ports.registry(profile).forget(entry.name);
          next.set(key, { profile, settings, problem, fingerprint, rules: entry.entry.approvals });
          if (settings.enabled && problem === undefined) usable.push(settings);
        }
        // Until a server has listed: programs such as Codex list once, and a call waits for the connection.
        ports.registry(profile).configure(usable, (settings) => ports.cache(profile).read(settings));
      }
      // A profile that is no longer served has no tools.
      for (const profile of gone) ports.registry(profile).configure([]);
      const earlier = kept;
      kept = next;
      for (const [key, entry] of earlier) {
        if (next.get(key)?.fingerprint === entry.fingerprint && !respawns.isSpent(key)) continue;
        // A changed entry, or a reload by a person, gets a new restart budget.
        respawns.forget(key);
        const how = next.has(key) ? 'changed' : 'removed';
        ports.retired(key, how);
        if (!next.has(key)) leaving.set(key, entry);
        const connection = ports.pool().get(key);
        if (connection === undefined) left(key);
        else connection.send({ type: 'server.stop', why: `its entry was ${how}` });
      }
      for (const key of next.keys()) spawn(key);
      ports.applied();
    },
    settings: (profile, server) => kept.get(connectionKey(profile, server))?.settings,
    rules: (profile, server) => kept.get(connectionKey(profile, server))?.rules ?? [],
    keys: () => [...kept.keys()],
    ended(key) {
      if (ports.pool().size === 0) emptied?.();
      left(key);
      spawn(key);
    },
    crashed(key, error) {
      if (ports.pool().size === 0) emptied?.();
      left(key);
      const entry = kept.get(key);
      const wasSpent = respawns.isSpent(key);
      if (entry === undefined || stopping || respawns.crashed(key, () => spawn(key)) || wasSpent) return;
      const why = `mcp server "${entry.settings.name}": it crashed in the gateway again and again: ${causeOf(error)}; read the log, then \`agent mcp reload\` tries it anew`;
      ports.pool().spawn(key, { ...inputOf(entry), begin: 'failed', why });
    },
    async retireAll() {
      stopping = true;
      respawns.clear();
      const empty = new Promise<void>((resolve) => {
        emptied = resolve;
      });
      // Counts the notified connections, because the `size` of a pool that has stopped is not reliable.
      let notified = 0;
      for (const [, connection] of ports.pool()) {
        notified += 1;
        connection.send({ type: 'server.stop', why: 'the gateway stops' });
      }
      if (notified > 0) await empty;
      await ports.closeSessions();
    },
  };
}
