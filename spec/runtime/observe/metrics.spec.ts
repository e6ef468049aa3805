import { readFileSync } from 'node:fs';
import t from 'tap';
import { bounds, createMetrics, metricCatalogue } from '../../../runtime/observe/metrics.ts';

t.test('OBS-1 · counters and histograms are written as Prometheus reads them', (t) => {
  const metrics = createMetrics();
  metrics.count('agent_webhook_requests_total', 'default', 'a "quoted"\\\nname', 'accepted');
  metrics.count('agent_webhook_requests_total', 'default', 'a "quoted"\\\nname', 'accepted');
  for (const seconds of [0, 0.001, 0.3, 1_000]) metrics.observe('agent_delivery_duration_seconds', seconds, 'log');
  metrics.observe('agent_journal_commit_duration_seconds', 0.3);
  const text = metrics.render([
    { name: 'agent_ready', value: 1 },
    { name: 'agent_mcp_servers', value: 2, labels: ['connected'] },
  ]);
  const lines = text.split('\n');
  t.ok(text.endsWith('\n'));
  t.ok(
    lines.includes(
      'agent_webhook_requests_total{profile="default",route="a \\"quoted\\"\\\\\\nname",outcome="accepted"} 2',
    ),
  );
  t.ok(lines.includes('# TYPE agent_delivery_duration_seconds histogram'));
  t.ok(lines.includes('agent_delivery_duration_seconds_bucket{target="log",le="0.001"} 2'));
  t.ok(lines.includes('agent_delivery_duration_seconds_bucket{target="log",le="0.5"} 3'));
  t.ok(lines.includes('agent_delivery_duration_seconds_bucket{target="log",le="600"} 3'));
  t.ok(lines.includes('agent_delivery_duration_seconds_bucket{target="log",le="+Inf"} 4'));
  t.ok(lines.includes('agent_delivery_duration_seconds_sum{target="log"} 1000.301'));
  t.ok(lines.includes('agent_mcp_servers{state="connected"} 2'));
  t.ok(
    lines.includes('agent_journal_commit_duration_seconds_bucket{le="0.5"} 1'),
    'one without labels has its bounds too',
  );
  const series = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.replace(/ \S+$/, ''));
  t.equal(new Set(series).size, series.length, 'no series is told twice');
  for (const line of lines.filter((one) => one !== '' && !one.startsWith('#')))
    t.match(line, /^[a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? [\d.eE+-]+$/);
  t.same(
    bounds,
    [...bounds].sort((one, other) => one - other),
  );
  t.end();
});

t.test('OBS-1 · however many names there are, the series are bounded and none is lost', (t) => {
  const metrics = createMetrics();
  for (let index = 0; index < 5_000; index += 1) metrics.count('agent_deliveries_total', `target-${index}`, 'failed');
  const series = metrics.read('agent_deliveries_total');
  t.ok(series.length <= 2_001, String(series.length));
  t.equal(
    series.reduce((sum, { series: { count } }) => sum + count, 0),
    5_000,
  );
  t.same(series.at(-1)?.labels, ['other', 'other']);
  t.end();
});

t.test('OBS-1 · docs/metrics.md lists every metric as it is, and none that is not', (t) => {
  const rows = [...readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm)];
  t.same(
    rows.map(([, name, type, labels, help]) => ({
      name,
      type,
      labels: [...(labels ?? '').matchAll(/`(\w+)`/g)].map(([, label]) => label),
      help,
    })),
    Object.entries(metricCatalogue).map(([name, { type, labels, help }]) => ({ name, type, labels, help })),
    'the table of docs/metrics.md',
  );
  for (const [name, { type, labels }] of Object.entries(metricCatalogue))
    t.equal(
      (labels as readonly string[]).includes('quantile'),
      type === 'summary',
      `${name}: quantiles are of a summary`,
    );
  t.end();
});

t.test('OBS-1 · the dashboard and the alerts ask for metrics that there are, by labels that they have', (t) => {
  const dashboard = JSON.parse(readFileSync('docs/dashboards/agent.json', 'utf8')) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  const asked = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const [, page = ''] = readFileSync('docs/metrics.md', 'utf8').split('\nAlerts ');
  const alerts = [...page.matchAll(/^- `([^`]+)`/gm)].map(([, expr = '']) => expr);
  t.ok(asked.length > 10 && alerts.length > 4, 'both are found');
  const entries = new Map(Object.entries(metricCatalogue));
  for (const expr of [...asked, ...alerts]) {
    const names = [...expr.matchAll(/\b((?:agent|nodejs|process)_\w+)/g)].map(([, name]) =>
      (name ?? '').replace(/_bucket$/, ''),
    );
    t.ok(names.length > 0, expr);
    for (const name of names) t.ok(entries.has(name), name);
    const by = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/));
    const where = [...expr.matchAll(/[{,]\s*(\w+)\s*[=!]/g)].map(([, label = '']) => label);
    for (const label of [...by, ...where].filter((one) => one !== 'le'))
      t.ok(
        names.some((name) => entries.get(name)?.labels.includes(label)),
        `${label} in ${expr}`,
      );
  }
  t.end();
});
