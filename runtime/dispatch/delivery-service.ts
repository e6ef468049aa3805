/**
 * Actions by people on deliveries: show them, retry one that waits or failed, drop one for good. A delivery that may have
 * arrived is sent again only with `force`.
 * @see DLV-4, DUR-1 and CLI-2 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { StoredRecord, Write } from '../../actors/store/journal.ts';
import { collectionOf } from '../../actors/store/record-writer.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import { failedAtMs } from '../../machines/dispatch/failure-groups.ts';
import { asSeen, type DeliveryRecord, deliveryRow, isOver } from '../../machines/webhook/record.ts';
import { responseKeys } from '../../machines/webhook/responses.ts';
import { noticeKey } from '../../machines/webhook/run-notices.ts';
import type {
  Bulk,
  DeliveryQuery,
  DeliveryService,
  OutgoingRow,
  Sweep,
  SweepQuery,
} from '../control/contract/deliveries.ts';
import { Refusal } from '../control/contract/refusal.ts';
import { deliveriesLike } from './history.ts';
import { latest, meantKey } from './meant-key.ts';
import { newestFirst } from './newest-first.ts';
import type { Platforms } from './platforms.ts';
import type { SettleRun } from './responses.ts';
import { chartSettled, type RecordPorts } from './written.ts';

interface DeliveryServicePorts extends RecordPorts {
  readonly platforms: Pick<Platforms, 'check' | 'pauseOf' | 'placeOf' | 'release' | 'rows'>;
  readonly settleRun: SettleRun;
  /** The key of a delivery by the id of its event; undefined if the event is unknown. */
  readonly keyOf: (id: string) => Promise<string | undefined>;
  readonly redact: <Given extends object>(record: Given) => Given;
  /** False while there are so many deliveries in memory that this one waits on disk, from where it is recovered. */
  readonly hasRoom: (record: DeliveryRecord) => boolean;
}

type Choice = Omit<DeliveryQuery, 'limit'>;
type Act = (found: Found) => Promise<void>;

/** How many records are read, and changed, at a time. */
const pageSize = 200;
/** Maximum number of refusals in an answer: a full disk refuses all for the same reason. */
const maxRefusals = 20;

function noneOfSeveral(thrown: unknown): undefined {
  if (!(thrown instanceof Refusal && thrown.code === 'id-ambiguous')) throw thrown;
}

interface Found {
  readonly key: string;
  readonly stored: StoredRecord<'deliveries'>;
  readonly record: DeliveryRecord;
}

