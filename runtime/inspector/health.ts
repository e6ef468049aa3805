/**
 * The health of the daemon, for monitors and the inspector: whether each part serves, and all gauges, which are measured
 * only on request.
 * @see ADP-2 and OBS-1 in docs/specification.md
 */

import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { AnyActorRef } from 'xstate';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { type ChartPool, isPool, poolHandle } from '../../machines/base/pool.ts';
import type { platformConnectionMachine } from '../../machines/dispatch/platform-connection.machine.ts';
import type { serverConnectionMachine } from '../../machines/mcp/server-connection.machine.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import type { Health, Readiness } from '../control/contract/wire.ts';
import type { McpView } from '../mcp/view.ts';
import type { Measured } from '../observe/metrics.ts';
import { poolUnder } from '../system/pools.ts';
import { countActors } from './census.ts';

interface HealthPorts extends Pick<SharedPorts, 'root' | 'metrics' | 'nowMs'> {
  readonly mcp: McpView;
  readonly keeper: Pick<JournalKeeper, 'leads' | 'place'>;
  /** Whether other gateways may use the journal too. */
  readonly isShared: boolean;
  /** The profiles that are served. */
  readonly profiles: () => readonly string[];
  readonly load: () => { readonly running: number; readonly waiting: number };
  readonly concurrency: () => number;
  /** Rises when the routes in force have changed. */
  readonly routes: () => number;
  /** Open questions at other gateways; undefined while they are not known. */
  readonly questionsElsewhere: () => number | undefined;
  readonly webhookEnabled: () => boolean;
  readonly redact: (text: string) => string;
  readonly viewers: () => number;
  readonly version: string;
  readonly home: string;
  readonly startedAtMs: number;
}

/** The sampling interval; a shorter one would wake an idle process for nothing. */
const lagResolutionMs = 50;
const quantiles = [50, 90, 99] as const;

interface PartSnapshot {
  readonly value: unknown;
  readonly context: { readonly fault?: string | null };
  hasTag(tag: string): boolean;
}

export function createHealth(ports: HealthPorts) {
  const { root, mcp, metrics, nowMs } = ports;
  let busySince = performance.eventLoopUtilization();
  /** Two histograms: the page's is reset at each reading, which must not empty the one of the metrics. */
  const shownLag = createLag();
  const measuredLag = createLag();

  /** The histogram measures from timer to timer; only the excess over its resolution is lag. */
  function seconds(nanoseconds: number): number {
    return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - lagResolutionMs / 1_000) : 0;
  }

  function partOf(systemId: string, isWanted = true): Readiness['parts'][string] {
    const ref: AnyActorRef | undefined = root().system.get(systemId);
    const snapshot: PartSnapshot | undefined = ref?.getSnapshot();
    const state = typeof snapshot?.value === 'string' ? snapshot.value : 'absent';
    const fault = snapshot?.context.fault;
    const ok = !isWanted || snapshot?.hasTag('serving') === true;
    return { ok, state, ...(typeof fault === 'string' ? { why: ports.redact(fault) } : {}) };
  }

  function readiness(): Readiness {
    const runs: boolean = root().getSnapshot().hasTag('serving');
    const parts = {
      supervisor: { ok: runs, state: runs ? 'running' : 'starting or stopping' },
      journal: partOf('journal'),
      servers: partOf('servers'),
      gateway: partOf('gateway', ports.webhookEnabled()),
    };
    return { ready: Object.values(parts).every(({ ok }) => ok), parts };
  }

  function requests(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { labels, series } of metrics.read('agent_webhook_requests_total')) {
      const outcome = labels[2] ?? '';
      counts[outcome] = (counts[outcome] ?? 0) + series.count;
    }
    return counts;
  }

  return {
    readiness,
    health(): Health {
      const delays = shownLag();
      const lagMs = Math.round(seconds(delays.max) * 1_000);
      delays.reset();
      const { running, waiting } = ports.load();
      const gateway: AnyActorRef | undefined = root().system.get('gateway');
      const url: string | null = gateway?.getSnapshot().context.url ?? null;
      const profiles = ports.profiles();
      const elsewhere = ports.questionsElsewhere();
      return {
        at: nowMs(),
        version: ports.version,
        pid: process.pid,
        home: ports.home,
        started: ports.startedAtMs,
        url,
        ready: readiness().ready,
        runs: { running, queued: waiting, concurrency: ports.concurrency() },
        actors: countActors(root()),
        servers: mcp.states(),
        ...(elsewhere === undefined ? {} : { approvals: mcp.approvals().length + elsewhere }),
        requests: requests(),
        memoryBytes: process.memoryUsage.rss(),
        lagMs,
        routes: ports.routes(),
        ...(ports.isShared ? { nodes: ports.keeper.place().of } : {}),
        ...(profiles.length > 1 ? { profiles } : {}),
      };
    },
    /** All gauges of the metrics. */
    measure(): readonly Measured[] {
      const { running, waiting } = ports.load();
      const pools = poolsOf(root());
      const sizeOf = (name: string): number => pools.find((pool) => pool.name === name)?.size ?? 0;
      const memory = process.memoryUsage();
      const cpu = process.cpuUsage();
      const busy = performance.eventLoopUtilization(busySince);
      busySince = performance.eventLoopUtilization();
      const delays = measuredLag();
      const { ready, parts } = readiness();
      return [
        { name: 'agent_build_info', value: 1, labels: [ports.version] },
        { name: 'agent_ready', value: ready ? 1 : 0 },
        { name: 'agent_webhook_requests_in_flight', value: sizeOf('requests') },
        { name: 'agent_coalescing_groups', value: sizeOf('groups') },
        { name: 'agent_runs_running', value: running },
        { name: 'agent_runs_queued', value: waiting },
        { name: 'agent_runs_concurrency', value: ports.concurrency() },
        { name: 'agent_deliveries_in_flight', value: sizeOf('deliveries') },
        { name: 'agent_tool_calls_in_flight', value: sizeOf('calls') },
        { name: 'agent_approvals_waiting', value: mcp.approvals().length },
        ...targetsOf(root()),
        ...serversOf(root()),
        ...Object.entries(countActors(root())).map(([machine, value]) => ({
          name: 'agent_actors' as const,
          value,
          labels: [machine],
        })),
        ...pools.flatMap(({ machine, spawned, crashed }): Measured[] => [
          { name: 'agent_actors_spawned_total', value: spawned, labels: [machine] },
          { name: 'agent_actors_crashed_total', value: crashed, labels: [machine] },
        ]),
        { name: 'agent_gateway_leader', value: ports.keeper.leads() ? 1 : 0 },
        { name: 'agent_gateway_nodes', value: ports.keeper.place().of },
        { name: 'agent_journal_up', value: parts.journal?.ok === true ? 1 : 0 },
        { name: 'agent_inspector_viewers', value: ports.viewers() },
        { name: 'process_start_time_seconds', value: performance.timeOrigin / 1_000 },
        { name: 'process_cpu_seconds_total', value: (cpu.user + cpu.system) / 1e6 },
        { name: 'process_resident_memory_bytes', value: memory.rss },
        { name: 'nodejs_heap_size_used_bytes', value: memory.heapUsed },
        { name: 'nodejs_external_memory_bytes', value: memory.external },
        ...quantiles.map((quantile) => ({
          name: 'nodejs_eventloop_lag_seconds' as const,
          value: seconds(delays.percentile(quantile)),
          labels: [String(quantile / 100)],
        })),
        { name: 'nodejs_eventloop_utilization', value: busy.utilization },
      ];
    },
  };
}

