/**
 * Counts outcomes: requests, runs, deliveries, calls, commits. A count is one look-up and one addition, so the hot path
 * does not notice it; gauges are measured on request. Labels are names of the configuration and of the gateway, never of
 * a third party, so no outsider can create a series. Every metric is declared here with its description, and a spec checks
 * that `docs/metrics.md` lists the same names, which are stable with their labels: dashboards and alerts match on them.
 * @see OBS-1 in docs/specification.md
 */

import { createRecentCounts, type RecentCounts } from './recent-counts.ts';

type Labels = readonly string[];

/** A series of a counter or a histogram; a frequent caller keeps it. */
export interface Series {
  count: number;
  /** Histograms only: the sum of the observations, and their number per bucket. */
  sum: number;
  readonly buckets: Float64Array | undefined;
}

export interface Metrics {
  /** Recent outcomes: calls by `profile/server`, deliveries by `profile/target`, requests to any route. */
  readonly recent: Readonly<Record<'calls' | 'commits' | 'deliveries' | 'requests', RecentCounts>>;
  /** The series of a metric with these label values, in the catalogue's order; created at its first use. */
  series(name: MetricName, ...labels: Labels): Series;
  count(name: MetricName, ...labels: Labels): void;
  observe(name: MetricName, seconds: number, ...labels: Labels): void;
  /** The series of a counter or a histogram, with their label values. */
  read(name: MetricName): readonly { readonly labels: Labels; readonly series: Series }[];
  /** Prometheus text of all counters and histograms, and of the measured values. */
  render(measured: readonly Measured[]): string;
}

export interface Measured {
  readonly name: MetricName;
  readonly value: number;
  readonly labels?: Labels;
}

/** From a rule's quarter of a millisecond to an agent's ten minutes. */
export const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Series per metric; further label values share the series `other`. */
const maxSeries = 2_000;
const separator = '\u0000';

export function createMetrics(): Metrics {
  const tables = new Map<MetricName, Map<string, Series>>();

  function tableOf(name: MetricName): Map<string, Series> {
    let table = tables.get(name);
    if (table === undefined) {
      table = new Map();
      tables.set(name, table);
    }
    return table;
  }

  function series(name: MetricName, ...labels: Labels): Series {
    const table = tableOf(name);
    const key = labels.length === 1 ? (labels[0] ?? '') : labels.join(separator);
    const standing = table.get(key);
    if (standing !== undefined) return standing;
    const overflow = table.size >= maxSeries ? labels.map(() => 'other') : labels;
    const overflowKey = overflow.join(separator);
    const found = table.get(overflowKey);
    if (found !== undefined) return found;
    const isHistogram = metricCatalogue[name].type === 'histogram';
    const made: Series = { count: 0, sum: 0, buckets: isHistogram ? new Float64Array(bounds.length) : undefined };
    table.set(overflowKey, made);
    return made;
  }

  function read(name: MetricName): { readonly labels: Labels; readonly series: Series }[] {
    // A metric without labels has one series, whose key is empty and not a label value.
    const labelsOf = (key: string): Labels => (metricCatalogue[name].labels.length === 0 ? [] : key.split(separator));
    return [...(tables.get(name) ?? [])].map(([key, one]) => ({ labels: labelsOf(key), series: one }));
  }

  return {
    recent: {
      calls: createRecentCounts(Date.now),
      commits: createRecentCounts(Date.now),
      deliveries: createRecentCounts(Date.now),
      requests: createRecentCounts(Date.now),
    },
    series,
    count(name, ...labels) {
      series(name, ...labels).count += 1;
    },
    observe(name, seconds, ...labels) {
      observe(series(name, ...labels), seconds);
    },
    read,
    render(measured) {
      const lines: string[] = [];
      for (const [name, entry] of Object.entries(metricCatalogue) as [
        MetricName,
        (typeof metricCatalogue)[MetricName],
      ][]) {
        const samples =
          entry.type === 'gauge' || measured.some((one) => one.name === name)
            ? measured
                .filter((one) => one.name === name)
                .map(({ value, labels = [] }) => sample(name, entry.labels, labels, value))
            : read(name).flatMap(({ labels, series: one }) => samplesOf(name, entry.labels, labels, one));
        if (samples.length === 0) continue;
        lines.push(`# HELP ${name} ${entry.help}`, `# TYPE ${name} ${entry.type}`, ...samples);
      }
      return `${lines.join('\n')}\n`;
    },
  };
}

