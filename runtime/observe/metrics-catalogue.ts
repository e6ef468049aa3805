/**
 * Every metric with its description, as data: the listener writes them from here, and a spec checks that
 * `docs/metrics.md` lists the same names. Names and labels are stable: dashboards and alerts match on them.
 * @see OBS-1 in docs/specification.md
 */

export interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

export type MetricName = keyof typeof entries;

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
  agent_runs_running: { type: 'gauge', help: 'Runs that hold a place.', labels: [] },
  agent_runs_queued: { type: 'gauge', help: 'Runs in memory that wait for a place.', labels: [] },
  agent_runs_concurrency: { type: 'gauge', help: 'Places for runs, as configured.', labels: [] },
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
    type: 'gauge',
    help: 'How long the event loop was held up since the first reading, by quantile.',
    labels: ['quantile'],
  },
  nodejs_eventloop_utilization: { type: 'gauge', help: 'Share of its time that the event loop was busy.', labels: [] },
} as const satisfies Record<string, MetricEntry>;

export const metricCatalogue: Readonly<Record<MetricName, MetricEntry>> = entries;
