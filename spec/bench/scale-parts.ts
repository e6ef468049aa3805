/**
 * One part of the scale bench in a process of its own: a million claims in the store, ten thousand subscriptions that are
 * read again, a long history that is listed. Its parent names the part, and it answers with rows.
 */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadHome } from '../../actors/config/load-config.ts';
import type { Journal, Write } from '../../actors/store/journal.ts';
import { openLmdbJournal } from '../../actors/store/lmdb-journal.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { claimName, type DeliveryRecord, type EventRecord } from '../../machines/webhook/record.ts';
import { connectControl } from '../../runtime/control/client.ts';
import { createIds } from '../../runtime/system/ids.ts';
import { createSourceReader } from '../../runtime/webhook/route-sources.ts';
import { createRouteTable } from '../../runtime/webhook/route-table.ts';
import { ended, started } from './daemon.ts';
import { secret } from './handler.ts';
import { measurePools } from './pools.ts';
import { median } from './table.ts';

export type ScaleOrder =
  | { readonly kind: 'groups'; readonly alive: number }
  | { readonly kind: 'claims'; readonly ids: number }
  | { readonly kind: 'subscriptions'; readonly records: number; readonly rounds: number }
  | { readonly kind: 'history'; readonly events: number };

export interface ScaleFinding {
  readonly name: string;
  readonly measured: string;
  readonly target: string;
}