/** Begins to measure at the first reading, so it costs nothing until then. */
function createLag(): () => IntervalHistogram {
  let delays: IntervalHistogram | undefined;
  return () => {
    if (delays === undefined) {
      delays = monitorEventLoopDelay({ resolution: lagResolutionMs });
      delays.enable();
    }
    return delays;
  };
}

interface PoolNumbers {
  readonly name: string;
  readonly machine: string;
  readonly size: number;
  readonly spawned: number;
  readonly crashed: number;
}

/** Every pool below an actor, with its counts. */
function poolsOf(ref: AnyActorRef): PoolNumbers[] {
  const snapshot = ref.getSnapshot() as {
    readonly context?: { readonly spawned: number; readonly crashed: number };
    readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
  };
  if (isPool(ref)) {
    const { name, childMachine, size } = poolHandle(ref);
    const { spawned = 0, crashed = 0 } = snapshot.context ?? {};
    return [{ name, machine: childMachine, size, spawned, crashed }];
  }
  return Object.values(snapshot.children ?? {}).flatMap((child) => (child === undefined ? [] : poolsOf(child)));
}

function targetsOf(root: AnyActorRef): Measured[] {
  const pool: ChartPool<typeof platformConnectionMachine> | undefined = poolUnder(root, 'platforms');
  return [...(pool ?? [])].map(([, platform]) => {
    const { value, context } = platform.getSnapshot();
    return { name: 'agent_target_state', value: 1, labels: [context.profile, context.target, value] };
  });
}

function serversOf(root: AnyActorRef): Measured[] {
  const states = new Map<string, number>();
  const pool: ChartPool<typeof serverConnectionMachine> | undefined = poolUnder(root, 'connections');
  const measured = [...(pool ?? [])].flatMap(([, connection]): Measured[] => {
    const { value, context } = connection.getSnapshot();
    const { profile, server, session, tools } = context;
    states.set(value, (states.get(value) ?? 0) + 1);
    return [
      { name: 'agent_mcp_server_state', value: 1, labels: [profile, server, value] },
      { name: 'agent_mcp_sessions_total', value: session, labels: [profile, server] },
      { name: 'agent_mcp_tools', value: tools, labels: [profile, server] },
    ];
  });
  for (const [state, value] of states) measured.push({ name: 'agent_mcp_servers', value, labels: [state] });
  return measured;
}
