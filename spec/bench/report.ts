/** Writes `docs/performance.md` and its chart from what the bench measured last: `npm run bench`, then `npm run bench:report`. */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chartOf } from './chart.ts';
import { lastResults, type Results } from './last.ts';
import { presetSizes } from './presets.ts';
import type { Cells, Table } from './table.ts';
import { costsTable, groupsTable, halfLoadTable, nodesTable, scaleTable, watchTable } from './tables.ts';

const docs = new URL('../../../docs/', import.meta.url);
const results = lastResults();
if (results?.receiver === undefined || results.groups === undefined) {
  process.stderr.write('bench:report: nothing was measured yet; run `npm run bench` first\n');
  process.exit(1);
}
/** Who costs so much that beside it no difference could be seen. */
const notDrawn = ['Restate, ingress', 'OpenClaw, hooks', 'n8n, webhook', 'webhook, runs /bin/true'];
const bars = results.receiver
  .filter(({ name }) => !notDrawn.includes(name))
  .map(({ name, cpuMicros, ratio }) => ({ name, value: cpuMicros, note: `${ratio.toFixed(2)}×` }));
writeFileSync(
  new URL('performance.svg', docs),
  chartOf('CPU per signed event, µs, and how many times the bare handler’s', bars),
);
writeFileSync(new URL('performance.md', docs), pageOf(results));
process.stdout.write(`${fileURLToPath(new URL('performance.md', docs))}\n`);

function pageOf({
  machine,
  receiver = [],
  journey,
  halfLoad = [],
  watch = [],
  groups = [],
  nodes = [],
  presets = [],
  scale,
}: Results): string {
  return `# Performance

<!-- Generated: npm run bench, then npm run bench:report. -->

What one signed event of 1.4 KB costs, 64 connections, every subject in its own process, few at a time and in turns under one
load (${machine}).

The bare handlers, hono and aiohttp check the HMAC and parse the JSON; Debian's \`webhook\` checks the HMAC and one field, and
runs a command where both are met. The queue is a fastify handler that checks the HMAC, parses the JSON and answers once BullMQ has
the event in Redis, in memory or (durable) synced to disk; the time of both processes counts, and no worker takes events out.
Restate's ingress checks nothing: it answers once it has written a call of a service that is to begin later. OpenClaw's hooks and
n8n's webhook check a token, no signature: OpenClaw keeps the event in memory for the next heartbeat of its agent, n8n runs a
workflow of that one node and keeps the run. n8n's expressions run by its older engine, which costs less than its default one. OpenClaw and n8n run on Node 24, which they need.

The gateway checks the HMAC, parses the JSON, finds the route, holds the event against filters, fills templates, claims the
delivery id, writes the event and joins its batch, as a statechart that can be watched. A ratio is CPU time beside a bare handler
in the same round: that of uWebSockets.js for the rows on it, that of node:http for all others. Ratios carry over to other
machines, times do not.

![CPU per event](performance.svg)

${markdown(costsTable('receiver', receiver))}

An event until its response is delivered: its run by the built-in echo agent and the delivery to the log, each beside the bare
handler of the same HTTP server (${journey?.machine ?? 'not measured'}). The events per second
are those that were delivered; the waits are those of the answers.

${markdown(costsTable('event, run and delivery', journey?.costs ?? []))}

Waits at half of what each reaches by itself:

${markdown(halfLoadTable(halfLoad))}

A source preset beside the generic scheme (V2): what verifying and reading a request adds, without the parse of the body that
both have, and what its own cryptography costs beyond V2's HMAC. Twilio signs the sorted fields of a form, which are read for that.
ElevenLabs, Calendly and Zoom name no id, so the digest of the body is one; it counts as cryptography.

${markdown([
  ['preset', ...presetSizes.flatMap((size) => [`${size / 1_000} kB: adds µs`, 'own crypto µs'])],
  ...[...new Set(presets.map(({ preset }) => preset))].map((name) => [
    name,
    ...presets
      .filter(({ preset }) => preset === name)
      .flatMap(({ addedMicros, cryptoMicros }) => [addedMicros, cryptoMicros].map(tenths)),
  ]),
])}

Looking on, in memory, beside the same gateway without an inspector:

${markdown(watchTable(watch))}

Coalescing groups, each a live actor with a timer on the wheel that all share:

${markdown(groupsTable(groups))}

Gateways on one Postgres beside one on LMDB, all on this machine with the sender and the database; each event joins one of 50
batches. The processor time of an event is that of all gateways together, and that of the database:

${markdown(nodesTable(nodes))}

What grows (${scale?.machine ?? 'not measured'}):

${markdown(scaleTable(scale?.found ?? []))}

\`npm run bench -- --quick\` measures the receiver, the journey, presets, groups, tool calls and starts in about a minute, without the
peers; \`--only receiver|journey|presets|watch|page|groups|nodes|mcp|start|scale\` measures one part. \`npm run bench:check\`
holds the ratios, and the bytes that a request allocates and leaves behind, against \`spec/bench/baseline.json\` and fails where one has grown;
\`npm run bench:check -- --accept\` makes what it finds the baseline.
`;
}

function markdown([head = [], ...rows]: Table): string {
  const line = (cells: Cells): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

function tenths(micros: number): string {
  return micros.toFixed(1).replace('-0.0', '0.0');
}