const home = mkdtempSync(join(tmpdir(), 'agent-bench-'));
process.once('message', async (order: ScaleOrder) => {
  try {
    process.send?.(await measured(order));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
process.once('disconnect', () => process.exit(0));

function measured(order: ScaleOrder): Promise<readonly ScaleFinding[]> {
  switch (order.kind) {
    case 'groups':
      return measureGroups(order.alive);
    case 'claims':
      return measureClaims(order.ids);
    case 'subscriptions':
      return measureSubscriptions(order.records, order.rounds);
    case 'history':
      return measureHistory(order.events);
  }
}

/** What one group costs to spawn, and to end, while so many others live. */
async function measureGroups(alive: number): Promise<readonly ScaleFinding[]> {
  const [cost] = measurePools([alive]);
  if (cost === undefined) return [];
  const { spawnMicros, endMicros, bytes } = cost;
  const name = `${alive.toLocaleString('en')} groups`;
  return [
    {
      name: `${name}: one more`,
      measured: `${spawnMicros.toFixed(2)} µs`,
      target: 'as with ten',
    },
    {
      name: `${name}: one ends`,
      measured: `${endMicros.toFixed(2)} µs`,
      target: 'as with ten',
    },
    // Of a few, the bytes are those of whatever else the heap did.
    ...(alive < 1_000 ? [] : [{ name: `${name}: each`, measured: `${bytes.toFixed(0)} bytes`, target: '1,500 bytes' }]),
  ];
}

/** Fills a store, closes it, and opens it as the next start would. */
async function measureClaims(ids: number): Promise<readonly ScaleFinding[]> {
  const directory = join(home, 'store');
  const first = await opened(directory);
  const nowMs = Date.now();
  const nextId = createIds();
  let last = '';
  for (let at = 0; at < ids; ) {
    const writes: Write[] = [];
    for (; writes.length < 500 && at < ids; at += 1) {
      last = claimName('default', 'held', randomUUID());
      const value = { eventKey: nextId(nowMs + at / 1_000) };
      writes.push({ kind: 'claim', name: last, value, forMs: 3_600_000 + at });
    }
    await committed(first, writes);
  }
  await first.close();
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const began = performance.now();
  const again = await opened(directory);
  const known = again.claimed(last) !== undefined;
  const openMs = performance.now() - began;
  globalThis.gc?.();
  const grown = process.memoryUsage.rss() - before;
  await again.close();
  if (!known) throw new Error('the store has forgotten a claim');
  const each = statSync(join(directory, 'data.mdb')).size;
  const name = `${ids.toLocaleString('en')} delivery ids`;
  return [
    { name: `${name}: on disk`, measured: mib(each), target: '' },
    { name: `${name}: memory grown by`, measured: mib(Math.max(0, grown)), target: ids === 1_000_000 ? '150 MB' : '' },
    { name: `${name}: restored in`, measured: `${openMs.toFixed(0)} ms`, target: ids === 1_000_000 ? '3,000 ms' : '' },
  ];
}

/** Changes one record of the file, and sees how long the loop stands still until its route answers. */
async function measureSubscriptions(records: number, rounds: number): Promise<readonly ScaleFinding[]> {
  writeFileSync(
    join(home, 'config.yaml'),
    `platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: ${secret}}}}\n`,
  );
  const path = homePaths(home).subscriptions;
  const record = (index: number) => ({
    description: `subscription ${index}`,
    events: ['push', 'pull_request'],
    secret: randomUUID(),
    prompt: `{repository.full_name} {action} ${index}`,
    filters: [{ field: 'action', in: ['opened', 'reopened'] }],
    deliver: 'log',
    created_at: '2026-01-01T00:00:00Z',
  });
  const all = Object.fromEntries(Array.from({ length: records }, (_, index) => [`sub-${index}`, record(index)]));
  writeFileSync(path, JSON.stringify(all, null, 2));
  const reader = createSourceReader({ log: { log: () => {}, warnOnce: () => {} }, learn: () => {} });
  const began = performance.now();
  const table = createRouteTable(reader.read(loadHome({ home, env: {} })));
  if (table.find('/webhooks/sub-0') === undefined) throw new Error('no subscription was read');
  const firstMs = performance.now() - began;
  const pauses: number[] = [];
  const waits: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const name = `fresh-${round}`;
    writeFileSync(path, JSON.stringify({ ...all, [name]: record(round) }, null, 2));
    await turn();
    const changedAt = performance.now();
    let longest = 0;
    for (let lastAt = changedAt; ; ) {
      const found = table.find(`/webhooks/${name}`) !== undefined;
      await turn();
      longest = Math.max(longest, performance.now() - lastAt);
      lastAt = performance.now();
      if (found) break;
    }
    pauses.push(longest);
    waits.push(performance.now() - changedAt);
  }
  const name = `${records.toLocaleString('en')} subscriptions`;
  return [
    { name: `${name}: first read`, measured: `${firstMs.toFixed(0)} ms`, target: '' },
    { name: `${name}: read again, pause`, measured: `${median(pauses, Number).toFixed(1)} ms`, target: '20 ms' },
    { name: `${name}: in force after`, measured: `${median(waits, Number).toFixed(1)} ms`, target: '3,000 ms' },
  ];
}

/** Fills the history of a home, then asks the real daemon for it. */
async function measureHistory(events: number): Promise<readonly ScaleFinding[]> {
  writeFileSync(
    join(home, 'config.yaml'),
    'gateway: {history: {max_megabytes: 1000000}}\ninspector: {enabled: false}\n' +
      `platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: ${secret}}}}\n`,
  );
  const journal = await opened(homePaths(home).state);
  const nextId = createIds();
  const beganMs = Date.now() - 3_600_000;
  let firstKept = '';
  for (let at = 0; at < events; ) {
    const writes: Write[] = [];
    for (; writes.length < 500 && at < events; at += 1) {
      const atMs = beganMs + Math.floor((at / events) * 3_500_000);
      const key = nextId(atMs);
      writes.push({ kind: 'put', collection: 'events', key, value: eventAt(at, atMs), expect: 'absent' });
      if (at % 10 === 0) {
        const value = deliveryAt(at, key, atMs);
        writes.push({ kind: 'put', collection: 'deliveries', key, value, expect: 'absent' });
      }
      if (at === Math.floor(events / 100)) firstKept = key;
    }
    await committed(journal, writes);
  }
  await journal.close();
  const { child, startMs } = await started(home);
  const name = `${events.toLocaleString('en')} events`;
  const rows: ScaleFinding[] = [
    { name: `${name}: daemon listens`, measured: `${startMs.toFixed(0)} ms`, target: '1,000 ms' },
  ];
  const since = new Date(beganMs + 3_400_000).toISOString();
  const questions = [
    ['newest fifty', 'webhook.deliveries', { limit: 50 }, 50],
    ['of a busy route', 'webhook.deliveries', { limit: 50, route: 'busy' }, 50],
    ['of a rare route', 'webhook.deliveries', { limit: 50, route: 'rare' }, 10],
    ['of a rare status', 'webhook.deliveries', { limit: 50, status: 'refused' }, 10],
    ['of no such route', 'webhook.deliveries', { limit: 50, route: 'none' }, 0],
    ['since a time', 'webhook.deliveries', { limit: 50, since }, 50],
    ['deliveries to a busy target', 'deliveries.list', { limit: 50, target: 'log' }, 50],
    ['deliveries to a rare target', 'deliveries.list', { limit: 50, target: 'telegram' }, 10],
  ] as const;
  const client = await connectControl(homePaths(home).socket);
  for (const [what, method, params, expected] of questions) {
    const costs: number[] = [];
    let found = 0;
    for (let round = 0; round < 5; round += 1) {
      const began = performance.now();
      found = ((await client?.call(method, params)) as readonly unknown[]).length;
      costs.push(performance.now() - began);
    }
    const missing = found === expected ? '' : ` (${found} of ${expected})`;
    rows.push({
      name: `${name}: ${what}${missing}`,
      measured: `${median(costs, Number).toFixed(1)} ms`,
      target: '50 ms',
    });
  }
  client?.close();
  await ended(child, 'SIGTERM');
  return [...rows, ...(await measurePrune(name, firstKept))];
}

/** Removes the oldest hundredth, and sees how long the loop stands still. */
async function measurePrune(name: string, keepAfterKey: string): Promise<readonly ScaleFinding[]> {
  const journal = await opened(homePaths(home).state);
  let maxMs = 0;
  let isOver = false;
  const watching = (async () => {
    for (let lastMs = performance.now(); !isOver; ) {
      await turn();
      const nowMs = performance.now();
      maxMs = Math.max(maxMs, nowMs - lastMs);
      lastMs = nowMs;
    }
  })();
  const beganMs = performance.now();
  const pruned = await journal.prune({ keepAfterKey, maxBytes: Number.MAX_SAFE_INTEGER });
  const tookMs = performance.now() - beganMs;
  isOver = true;
  await watching;
  await journal.close();
  if (!pruned.ok) throw new Error(pruned.fault.message);
  const records = `${pruned.value.toLocaleString('en')} records pruned`;
  return [
    { name: `${name}: ${records}`, measured: `${(tookMs / 1_000).toFixed(1)} s`, target: '' },
    { name: `${name}: longest pause of it`, measured: `${maxMs.toFixed(1)} ms`, target: '20 ms' },
  ];
}

/** Mostly to the log; ten to another target, the oldest of all. */
function deliveryAt(index: number, eventKey: string, atMs: number): DeliveryRecord {
  return {
    eventKey,
    deliveryId: `id-${index}`,
    profile: 'default',
    route: 'busy',
    event: 'push',
    target: index < 100 ? 'telegram' : 'log',
    status: 'delivered',
    text: 'opened',
    extra: {},
    queuedAtMs: atMs,
  };
}

/** Mostly one route's; ten of a rare one and ten of a rare status, the oldest of all. */
function eventAt(index: number, atMs: number): EventRecord {
  const rare = index < 10;
  const odd = index >= 10 && index < 20;
  return {
    deliveryId: `id-${index}`,
    route: rare ? 'rare' : index % 2 === 0 ? 'busy' : `route-${index % 100}`,
    profile: 'default',
    event: 'push',
    status: odd ? 'refused' : 'ignored',
    receivedAtMs: atMs,
    headers: { 'content-type': 'application/json', 'user-agent': 'bench' },
    body,
  };
}

const body = JSON.stringify({ action: 'opened', padding: 'x'.repeat(600) });

async function opened(directory: string): Promise<Journal> {
  const journal = await openLmdbJournal({ directory });
  if (!journal.ok) throw new Error(journal.fault.message);
  return journal.value;
}

async function committed(journal: Journal, writes: readonly Write[]): Promise<void> {
  const verdict = await journal.commit(writes);
  if (verdict.kind !== 'committed') throw new Error(`a commit was answered: ${verdict.kind}`);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function mib(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MiB`;
}
