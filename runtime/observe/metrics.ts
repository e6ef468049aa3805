/**
 * Counts outcomes: requests, runs, deliveries, calls, commits. A count is one look-up and one addition, so the hot path
 * does not notice it; gauges are measured on request. Labels are names of the configuration and of the gateway, never of
 * a third party, so no outsider can create a series.
 * @see OBS-1 in docs/specification.md
 */

import { type MetricName, metricCatalogue } from './metrics-catalogue.ts';
import { createRecentCounts, type RecentCounts } from './recent-counts.ts';

export type Labels = readonly string[];

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
const mostSeries = 2_000;
const separator = '\u0000';

export function createMetrics(nowMs: () => number = Date.now): Metrics {
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
    const overflow = table.size >= mostSeries ? labels.map(() => 'other') : labels;
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
      calls: createRecentCounts(nowMs),
      commits: createRecentCounts(nowMs),
      deliveries: createRecentCounts(nowMs),
      requests: createRecentCounts(nowMs),
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