export function createDeliveryService(ports: DeliveryServicePorts): DeliveryService {
  const { keeper, writer, pools, redact } = ports;
  const { find, findOpen, matching, inOrder, rowOf } = createDeliveryFinder(ports);

  async function commit({ key, stored }: Found, next: DeliveryRecord): Promise<void> {
    if (stored.dueAtMs !== undefined && keeper.isElsewhere(stored.heldBy))
      throw new Refusal('delivery-under-way', `delivery "${key}" is at another gateway, which may be sending it now`);
    const over = isOver(next);
    const nowMs = ports.nowMs();
    const session = over || !ports.hasRoom(next) ? undefined : keeper.session();
    const write: Write = {
      kind: 'put',
      collection: 'deliveries',
      key,
      value: over ? { ...next, endedAtMs: nowMs } : next,
      expect: stored.version,
      dueAtMs: over ? null : nowMs,
      ...(session === undefined ? {} : { heldBy: session }),
    };
    const verdict = await ports.settleRun(next, async (run) => {
      const writes = [write, ...run];
      const found = await keeper.commit(writes);
      return found.kind === 'stale' ? { ...found, ...collectionOf(writes[found.index]) } : found;
    });
    if (verdict.kind === 'unavailable') throw new Refusal('journal-unavailable', verdict.fault.message);
    if (verdict.kind !== 'committed') throw changed(key);
    if (over) ports.platforms.release(next);
    if (session === undefined) return;
    writer.adopt('deliveries', key, stored.version + 1);
    pools().deliveries.spawn(key, { key, record: next, atMs: nowMs });
  }

  async function retry(found: Found, force: boolean): Promise<void> {
    const { key, record } = found;
    ports.platforms.check(record.profile, record.target);
    const living = pools().deliveries.get(key);
    if (living !== undefined) {
      if (record.status === 'sending') throw new Refusal('delivery-under-way', `delivery "${key}" is being sent now`);
      if (living.getSnapshot().context.record.status === 'dropped') throw changed(key);
      living.send({ type: 'delivery.retry' });
      return;
    }
    if (record.status === 'delivered') throw new Refusal('delivery-settled', `delivery "${key}" has arrived already`);
    if (record.status === 'unknown' && !force)
      throw new Refusal(
        'delivery-unsure',
        `delivery "${key}" may have arrived (${record.reason ?? 'its outcome is unknown'}); look at the target, then retry with --force or drop it`,
      );
    await commit(found, putBack(record, ports.nowMs()));
  }

  async function drop(found: Found, note?: string): Promise<void> {
    const { key, record } = found;
    const noted = note === undefined ? {} : { note };
    const living = pools().deliveries.get(key);
    if (living !== undefined) {
      const state = living.getSnapshot().value;
      const isWaiting = state === 'queued' || state === 'waitingToRetry';
      if (!isWaiting && living.getSnapshot().context.record.status !== 'dropped')
        throw new Refusal('delivery-under-way', `delivery "${key}" is being sent now`);
      // A chart that cannot write its outcome does not end.
      const dropped = chartSettled(living, ['unrecorded']);
      if (isWaiting) living.send({ type: 'delivery.drop', ...noted });
      await dropped;
      const ended = living.getSnapshot().value;
      if (ended === 'dropped') return;
      if (ended !== 'unrecorded') throw changed(key);
      throw new Refusal(
        'journal-unavailable',
        `delivery "${key}" waits to be dropped: the journal cannot write that now; it is sent after all if the gateway ends before it can`,
      );
    }
    if (record.status === 'delivered') throw new Refusal('delivery-settled', `delivery "${key}" has arrived already`);
    if (record.status !== 'dropped') await commit(found, { ...record, ...noted, status: 'dropped' });
  }

  /** Records that a person has seen at the target that it arrived. */
  async function confirm(found: Found, note?: string): Promise<void> {
    const { key, record } = found;
    if (record.status !== 'unknown')
      throw new Refusal(
        'delivery-settled',
        `delivery "${key}" is ${record.status}; only an unconfirmed one is confirmed`,
      );
    const { reason: _, unsureSinceMs: __, ...rest } = record;
    await commit(found, { ...rest, status: 'delivered', note: note ?? 'a person confirmed that it arrived' });
  }

  async function each(ids: readonly string[], act: Act): Promise<Bulk> {
    const done: string[] = [];
    const skipped: { id: string; why: string }[] = [];
    for (let from = 0; from < ids.length; from += pageSize) {
      const acted = await actOnAll(ids.slice(from, from + pageSize), String, async (id) => act(await find(id)));
      done.push(...acted.done);
      skipped.push(...acted.refusals.map(({ id, error }) => ({ id, why: error })));
      await turn();
    }
    return { done, skipped };
  }

  async function sweep(queries: readonly Choice[], act: Act, order: 'oldest' | 'newest' = 'oldest'): Promise<Sweep> {
    let swept: Sweep = { done: 0, left: 0, refusals: [] };
    for await (const page of inOrder(queries, order)) {
      // A long history must not block other work.
      await turn();
      swept = joined(swept, await actOn(page, act));
    }
    return swept;
  }

  async function actOnId(id: string, act: Act): Promise<OutgoingRow | Sweep> {
    const [found, ...others] = await findOpen(id);
    if (others.length > 0) return actOn([found, ...others], act);
    await act(found);
    return rowOf(await find(found.key));
  }

  return {
    list: async (query) => (await matching(query)).map(rowOf),
    async show(id) {
      const found = await find(id);
      return { ...rowOf(found), record: redact(found.stored.value) };
    },
    retry: (id, { force }) => actOnId(id, (one) => retry(one, force)),
    drop: (id, note) => actOnId(id, (one) => drop(one, note)),
    retryAll: (query, { force }) =>
      sweep(force ? [sweptOf(query), { ...query, status: 'unknown' }] : [sweptOf(query)], (one) => retry(one, force)),
    dropAll: (query, note) => {
      const swept = sweptOf(query);
      return sweep([swept], (one) => drop(one, note), swept.status === 'deadLettered' ? 'oldest' : 'newest');
    },
    retryEach: (ids, { force }) => each(ids, (one) => retry(one, force)),
    dropEach: (ids, note) => each(ids, (one) => drop(one, note)),
    confirmEach: (ids, note) => each(ids, (one) => confirm(one, note)),
    targets: () => ports.platforms.rows().map(redact),
  };
}

