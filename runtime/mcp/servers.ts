/**
 * Assembles the servers' half: the live tables, the charts with their effects, and the interface for the rest of the
 * daemon. Decides nothing.
 * @see INS-1 and LIF-1 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { AnyActorLogic } from 'xstate';
import { createCallQueues } from '../../actors/mcp/call-queues.ts';
import { createSchemaCache, type SchemaCache } from '../../actors/mcp/schema-cache.store.ts';
import { tokensPathOf } from '../../actors/oauth/credentials.store.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import { compile } from '../../machines/base/compile.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { absentPool } from '../../machines/base/pool.ts';
import { type Connections, isDown } from '../../machines/mcp/connection-state.ts';
import type { CallOutput } from '../../machines/mcp/tool-call.machine.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import { assembleLogins } from '../oauth/assemble.ts';
import { createLoginService } from '../oauth/login-service.ts';
import { countCall } from '../observe/metrics-counts.ts';
import { newMark } from '../system/ids.ts';
import { createChartPool, poolUnder } from '../system/pools.ts';
import { createRespawns } from '../system/respawns.ts';
import { wake } from '../system/ticks.ts';
import { createApprovals, wireApproval } from './approvals.ts';
import { createCallMemory, memoOf } from './call-memory.ts';
import { askerOf, createCalls } from './calls.ts';
import { wireConnection } from './connections.ts';
import { accessOfCalls } from './oauth-access.ts';
import { createOffers } from './offers.ts';
import type { Placement } from './placement.ts';
import { createReach } from './reach.ts';
import { createReconcile } from './reconcile.ts';
import { redactedCalls } from './redacted-calls.ts';
import { createRegistry, type Registry } from './registry.ts';
import { createRelay } from './relay.ts';
import { wireServerRequest } from './server-request-wiring.ts';
import { createServerRequests } from './server-requests.ts';
import { type ServersPool, wireServers } from './servers-wiring.ts';
import { connectionKey, createSessions } from './sessions.ts';
import { createSettled } from './settled.ts';
import { wireToolCall } from './tool-calls.ts';
import { tracedCalls } from './traced-calls.ts';

interface ServersHalfPorts extends SharedPorts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Present if several gateways share a database. */
  readonly placement?: Placement | undefined;
  /** The pool of the chats, which end with the servers. */
  readonly chats: AnyActorLogic;
}

export type Servers = ReturnType<typeof assembleServers>;