/** Adds an observation to its bucket; there are few bounds, and most observations fall into the first ones. */
export function observe(series: Series, seconds: number): void {
  series.count += 1;
  series.sum += seconds;
  const { buckets } = series;
  if (buckets === undefined) return;
  for (let at = 0; at < bounds.length; at += 1) {
    if (seconds > (bounds[at] ?? 0)) continue;
    buckets[at] = (buckets[at] ?? 0) + 1;
    return;
  }
}

function samplesOf(name: string, names: Labels, labels: Labels, { count, sum, buckets }: Series): string[] {
  if (buckets === undefined) return [sample(name, names, labels, count)];
  let below = 0;
  const bounded = bounds.map((bound, at) => {
    below += buckets[at] ?? 0;
    return sample(`${name}_bucket`, [...names, 'le'], [...labels, String(bound)], below);
  });
  return [
    ...bounded,
    sample(`${name}_bucket`, [...names, 'le'], [...labels, '+Inf'], count),
    sample(`${name}_sum`, names, labels, sum),
    sample(`${name}_count`, names, labels, count),
  ];
}

function sample(name: string, names: Labels, labels: Labels, value: number): string {
  const pairs = names.map((label, at) => `${label}="${escaped(labels[at] ?? '')}"`).join(',');
  return `${name}${pairs === '' ? '' : `{${pairs}}`} ${Number(value.toPrecision(12))}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
  readonly labels: readonly string[];
}

type MetricName = keyof typeof entries;

const entries = {
  agent_build_info: { type: 'gauge', help: 'Always 1; the version is its label.', labels: ['version'] },
  agent_ready: { type: 'gauge', help: '1 while every part is well, as /ready says.', labels: [] },
  agent_webhook_requests_total: {
    type: 'counter',
    help: 'Webhook requests that were answered or abandoned; an array (`split`) and each of its events count.',
    labels: ['profile', 'route', 'outcome'],
  },
  agent_webhook_request_duration_seconds: {
    type: 'histogram',
    help: 'From the head of a webhook request to its answer.',
    labels: ['profile', 'route'],
  },
  agent_webhook_older_secret_total: {
    type: 'counter',
    help: 'Genuine requests that were signed with a secret after the first of a list; `secret` is its number.',
    labels: ['profile', 'route', 'secret'],
  },
  agent_webhook_requests_in_flight: { type: 'gauge', help: 'Webhook requests without an answer yet.', labels: [] },
  agent_coalescing_groups: { type: 'gauge', help: 'Coalescing groups that gather or wait for their run.', labels: [] },
  agent_runs_total: {
    type: 'counter',
    help: 'Agent runs that ended; with the status `delivering`, their response was still on its way.',
    labels: ['profile', 'route', 'kind', 'status'],
  },
  agent_run_wait_seconds: {
    type: 'histogram',
    help: 'From the event on disk to the start of its run.',
    labels: ['profile', 'route'],
  },
  agent_run_duration_seconds: {
    type: 'histogram',
    help: 'From the start of a run to its end, delivery included.',
    labels: ['profile', 'route'],
  },
  agent_runs_running: { type: 'gauge', help: 'Runs that hold a slot.', labels: [] },
  agent_runs_queued: { type: 'gauge', help: 'Runs in memory that wait for a slot.', labels: [] },
  agent_runs_concurrency: { type: 'gauge', help: 'Slots for runs, as configured.', labels: [] },
  agent_deliveries_total: {
    type: 'counter',
    help: 'Texts that were delivered or dropped.',
    labels: ['target', 'status'],
  },
  agent_delivery_duration_seconds: {
    type: 'histogram',
    help: 'From a text in the queue to its outcome.',
    labels: ['target'],
  },
  agent_deliveries_in_flight: { type: 'gauge', help: 'Texts on their way.', labels: [] },
  agent_target_state: {
    type: 'gauge',
    help: 'Always 1; the state of each delivery platform is a label.',
    labels: ['profile', 'target', 'state'],
  },
  agent_tool_calls_total: {
    type: 'counter',
    help: 'Tool calls by outcome: result, or the code of why there is none.',
    labels: ['profile', 'server', 'outcome'],
  },
  agent_tool_call_duration_seconds: {
    type: 'histogram',
    help: 'From a tool call to its end, approval included.',
    labels: ['profile', 'server'],
  },
  agent_tool_calls_in_flight: { type: 'gauge', help: 'Tool calls without a result yet.', labels: [] },
  agent_approvals_waiting: { type: 'gauge', help: 'Questions at this gateway that wait for a person.', labels: [] },
  agent_mcp_servers: { type: 'gauge', help: 'MCP servers by state.', labels: ['state'] },
  agent_mcp_server_state: {
    type: 'gauge',
    help: 'Always 1; the state of each MCP server is a label.',
    labels: ['profile', 'server', 'state'],
  },
  agent_mcp_sessions_total: {
    type: 'counter',
    help: 'Sessions begun with a server since its connection began; each beyond the first is a restart.',
    labels: ['profile', 'server'],
  },
  agent_mcp_tools: { type: 'gauge', help: 'Registered tools of a server.', labels: ['profile', 'server'] },
  agent_actors: { type: 'gauge', help: 'Living actors by machine.', labels: ['machine'] },
  agent_actors_spawned_total: { type: 'counter', help: 'Actors that a pool spawned.', labels: ['machine'] },
  agent_actors_crashed_total: { type: 'counter', help: 'Actors that a pool lost to an error.', labels: ['machine'] },
  agent_gateway_restarts_total: {
    type: 'counter',
    help: 'Times that the gateway was started anew after a crash.',
    labels: [],
  },
  agent_gateway_leader: { type: 'gauge', help: '1 at the gateway that sends the deliveries.', labels: [] },
  agent_gateway_nodes: { type: 'gauge', help: 'Gateways that use the journal.', labels: [] },
  agent_journal_up: { type: 'gauge', help: '1 while the journal can write.', labels: [] },
  agent_journal_commits_total: { type: 'counter', help: 'Commits by verdict.', labels: ['verdict'] },
  agent_journal_commit_duration_seconds: {
    type: 'histogram',
    help: 'From a commit to its place on disk; many share one write.',
    labels: [],
  },
  agent_log_lines_total: { type: 'counter', help: 'Lines of the log by level.', labels: ['level'] },
  agent_inspector_viewers: { type: 'gauge', help: 'Pages and terminals that follow.', labels: [] },
  process_start_time_seconds: { type: 'gauge', help: 'When the process began, in Unix seconds.', labels: [] },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time of the process.', labels: [] },
  process_resident_memory_bytes: { type: 'gauge', help: 'Memory of the process in RAM.', labels: [] },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Heap in use.', labels: [] },
  nodejs_external_memory_bytes: { type: 'gauge', help: 'Memory outside the heap that objects hold.', labels: [] },
  nodejs_eventloop_lag_seconds: {
    type: 'summary',
    help: 'How long the event loop was held up since the first reading, by quantile.',
    labels: ['quantile'],
  },
  nodejs_eventloop_utilization: { type: 'gauge', help: 'Share of its time that the event loop was busy.', labels: [] },
} as const satisfies Record<string, MetricEntry>;

export const metricCatalogue: Readonly<Record<MetricName, MetricEntry>> = entries;