/** The ways to the deliveries of the journal, and their rows. */
function createDeliveryFinder({ keeper, pools, redact, platforms, keyOf }: DeliveryServicePorts) {
  async function find(id: string): Promise<Found> {
    const journal = keeper.journal();
    // Events without a delivery may begin alike, so that several of them do not mean several deliveries.
    const key = id === latest ? id : ((await keyOf(id).catch(noneOfSeveral)) ?? id);
    // An event whose run failed has no delivery except the notice.
    let stored: StoredRecord<'deliveries'> | undefined;
    for (const one of [id, key, noticeKey(key)]) stored ??= await journal?.get('deliveries', one);
    stored ??= await journal?.get('deliveries', (await meantKey(journal, 'deliveries', id)) ?? id);
    if (stored === undefined)
      throw new Refusal(
        'delivery-unknown',
        `no delivery "${id}" is in the history; \`agent deliveries list\` lists them`,
      );
    return foundIn(stored);
  }

  /**
   * Returns the deliveries of an id. For an event with several, those that have ended without arriving. The first of them
   * has the event's id, so it is returned alone unless it has arrived (DLV-7).
   */
  async function findOpen(id: string): Promise<readonly [Found, ...Found[]]> {
    const found = await find(id);
    const { key, record } = found;
    const isEvent = key === record.runKey && (id !== key || record.status === 'delivered');
    if (record.of === undefined || !isEvent) return [found];
    const journal = keeper.journal();
    const all = await Promise.all(responseKeys(key, record.of).map((one) => journal?.get('deliveries', one)));
    const others = all.flatMap((stored) => (stored === undefined ? [] : [foundIn(stored)]));
    const open = others.filter(({ record }) => record.status !== 'delivered' && record.status !== 'dropped');
    const [ended, ...more] = open.filter(({ record }) => isOver(record));
    return ended === undefined ? [open[0] ?? found] : [ended, ...more];
  }

  function foundIn(stored: StoredRecord<'deliveries'>): Found {
    const { key, value } = stored;
    return { key, stored, record: asSeen(value, pools().deliveries.get(key)?.getSnapshot().value) };
  }

  async function matching(query: DeliveryQuery): Promise<Found[]> {
    const journal = keeper.journal();
    return newestFirst(journal, await deliveriesLike(journal, query), (stored) => {
      const found = foundIn(stored);
      return fits(found.record, query) ? found : undefined;
    });
  }

  const rowOf = ({ key, record }: Found): OutgoingRow =>
    redact({ ...deliveryRow(key, record, platforms.placeOf(record)), ...pauseIn(record) });

  /** The reason and the time of the platform's pause, if the delivery waits for one. */
  function pauseIn(record: DeliveryRecord): Partial<OutgoingRow> {
    const pause = platforms.pauseOf(record);
    if (pause === undefined) return {};
    const untilMs = Math.max(pause.untilMs, record.dueAtMs ?? 0);
    return {
      next_try_at: new Date(untilMs).toISOString(),
      reason: record.reason ?? pause.reason,
      paused_until: new Date(pause.untilMs).toISOString(),
      pause_reason: pause.reason,
    };
  }

  /** The oldest first gives a chat the texts in their original order. */
  async function* inOrder(queries: readonly Choice[], order: 'oldest' | 'newest'): AsyncGenerator<readonly Found[]> {
    let from: string | undefined;
    for (;;) {
      const after = from === undefined ? {} : { from };
      const page = await keeper.journal()?.list('deliveries', { limit: pageSize, order, ...after });
      const last = page?.at(-1);
      if (page === undefined || last === undefined) return;
      from = last.key;
      yield page.map(foundIn).filter(({ record }) => queries.some((query) => fits(record, query)));
    }
  }

  return { find, findOpen, matching, inOrder, rowOf };
}

async function actOn(page: readonly Found[], act: Act): Promise<Sweep> {
  const { done, refusals } = await actOnAll(page, ({ key }) => key, act);
  return { done: done.length, left: refusals.length, refusals };
}

/** A refused one does not block the others. The commits share a flush of the disk, and are written in order. */
async function actOnAll<Item>(
  items: readonly Item[],
  idOf: (item: Item) => string,
  act: (item: Item) => Promise<void>,
): Promise<{ readonly done: readonly string[]; readonly refusals: Sweep['refusals'] }> {
  const settled = await Promise.allSettled(items.map(act));
  const ids = items.map(idOf);
  const refusals = settled.flatMap((one, index) => {
    if (one.status === 'fulfilled') return [];
    if (!(one.reason instanceof Refusal)) throw one.reason;
    const { code, message } = one.reason;
    return [{ id: ids[index] ?? '', code, error: message }];
  });
  return { done: ids.filter((_, index) => settled[index]?.status === 'fulfilled'), refusals };
}

function sweptOf(query: SweepQuery): Choice {
  return { status: 'deadLettered', ...query };
}

function changed(key: string): Refusal {
  return new Refusal('delivery-under-way', `delivery "${key}" has just changed; look at it again`);
}

function joined(one: Sweep, other: Sweep): Sweep {
  const refusals = [...one.refusals, ...other.refusals].slice(0, maxRefusals);
  return { done: one.done + other.done, left: one.left + other.left, refusals };
}

/** The record as first queued, except for the parts that have arrived; no request waits for its outcome any more. */
function putBack(record: DeliveryRecord, sinceMs: number): DeliveryRecord {
  const {
    answerByMs: _,
    reason: __,
    endedAtMs: ___,
    dueAtMs: ____,
    unsureSinceMs: _____,
    failedSinceMs: ______,
    ...rest
  } = record;
  return { ...rest, status: 'queued', sinceMs, failures: 0 };
}

function fits(record: DeliveryRecord, { route, profile, status, target, since }: Choice): boolean {
  return (
    (since === undefined || failedAtMs(record) >= Date.parse(since)) &&
    (profile === undefined || record.profile === profile) &&
    (route === undefined || record.route === route) &&
    (status === undefined || record.status === status) &&
    (target === undefined || (canonicalTarget(record.target) ?? record.target) === (canonicalTarget(target) ?? target))
  );
}