export function assembleServers(ports: ServersHalfPorts) {
  const { paths, root, home, compiling, redactor, metrics, tracing, nowMs, steadyMs, log } = ports;
  // Made anew at each start, because a copied home or a path on another machine is not this gateway.
  const start = randomUUID();
  const gateway = (profile: string): string => `${start}/${profile}`;
  const profileOf = (profile: string) => home().profiles.get(profile);
  /** Calls may arrive before a pool runs; sessions and abort signals may send events after it has stopped. */
  const pool = (name: ServersPool) => () => poolUnder(root(), name) ?? absentPool(name);
  const connections: Connections = pool('connections');
  const callPool = pool('calls');

  const registries = new Map<string, Registry>();
  const registry = (profile: string): Registry =>
    getOrMake(registries, profile, () => createRegistry(log, redactor.known));
  const caches = new Map<string, SchemaCache>();
  const cache = (profile: string): SchemaCache =>
    getOrMake(caches, profile, () =>
      createSchemaCache(join(profileOf(profile)?.paths.cache ?? paths.cache, 'mcp'), log),
    );
  const logFolder = (profile: string): string =>
    profile === 'default' ? join(paths.logs, 'mcp') : join(paths.logs, 'mcp', profile);

  const reconcile = createReconcile({
    entries: () => [...home().profiles].map(([profile, { settings }]) => ({ profile, servers: settings.servers })),
    pool: connections,
    registry,
    cache,
    retired: (key, how) => calls.retire(key, how),
    removed(profile, server) {
      memory.forget(profile, server);
      sessions.forget(profile, server);
      // The cache of a profile that is no longer served is not this gateway's.
      if (profileOf(profile) !== undefined) void cache(profile).remove(server);
    },
    applied: () => approvals.grantCovered(reconcile.rules),
    closeSessions: () => sessions.closeAll(),
    respawns: createRespawns({ steadyMs, random: Math.random, wake }),
    nowMs,
  });
  const { settings } = reconcile;
  const approvals = createApprovals(pool('approvals'), nowMs, newMark(), log);
  const requests = createServerRequests(pool('serverRequests'), steadyMs, approvals.withdraw);
  const calls = redactedCalls(tracedCalls(createCalls(callPool, nowMs, approvals.withdraw), tracing), redactor.text);
  const memory = createCallMemory();
  const settled = createSettled(connections);
  const credentialsChanged = (profile: string, server: string): void =>
    connections().get(connectionKey(profile, server))?.send({ type: 'credentials.changed' });
  const { logins, credentials, storeTokens, browserLogins, deviceLogins } = assembleLogins({
    home: paths.home,
    documents: () => home().documents,
    browser: pool('browserLogins'),
    device: pool('deviceLogins'),
    compiling,
    redactor,
    changed: credentialsChanged,
    nowMs,
    log,
  });
  home().documents.onChanged((path) => {
    for (const [profile, { paths: own, settings: known }] of home().profiles) {
      const server = known.servers.find(({ name }) => tokensPathOf(own.tokens, name) === path);
      if (server === undefined) continue;
      // Each token renewal changes its document; a working session need not be notified, except of a logout.
      const isUp = !isDown(connections().get(connectionKey(profile, server.name))?.getSnapshot().value ?? '');
      if (!isUp || credentials(profile).tokens(server.name) === undefined) credentialsChanged(profile, server.name);
    }
  });
  const reach = createReach({
    connections,
    calls: callPool,
    configured: (key) => reconcile.keys().includes(key),
    steadyMs,
  });
  const sessions = createSessions({
    ...ports,
    settings,
    registry,
    cache,
    logFolder,
    requests: requests.handlersOf,
    credentials,
    send: (key, event) => connections().get(key)?.send(event),
    isAwaited: reach.isAwaited,
    userHome: userHomeFolder(),
    homeOf: (profile) => profileOf(profile)?.paths.home ?? paths.home,
    gateway,
    random: Math.random,
    redact: redactor.text,
  });
  const queues = createCallQueues();
  const known = (profile: string): Registry | undefined => registries.get(profile);
  ports.placement?.answerBy(createRelay({ sessions, registry: known, settings, connections, queues, steadyMs, log }));
  const callWiring = wireToolCall({
    ...ports,
    calls,
    sessions,
    approvals,
    reach,
    queues,
    registry: known,
    settings,
    rules: reconcile.rules,
    connections,
    ...accessOfCalls({ settings, credentials, nowMs }),
  });
  function callEnded(key: string, output: CallOutput): void {
    const endedAtMs = nowMs();
    const call = calls.get(key);
    const startedAtMs = call?.startedAtMs ?? endedAtMs;
    countCall(output, (endedAtMs - startedAtMs) / 1_000, metrics);
    memory.keep(memoOf(output, { startedAtMs, endedAtMs, call, redactor }));
    if (call?.tool !== undefined && call.result !== undefined)
      offers.keepLinks(call.request.profile, call.tool.server, call.result.content);
    calls.settled(key, output);
    requests.callEnded(key);
  }
  const requestWiring = wireServerRequest({
    requests,
    approvals,
    askerOf: (call) => {
      const request = calls.get(call)?.request;
      return request && askerOf(request);
    },
    waits: calls.waits,
    settings,
    model: (profile) => profileOf(profile)?.settings.agent.model,
    redactor,
    askModel: async (model, question, signal) => {
      const { streamModel, waitFor } = await import('../../actors/agent/stream-model.ts');
      return streamModel(model, question, { nowMs, random: Math.random, wait: waitFor, signal });
    },
    steadyMs,
  });
  const machine = wireServers({
    pools: {
      connections: createChartPool(ports, {
        name: 'connections',
        machine: wireConnection({ sessions, reach, log }),
        onDone: (key) => {
          reconcile.ended(key);
          reach.ended(key);
        },
        onCrashed: (key, error) => {
          // The connection that replaces it may sleep or have failed, and would never close this session.
          sessions.drop(key);
          reconcile.crashed(key, error);
        },
      }),
      calls: createChartPool(ports, {
        name: 'calls',
        machine: callWiring,
        onDone: callEnded,
        onCrashed: (key) => {
          calls.crashed(key);
          requests.callEnded(key);
        },
      }),
      approvals: createChartPool(ports, {
        name: 'approvals',
        machine: wireApproval({ approvals: () => approvals, log }),
        // Its chart is gone, so it cannot be answered any more.
        onCrashed: (key) => approvals.settled(key, { verdict: 'denied', values: null }),
      }),
      serverRequests: createChartPool(ports, {
        name: 'serverRequests',
        machine: requestWiring,
        onCrashed: requests.crashed,
      }),
      chats: ports.chats,
      browserLogins,
      deviceLogins,
    },
    reconcile,
    live: calls,
    logins,
    closeFiles: sessions.closeFiles,
    log,
  });

  const offers = createOffers({
    calls,
    registry: known,
    state: (profile, server) => connections().get(connectionKey(profile, server))?.getSnapshot().value ?? '',
    keep: sessions.keepOffered,
  });

  return {
    logic: compile(machine, compiling),
    offers,
    calls,
    approvals,
    reconcile,
    connections,
    /** The last calls that runs have made. */
    memory,
    storeTokens,
    logins: createLoginService({ ...ports, logins, credentials, settings, changed: credentialsChanged }),
    settled,
    registry: known,
    /** The name of this gateway in listings of a profile's tools. */
    gateway,
    serves: (profile: string): boolean => profileOf(profile) !== undefined,
    logFolder,
  };
}
