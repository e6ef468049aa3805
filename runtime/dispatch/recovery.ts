/**
 * Recovers the work of the journal: deliveries that a crash interrupted, runs that waited, ran or were about to deliver,
 * collecting batches. Work that must not be repeated is closed with its true outcome instead.
 * @see DUR-1 and COA-3 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '../../actors/ports.ts';
import type { Collection, Journal, Put, StoredRecord, Taken, Write } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecordChange } from '../../actors/store/record-writer.ts';
import type { Batches } from '../../actors/webhook/batches.ts';
import type { ChartRef } from '../../machines/base/pool.ts';
import type { agentRunMachine } from '../../machines/webhook/agent-run.machine.ts';
import { interruptedDelivery, interruptedRun } from '../../machines/webhook/interruption.ts';
import { type DeliveryRecord, isOver, orderOf } from '../../machines/webhook/record.ts';
import { deliveryQueue, fullQueues, type Memory, roomFor } from '../../machines/webhook/work-queue.ts';
import type { OlderOnDisk } from './older-on-disk.ts';
import type { QueueOrder } from './queue-order.ts';
import { type SettleRun, writeEnded } from './responses.ts';
import { logUnforeseen } from './work-log.ts';
import { type RecordPorts, readAgain } from './written.ts';

export interface ResumePorts extends RecordPorts {
  readonly batches: Batches;
  readonly settleRun: SettleRun;
  /** The current time, unaffected when the clock is set back: what was due stays due. */
  readonly dueMs: () => number;
  readonly log: Logger;
  readonly recovered: (taken: Taken<'deliveries' | 'groups' | 'runs'>) => void;
  readonly onInterrupted: (profile: string) => 'rerun' | 'report';
  /** How long the target recognizes a repeated delivery. */
  readonly deduplicatesForMs: (record: DeliveryRecord) => number;
  /** Reserves the chat of a delivery that waits for its next attempt. */
  readonly hold: (record: DeliveryRecord) => void;
  /** Numbers deliveries, and continues after those of the journal. */
  readonly order: Pick<QueueOrder, 'last' | 'saw'>;
  /** Keeps the order of chats with deliveries that find no room. */
  readonly older: Pick<OlderOnDisk, 'note' | 'look'>;
  /** How many runs may be in memory. */
  readonly bound: () => number;
  /** How many more runs of a queue may be in memory; by default of one that has none there. */
  readonly room: (queue?: string) => number;
  readonly inMemory: (name: 'runs' | 'deliveries') => Memory;
  /**
   * Aborts when the gateway drains or crashes. Nothing is taken or begun after that; what this session has already taken
   * is recovered by the next start.
   */
  readonly signal: () => AbortSignal;
}

type TakeQuery = Parameters<Journal['take']>[1];

/** How much is taken from the journal at a time. */
export const sliceSize = 500;
/** How much is recovered in one turn of the event loop: about ten milliseconds of work. */
const turnSize = 50;

/**
 * Recovers everything; what finds no room stays on disk for a later check. Resolves with the queues of runs that have
 * none.
 */
export async function resumeWork(ports: ResumePorts): Promise<readonly string[]> {
  const signal = ports.signal();
  if (ports.keeper.session() === undefined) return [];
  await ports.keeper.seekLead();
  if (ports.keeper.leads()) await takeLead(ports, signal);
  const left = await recoverRuns(ports, signal);
  await recoverGroups(ports, signal);
  if (!signal.aborted) await ports.older.look();
  return left;
}

/** Takes every free delivery, in order. */
async function takeLead(ports: ResumePorts, signal: AbortSignal): Promise<void> {
  const journal = ports.keeper.journal();
  if (journal !== undefined) await noteAll(journal, ports, signal);
  await takeDeliveries(ports, signal, Number.MAX_SAFE_INTEGER);
}

/**
 * Takes deliveries that became due while they were only in the journal; all of them if this gateway has just become the
 * leader.
 */
