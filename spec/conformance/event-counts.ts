/**
 * What counts of the history must be on every journal: after any commits and however often they were read before, the same
 * as a count of all events that is too simple to be wrong.
 */

import type { Test } from 'tap';
import type { Journal, Write } from '../../actors/store/journal.ts';
import { createKeeper } from '../../actors/store/keeper.ts';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { done } from '../../machines/base/fault.ts';
import { type EventRecord, eventSummary } from '../../machines/webhook/record.ts';
import { createEventStats, type EventStats } from '../../runtime/dispatch/event-stats.ts';
import { timeKey, timeOfKey } from '../../runtime/system/ids.ts';
import { fc } from '../support/property.ts';
import { plainDelivery, plainEvent, plainRun } from '../support/records.ts';

const minuteMs = 60_000;
const routes = ['alpha', 'beta/b'];
const runStatuses = ['queued', 'running', 'delivering', 'delivered', 'partial', 'failed', 'unknown'] as const;

type Step = { readonly afterMs: number; readonly nth: number } & (
  | { readonly kind: 'comes'; readonly route: number; readonly how: 'ignored' | 'runs' | 'batched' }
  | { readonly kind: 'ran'; readonly status: (typeof runStatuses)[number] }
  | { readonly kind: 'waits' | 'removed' | 'counted' }
);

const common = { afterMs: fc.constantFrom(0, 900, 16_000, 5 * minuteMs), nth: fc.nat(40) };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...common,
      kind: fc.constant('comes' as const),
      route: fc.nat(1),
      how: fc.constantFrom('ignored' as const, 'runs' as const, 'batched' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ ...common, kind: fc.constant('ran' as const), status: fc.constantFrom(...runStatuses) }),
  },
  fc.record({ ...common, kind: fc.constantFrom('waits' as const, 'removed' as const, 'counted' as const) }),
  { weight: 2, arbitrary: fc.record({ ...common, kind: fc.constant('counted' as const) }) },
);

export interface CountsSettings {
  readonly open: () => Promise<Journal>;
  readonly histories: number;
}

export function eventCountsContract(t: Test, name: string, { open, histories }: CountsSettings): void {
  t.test(`INS-4 · counts of the history are those of all its events, read once or again and again (${name})`, (t) =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const journal = await open();
        try {
          await play(t, journal, steps);
        } finally {
          await journal.close();
        }
      }),
      { numRuns: histories },
    ),
  );
}

