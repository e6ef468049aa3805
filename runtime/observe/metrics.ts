/**
 * Counts outcomes: requests, runs, deliveries, calls, commits. A count is one look-up and one addition, so the hot path
 * does not notice it; gauges are measured on request. Labels are names of the configuration and of the gateway, never of
 * a third party, so no outsider can create a series. Every metric is declared here with its description, and a spec checks
 * that `docs/metrics.md` lists the same names, which are stable with their labels: dashboards and alerts match on them.
 * @see OBS-1 in docs/specification.md
 */

import { getOrMake } from '../../machines/base/get-or-make.ts';
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

  // Each event asks for several, so what only a new one needs is apart.
  function series(name: MetricName, ...labels: Labels): Series {
    const key = labels.length === 1 ? (labels[0] ?? '') : labels.join(separator);
    return tables.get(name)?.get(key) ?? newSeries(name, labels);
  }

  function newSeries(name: MetricName, labels: Labels): Series {
    const table = getOrMake(tables, name, () => new Map());
    const kept = table.size >= maxSeries ? labels.map(() => 'other') : labels;
    return getOrMake(table, kept.join(separator), () => ({
      count: 0,
      sum: 0,
      buckets: metricCatalogue[name].type === 'histogram' ? new Float64Array(bounds.length) : undefined,
    }));
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
      for (const [name, entry] of Object.entries(metricCatalogue) as [MetricName, MetricEntry][]) {
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
  readonly labels: Labels;
}

/** Takes the help, and the names of the labels. */
const ofType =
  (type: MetricEntry['type']) =>
  (help: string, labels = ''): MetricEntry => ({ type, help, labels: labels.split(' ').filter(Boolean) });
const counter = ofType('counter');
const gauge = ofType('gauge');
const histogram = ofType('histogram');
const summary = ofType('summary');

type MetricName = keyof typeof metricCatalogue;

export const metricCatalogue = {
  agent_build_info: gauge('Always 1; the version is its label.', 'version'),
  agent_ready: gauge('1 while every part is well, as /ready says.'),
  agent_webhook_requests_total: counter(
    'Webhook requests that were answered or abandoned; an array (`split`) and each of its events count.',
    'profile route outcome',
  ),
  agent_webhook_request_duration_seconds: histogram(
    'From the head of a webhook request to its answer.',
    'profile route',
  ),
  agent_webhook_older_secret_total: counter(
    'Genuine requests that were signed with a secret after the first of a list; `secret` is its number.',
    'profile route secret',
  ),
  agent_webhook_requests_in_flight: gauge('Webhook requests without an answer yet.'),
  agent_coalescing_groups: gauge('Coalescing groups that gather or wait for their run.'),
  agent_runs_total: counter(
    'Agent runs that ended; with the status `delivering`, their response was still on its way.',
    'profile route kind status',
  ),
  agent_run_wait_seconds: histogram('From the event on disk to the start of its run.', 'profile route'),
  agent_run_duration_seconds: histogram('From the start of a run to its end, delivery included.', 'profile route'),
  agent_runs_running: gauge('Runs that hold a slot.'),
  agent_runs_queued: gauge('Runs in memory that wait for a slot.'),
  agent_runs_concurrency: gauge('Slots for runs, as configured.'),
  agent_deliveries_total: counter('Texts that were delivered or dropped.', 'target status'),
  agent_delivery_duration_seconds: histogram('From a text in the queue to its outcome.', 'target'),
  agent_deliveries_in_flight: gauge('Texts on their way.'),
  agent_target_state: gauge('Always 1; the state of each delivery platform is a label.', 'profile target state'),
  agent_tool_calls_total: counter(
    'Tool calls by outcome: result, or the code of why there is none.',
    'profile server outcome',
  ),
  agent_tool_call_duration_seconds: histogram('From a tool call to its end, approval included.', 'profile server'),
  agent_tool_calls_in_flight: gauge('Tool calls without a result yet.'),
  agent_approvals_waiting: gauge('Questions at this gateway that wait for a person.'),
  agent_mcp_servers: gauge('MCP servers by state.', 'state'),
  agent_mcp_server_state: gauge('Always 1; the state of each MCP server is a label.', 'profile server state'),
  agent_mcp_sessions_total: counter(
    'Sessions begun with a server since its connection began; each beyond the first is a restart.',
    'profile server',
  ),
  agent_mcp_tools: gauge('Registered tools of a server.', 'profile server'),
  agent_actors: gauge('Living actors by machine.', 'machine'),
  agent_actors_spawned_total: counter('Actors that a pool spawned.', 'machine'),
  agent_actors_crashed_total: counter('Actors that a pool lost to an error.', 'machine'),
  agent_gateway_restarts_total: counter('Times that the gateway was started anew after a crash.'),
  agent_gateway_leader: gauge('1 at the gateway that sends the deliveries.'),
  agent_gateway_nodes: gauge('Gateways that use the journal.'),
  agent_journal_up: gauge('1 while the journal can write.'),
  agent_journal_commits_total: counter('Commits by verdict.', 'verdict'),
  agent_journal_commit_duration_seconds: histogram('From a commit to its place on disk; many share one write.'),
  agent_log_lines_total: counter('Lines of the log by level.', 'level'),
  agent_inspector_viewers: gauge('Pages and terminals that follow.'),
  process_start_time_seconds: gauge('When the process began, in Unix seconds.'),
  process_cpu_seconds_total: counter('CPU time of the process.'),
  process_resident_memory_bytes: gauge('Memory of the process in RAM.'),
  nodejs_heap_size_used_bytes: gauge('Heap in use.'),
  nodejs_external_memory_bytes: gauge('Memory outside the heap that objects hold.'),
  nodejs_eventloop_lag_seconds: summary(
    'How long the event loop was held up since the first reading, by quantile.',
    'quantile',
  ),
  nodejs_eventloop_utilization: gauge('Share of its time that the event loop was busy.'),
};