export async function recoverDeliveries(ports: ResumePorts, signal = ports.signal()): Promise<void> {
  if (ports.keeper.session() === undefined) return;
  if (await ports.keeper.seekLead()) await takeLead(ports, signal);
  // An ordered delivery has its number as due time, which may be ahead of a clock that was set back.
  await takeDeliveries(ports, signal, Math.max(ports.dueMs(), ports.order.last()));
  if (!signal.aborted) await ports.older.look();
}

async function takeDeliveries(ports: ResumePorts, signal: AbortSignal, dueBeforeMs: number): Promise<void> {
  const taken: StoredRecord<'deliveries'>[] = [];
  while (!signal.aborted) {
    const memory = withMore(ports.inMemory('deliveries'), taken);
    const limit = Math.min(sliceSize, roomFor(memory));
    if (limit <= 0) break;
    const slice = await take('deliveries', { limit, without: fullQueues(memory), dueBeforeMs }, ports);
    taken.push(...slice);
    if (slice.length < limit) break;
  }
  // The journal returns them by due time; a chat needs them in queue order, after the one that it waits for.
  taken.sort((one, other) => orderOf(one.value) - orderOf(other.value));
  await handleEach(taken, { ports, signal }, ({ value: record }) => {
    if (record.status === 'waitingToRetry') ports.hold(record);
  });
  await handleEach(taken, { ports, signal }, async (stored) => {
    await resumeDelivery(stored, ports);
  });
}

/** As it is once deliveries that were taken are in memory too. */
function withMore({ total, queues, ...memory }: Memory, taken: readonly StoredRecord<'deliveries'>[]): Memory {
  const sums = new Map(queues);
  for (const { value } of taken) sums.set(deliveryQueue(value), (sums.get(deliveryQueue(value)) ?? 0) + 1);
  return { ...memory, total: total + taken.length, queues: sums };
}

/** Records every waiting delivery, before any is taken. Rejects if one cannot be read: its chat could be overtaken. */
async function noteAll(journal: Journal, ports: ResumePorts, signal: AbortSignal): Promise<void> {
  const retried: { readonly key: string; readonly order: number }[] = [];
  for await (const page of pagesOf(journal, (await journal.dueKeys('deliveries')).reverse(), signal)) {
    await handleEach(page, { ports, signal }, ({ key, value, heldBy }) => {
      const order = orderOf(value);
      ports.order.saw(order);
      if (value.status === 'waitingToRetry') retried.push({ key, order });
      else ports.older.note(key, value, ports.keeper.isElsewhere(heldBy));
    });
  }
  // The oldest first, because a chat is reserved for one at a time.
  retried.sort((one, other) => one.order - other.order);
  const keys = retried.map(({ key }) => key);
  for await (const page of pagesOf(journal, keys, signal)) {
    await handleEach(page, { ports, signal }, ({ key, value }) => ports.older.note(key, value));
  }
}

/** Reads the records of a page at once: a database may be far away, and nothing is sent meanwhile. */
async function* pagesOf(
  journal: Journal,
  keys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly StoredRecord<'deliveries'>[]> {
  for (let from = 0; from < keys.length && !signal.aborted; from += turnSize) {
    if (from > 0) await turn();
    const found = await Promise.all(keys.slice(from, from + turnSize).map((key) => journal.get('deliveries', key)));
    yield found.flatMap((stored) => (stored === undefined ? [] : [stored]));
  }
}

/**
 * Handles records in order until the signal aborts, and lets other work run in between. If one throws, this is logged,
 * and the others continue. The record is left to the next start; on a shared journal, which may not have answered, it is
 * handled again, because no gateway finds it while this session holds it.
 */
async function handleEach<Item extends { readonly key: string }>(
  items: readonly Item[],
  { ports, signal }: { readonly ports: Pick<ResumePorts, 'keeper' | 'log'>; readonly signal: AbortSignal },
  handle: (item: Item) => Promise<void> | void,
): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % turnSize === 0) await turn();
    if (signal.aborted) return;
    try {
      await handle(item);
    } catch (thrown) {
      logUnforeseen(ports.log, `the recovery of ${item.key}`, thrown);
      if (ports.keeper.isShared()) void readAgain(async () => signal.aborted || handle(item));
    }
  }
}