async function play(t: Test, journal: Journal, steps: readonly Step[]): Promise<void> {
  let nowMs = 1_700_000_000_000;
  const keeper = createKeeper({
    open: async () => done(journal),
    owner: 'gateway',
    sessionTtlMs: 86_400_000,
    refused: (fault) => t.fail(fault.message),
  });
  await keeper.open();
  const stats = createEventStats({
    keeper,
    refused: { newestFirst: () => [] },
    seenRun: (_, run) => run,
    runsThatWait: () => new Map(),
    nowMs: () => nowMs,
  });
  const works: string[] = [];
  let batch: string | undefined;
  for (const [index, given] of steps.entries()) {
    nowMs += given.afterMs;
    const key = `${timeKey(nowMs)}${String(index).padStart(4, '0')}aaaaa`;
    const work = works[given.nth % Math.max(1, works.length)];
    const writes: Write[] = [];
    switch (given.kind) {
      case 'comes': {
        if (given.how === 'batched') batch ??= key;
        const led = given.how === 'ignored' ? {} : { work: given.how === 'runs' ? key : (batch ?? key) };
        const status = given.how === 'ignored' ? 'ignored' : given.how === 'runs' ? 'accepted' : 'coalesced';
        const route = routes[given.route] ?? '';
        const value = { ...plainEvent, ...led, status, route, receivedAtMs: nowMs } as const;
        writes.push({ kind: 'put', collection: 'events', key, value });
        if (given.how !== 'ignored') works.push(led.work ?? key);
        if (given.how === 'runs')
          writes.push({ kind: 'put', collection: 'runs', key, value: { ...plainRun, eventKey: key }, dueAtMs: 1 });
        break;
      }
      case 'ran': {
        if (work === undefined) break;
        if (work === batch) batch = undefined;
        const isOver = !['queued', 'running', 'delivering'].includes(given.status);
        const ended = isOver ? { endedAtMs: nowMs } : {};
        const dueAtMs = isOver ? null : 1;
        const run = { ...plainRun, eventKey: work, status: given.status, ...ended };
        writes.push({ kind: 'put', collection: 'runs', key: work, value: run, dueAtMs });
        const status = given.nth % 2 === 0 ? 'waitingToRetry' : 'sending';
        if (given.status === 'delivering')
          writes.push({
            kind: 'put',
            collection: 'deliveries',
            key: work,
            value: { ...plainDelivery, status },
            dueAtMs: 1,
          });
        break;
      }
      case 'removed': {
        // No batch gathers for longer than the history lasts.
        const keepAfterKey = [timeKey(nowMs - 20 * minuteMs), ...(batch === undefined ? [] : [batch])].sort()[0] ?? '';
        await journal.prune({ keepAfterKey, maxBytes: 1e12 });
        // The counts are looked through for what was removed once a minute.
        nowMs += minuteMs;
        break;
      }
      case 'waits':
        nowMs += 40 * minuteMs;
        break;
      case 'counted':
        t.same(await countedBy(stats, '15m', nowMs), await countedSimply(journal, '15m', nowMs));
        break;
    }
    if (writes.length > 0) await keeper.commit(writes);
  }
  nowMs += minuteMs;
  for (const range of ['1h', '24h', '7d'] as const) {
    t.same(await countedBy(stats, range, nowMs), await countedSimply(journal, range, nowMs), range);
  }
}

const widthsMs = { '15m': 15_000, '1h': minuteMs, '24h': 24 * minuteMs, '7d': 168 * minuteMs } as const;
type Range = keyof typeof widthsMs;

/** The counts of each route and bucket that has events. */
type Counted = Record<string, number>;

function beginOf(range: Range, nowMs: number): number {
  const widthMs = widthsMs[range];
  return (Math.floor(nowMs / widthMs) - 59) * widthMs;
}

async function countedBy(stats: EventStats, range: Range, nowMs: number): Promise<Counted> {
  const { all, routes } = await stats.count({ fromMs: beginOf(range, nowMs) });
  const counted: Counted = {};
  for (const { route, buckets } of [...routes, { ...all, route: 'all' }]) {
    for (const { at, delivered, ignored, open, failed } of buckets) {
      for (const [outcome, count] of Object.entries({ delivered, ignored, open, failed })) {
        if (count > 0) counted[`${route} ${Date.parse(at)} ${outcome}`] = count;
      }
    }
  }
  return counted;
}

async function countedSimply(journal: Journal, range: Range, nowMs: number): Promise<Counted> {
  const counted: Counted = {};
  for (const { key, value } of await journal.list('events', { order: 'newest', limit: 1_000 })) {
    const atMs = timeOfKey(key);
    if (atMs < beginOf(range, nowMs)) break;
    const begin = Math.floor(atMs / widthsMs[range]) * widthsMs[range];
    const outcome = outcomeOfStatus(await statusOf(journal, value));
    for (const route of [value.route, 'all']) {
      const name = `${route} ${begin} ${outcome}`;
      counted[name] = (counted[name] ?? 0) + 1;
    }
  }
  return counted;
}

async function statusOf(journal: Journal, event: EventRecord): Promise<string> {
  const run = event.work === undefined ? undefined : (await journal.get('runs', event.work))?.value;
  const delivery = event.work === undefined ? undefined : (await journal.get('deliveries', event.work))?.value;
  return eventSummary(event, run ?? delivery).status;
}
