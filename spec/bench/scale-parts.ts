/**
 * One part of the scale bench in a process of its own: a million claims in the store, ten thousand subscriptions that are
 * read again, a long history that is listed. Is told which by its parent, and answers with rows.
 */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadHome } from '../../actors/config/load-config.ts';
import type { Journal, Write } from '../../actors/store/journal.ts';
import { openLmdbJournal } from '../../actors/store/lmdb-journal.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { claimName, type EventRecord } from '../../machines/webhook/record.ts';
import { connectControl } from '../../runtime/control/client.ts';
import { createIds } from '../../runtime/system/ids.ts';
import { createSourceReader } from '../../runtime/webhook/route-sources.ts';
import { createRouteDesk } from '../../runtime/webhook/route-table.ts';
import { ended, started } from './daemon.ts';
import { median } from './table.ts';
import { measureWards } from './wards.ts';

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
  const [cost] = measureWards([alive]);
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
    { name: `${name}: on disk`, measured: mib(each), target: ids === 1_000_000 ? '150 MB' : '' },
    { name: `${name}: memory grown by`, measured: mib(Math.max(0, grown)), target: ids === 1_000_000 ? '150 MB' : '' },
    { name: `${name}: restored in`, measured: `${openMs.toFixed(0)} ms`, target: ids === 1_000_000 ? '3,000 ms' : '' },
  ];
}

/** Changes one record of the file, and sees how long the loop stands still until its route answers. */
async function measureSubscriptions(records: number, rounds: number): Promise<readonly ScaleFinding[]> {
  writeFileSync(
    join(home, 'config.yaml'),
    'platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: bench-secret-bench-secret}}}\n',
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
  const desk = createRouteDesk(reader.read(loadHome({ home, env: {} })));
  if (desk.find('/webhooks/sub-0') === undefined) throw new Error('no subscription was read');
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
      const found = desk.find(`/webhooks/${name}`) !== undefined;
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
    { name: `${name}: in force after`, measured: `${median(waits, Number).toFixed(1)} ms`, target: '' },
  ];
}

/** Fills the history of a home, then asks the real daemon for it. */
async function measureHistory(events: number): Promise<readonly ScaleFinding[]> {
  writeFileSync(
    join(home, 'config.yaml'),
    'gateway: {history: {max_megabytes: 1000000}}\ninspector: {enabled: false}\n' +
      'platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: bench-secret-bench-secret}}}\n',
  );
  const journal = await opened(homePaths(home).state);
  const nextId = createIds();
  const beganMs = Date.now() - 3_600_000;
  for (let at = 0; at < events; ) {
    const writes: Write[] = [];
    for (; writes.length < 500 && at < events; at += 1) {
      const atMs = beganMs + Math.floor((at / events) * 3_500_000);
      const event = eventAt(at, atMs);
      writes.push({ kind: 'put', collection: 'events', key: nextId(atMs), value: event, expect: 'absent' });
    }
    await committed(journal, writes);
  }
  await journal.close();
  const { child, startMs } = await started(home);
  const name = `${events.toLocaleString('en')} events`;
  const rows: ScaleFinding[] = [{ name: `${name}: daemon listens`, measured: `${startMs.toFixed(0)} ms`, target: '' }];
  const questions = [
    ['newest fifty', { limit: 50 }, 50],
    ['of a busy route', { limit: 50, route: 'busy' }, 50],
    ['of a rare route', { limit: 50, route: 'rare' }, 10],
    ['of a rare status', { limit: 50, status: 'refused' }, 10],
    ['of no such route', { limit: 50, route: 'none' }, 0],
  ] as const;
  const client = await connectControl(homePaths(home).socket);
  for (const [what, params, expected] of questions) {
    const costs: number[] = [];
    let found = 0;
    for (let round = 0; round < 5; round += 1) {
      const began = performance.now();
      found = ((await client?.call('webhook.deliveries', params)) as readonly unknown[]).length;
      costs.push(performance.now() - began);
    }
    const told = found === expected ? '' : ` (${found} of ${expected})`;
    rows.push({
      name: `${name}: ${what}${told}`,
      measured: `${median(costs, Number).toFixed(1)} ms`,
      target: '50 ms',
    });
  }
  client?.close();
  await ended(child, 'SIGTERM');
  return rows;
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