/** Takes waiting runs from the journal while there is room for them. Resolves with the queues that were left out. */
export async function recoverRuns(ports: ResumePorts, signal = ports.signal()): Promise<readonly string[]> {
  for (;;) {
    const without = fullQueues(ports.inMemory('runs'));
    // In parts, so that gateways that check at the same time share the waiting runs.
    const limit = Math.min(sliceSize, Math.ceil(ports.bound() / 4), ports.room());
    if (limit <= 0 || signal.aborted) return without;
    const taken = await take('runs', { limit, without }, ports);
    await handleEach(taken, { ports, signal }, (stored) => resumeRun(stored, ports));
    if (taken.length < limit) return without;
  }
}

/** Takes batches that no gateway holds. */
export async function recoverGroups(ports: ResumePorts, signal = ports.signal()): Promise<void> {
  while (!signal.aborted) {
    const taken = await take('groups', { limit: sliceSize }, ports);
    await handleEach(taken, { ports, signal }, (stored) => resumeGroup(stored, ports));
    if (taken.length < sliceSize) return;
  }
}

/**
 * Ends the runs in progress here that another gateway has adopted because this gateway's session expired, also those that it
 * has ended or left since. Other lost work is detected at its next write.
 */
export async function endLostRuns(ports: ResumePorts): Promise<void> {
  const isRunning = (run: ChartRef<typeof agentRunMachine>): boolean => run.getSnapshot().value === 'running';
  for (const [key, run] of [...ports.pools().runs].filter(([, one]) => isRunning(one))) {
    const stored = await ports.keeper.journal()?.get('runs', key);
    const isLost = stored !== undefined && (stored.heldBy === undefined || ports.keeper.isElsewhere(stored.heldBy));
    // It may have ended here during the read.
    if (isLost && isRunning(run)) run.send({ type: 'work.lost' });
  }
}

/** Empty if the journal is not open, or does not answer. */
async function take<In extends 'deliveries' | 'groups' | 'runs'>(
  collection: In,
  // A batch is due in the future, but its timer runs here, so it is taken now.
  { dueBeforeMs = Number.MAX_SAFE_INTEGER, ...which }: { readonly limit: number } & Partial<TakeQuery>,
  ports: ResumePorts,
): Promise<Taken<In>[]> {
  const journal = ports.keeper.journal();
  const session = ports.keeper.session();
  if (journal === undefined || session === undefined) return [];
  const query = { ...which, session, dueBeforeMs };
  let taken = await journal.take(collection, query);
  if (!taken.ok && taken.fault.code === 'journal-session-ended' && (await ports.keeper.revive())) {
    taken = await journal.take(collection, query);
  }
  if (taken.ok) {
    for (const one of taken.value) ports.recovered(one);
    return taken.value;
  }
  ports.keeper.refused(taken.fault);
  return [];
}

/** A delivery that was taken by itself is spawned here; one that was taken with its run is spawned by the run. */
async function resumeDelivery(
  stored: StoredRecord<'deliveries'>,
  ports: ResumePorts,
  takenWith?: 'run',
): Promise<'ended' | 'goesOn'> {
  const { key } = stored;
  const record = stored.value;
  const nowMs = ports.nowMs();
  if (ports.pools().deliveries.get(key) !== undefined) {
    await regain(stored.version, putOf('deliveries', stored), ports);
    return 'goesOn';
  }
  ports.writer.adopt('deliveries', key, stored.version);
  const next = interruptedDelivery(record, { nowMs, deduplicatesForMs: ports.deduplicatesForMs(record) });
  if (isOver(next)) {
    const ended = { ...next, endedAtMs: nowMs };
    const verdict = await writeEnded(key, ended, ports);
    if (verdict.kind === 'refused') throw new Error(verdict.reason);
    ports.log.log('warn', 'delivery cut off when the gateway ended: its outcome is unknown and it is not sent again', {
      delivery_id: record.deliveryId,
      delivery: key,
      route: record.route,
      target: record.target,
      reason: ended.reason,
    });
    return 'ended';
  }
  if (next !== record) await put(ports, { collection: 'deliveries', key, value: next, dueAtMs: orderOf(next) });
  if (takenWith === undefined) ports.pools().open({ kind: 'direct', key, record: next });
  return 'goesOn';
}

async function resumeRun(stored: Taken<'runs'>, ports: ResumePorts): Promise<void> {
  const record = stored.value;
  const { key, deliveries = [] } = stored;
  if (ports.pools().runs.get(key) !== undefined) {
    await regain(stored.version, putOf('runs', stored), ports);
    for (const one of deliveries) await regain(one.version, putOf('deliveries', one), ports);
    return;
  }
  if (ports.keeper.isShared() && record.status === 'delivering' && deliveries.length > 0) {
    await leaveToLeader(stored, deliveries, ports);
    return;
  }
  ports.writer.adopt('runs', key, stored.version);
  for (const one of deliveries) {
    if (one.value.status === 'waitingToRetry') ports.hold(one.value);
    // The end of the run is written with that of its delivery.
    if ((await resumeDelivery(one, ports, 'run')) === 'ended' && (await isFinished(key, ports))) return;
  }
  const delivery = (await ports.keeper.journal()?.get('deliveries', key))?.value;
  const next = interruptedRun(record, delivery, ports.onInterrupted(record.profile));
  // A run that has only waited has no line: under overload every one of a route waits on disk.
  if (record.status !== 'queued') {
    const event = (await ports.keeper.journal()?.get('events', record.eventKey))?.value;
    ports.log.log('info', `run taken up again: ${next.status}`, {
      delivery_id: event?.deliveryId,
      run: key,
      route: record.route,
      attempt: record.attempt,
    });
  }
  ports.pools().open({ kind: 'run', key, record: next });
  const { group } = next;
  const groups = ports.pools().groups;
  if (group !== undefined && groups.get(group) === undefined) {
    const { profile, route } = next;
    groups.spawn(group, { key: group, profile, route, inFlight: key, atMs: ports.nowMs() });
  }
}

/** Closes a run that was delivering in an unshared journal: in a shared one a run does not wait for its delivery. */
async function leaveToLeader(
  { key, value, version }: StoredRecord<'runs'>,
  deliveries: readonly StoredRecord<'deliveries'>[],
  { keeper, nowMs }: ResumePorts,
): Promise<void> {
  const closed = { ...value, endedAtMs: nowMs() };
  await commit(keeper, [
    { kind: 'put', collection: 'runs', key, value: closed, expect: version },
    ...deliveries.map((one): Write => ({ ...putOf('deliveries', one), expect: one.version })),
  ]);
}

/**
 * Keeps work whose chart still runs here, taken again after its session expired. If another gateway has written it since,
 * it is released, and recovered once the chart has noticed and ended.
 */
async function regain(
  version: number,
  free: Put<'runs'> | Put<'deliveries'>,
  { keeper, writer }: ResumePorts,
): Promise<void> {
  if (!writer.regain(free.collection, free.key, version)) await commit(keeper, [{ ...free, expect: version }]);
}

/** Rejects if the journal cannot be written. */
async function commit(keeper: JournalKeeper, writes: readonly Write[]): Promise<void> {
  const verdict = await keeper.commit(writes);
  if (verdict.kind === 'unavailable') throw new Error(verdict.fault.message);
}

const putOf = <In extends Collection>(
  collection: In,
  { key, value, dueAtMs }: StoredRecord<In>,
): { kind: 'put'; collection: In; key: string; value: StoredRecord<In>['value']; dueAtMs: number | undefined } => ({
  kind: 'put',
  collection,
  key,
  value,
  dueAtMs,
});

async function isFinished(run: string, { keeper }: ResumePorts): Promise<boolean> {
  return (await keeper.journal()?.get('runs', run))?.dueAtMs === undefined;
}

async function resumeGroup(stored: StoredRecord<'groups'>, ports: ResumePorts): Promise<void> {
  const record = stored.value;
  ports.batches.adopt(stored.key, record, stored.version);
  const { profile, route, burst } = record;
  ports.pools().open({ kind: 'group', key: stored.key, profile, route, burst });
}

async function put(ports: ResumePorts, change: RecordChange): Promise<void> {
  const verdict = await ports.writer.write([change]);
  if (verdict.kind === 'refused') ports.log.log('error', verdict.reason, { key: change.key });
}
