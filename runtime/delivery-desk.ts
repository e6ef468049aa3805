/**
 * What people may do about deliveries: look at them, try one again that waits or was given up, give one up for good. What
 * may have arrived is not sent again unless they insist.
 * @see DLV-4, DUR-1 and CLI-2 in docs/specification.md
 */

import type { StoredRecord, Write } from '../actors/store/journal.ts';
import type { JournalKeeper } from '../actors/store/keeper.ts';
import type { RecordWriter } from '../actors/store/record-writer.ts';
import type { JsonObject } from '../machines/base/json.ts';
import { canonicalTarget } from '../machines/config/targets.ts';
import { asSeen, type DeliveryRecord, isOver, type RunRecord, sendingRow } from '../machines/webhook/record.ts';
import { Refusal } from './control/refusal.ts';
import type { DeliveryDesk, SendingQuery } from './control/view.ts';
import { deliveriesLike } from './history.ts';
import { newestFirst } from './newest-first.ts';
import type { Platforms } from './platforms.ts';
import { runOf } from './wiring/delivery.ts';
import type { Wards } from './wiring/wards.ts';

export interface DeliveryDeskPorts {
  readonly keeper: JournalKeeper;
  readonly writer: RecordWriter;
  readonly platforms: Pick<Platforms, 'check' | 'rows'>;
  readonly wards: () => Wards;
  /** The key of a delivery by the id of its event; undefined where none is known. */
  readonly keyOf: (id: string) => string | undefined;
  /** The judge of what is secret. */
  readonly redact: (record: JsonObject) => JsonObject;
  readonly nowMs: () => number;
}

interface Found {
  readonly key: string;
  readonly stored: StoredRecord;
  readonly record: DeliveryRecord;
}

export function createDeliveryDesk(ports: DeliveryDeskPorts): DeliveryDesk {
  const { keeper, writer, wards, redact } = ports;

  function find(id: string): Found {
    const journal = keeper.journal();
    const stored = journal?.get('deliveries', id) ?? journal?.get('deliveries', ports.keyOf(id) ?? id);
    if (stored === undefined) {
      throw new Refusal(
        'delivery-unknown',
        `no delivery "${id}" is in the history; \`agent deliveries list\` lists them`,
      );
    }
    return foundIn(stored);
  }

  function foundIn(stored: StoredRecord): Found {
    const { key } = stored;
    const record = stored.value as unknown as DeliveryRecord;
    return { key, stored, record: asSeen(record, wards().deliveries.get(key)?.getSnapshot().value) };
  }

  function matching(query: SendingQuery): Found[] {
    const journal = keeper.journal();
    return newestFirst(journal, deliveriesLike(journal, query), (stored) => {
      const found = foundIn(stored);
      return fits(found.record, query) ? found : undefined;
    });
  }

  const rowOf = ({ key, record }: Found): JsonObject => redact(sendingRow(key, record) as unknown as JsonObject);

  async function commit({ key, stored }: Found, next: DeliveryRecord): Promise<void> {
    const over = isOver(next);
    const nowMs = ports.nowMs();
    const session = keeper.session();
    const verdict = await keeper.commit([
      {
        kind: 'put',
        collection: 'deliveries',
        key,
        value: (over ? { ...next, endedAtMs: nowMs } : next) as unknown as JsonObject,
        expect: stored.version,
        dueAtMs: over ? null : nowMs,
        ...(over || session === undefined ? {} : { heldBy: session }),
      },
      ...(over ? runOf(next, ports) : reopenedRun(next)),
    ]);
    if (verdict.kind === 'unavailable') throw new Refusal('journal-unavailable', verdict.fault.message);
    if (verdict.kind !== 'committed')
      throw new Refusal('delivery-under-way', `delivery "${key}" has just changed; look at it again`);
    if (over) return;
    writer.adopt('deliveries', key, stored.version + 1);
    wards().deliveries.spawn(key, { key, record: next, atMs: nowMs });
  }

  function reopenedRun({ runKey }: DeliveryRecord): readonly Write[] {
    if (runKey === undefined) return [];
    const run = keeper.journal()?.get('runs', runKey)?.value as unknown as RunRecord | undefined;
    if (run === undefined) return [];
    const { reason: _, ...rest } = run;
    return [
      {
        kind: 'put',
        collection: 'runs',
        key: runKey,
        value: { ...rest, status: 'delivering' } as unknown as JsonObject,
      },
    ];
  }

  async function retry(found: Found, force: boolean): Promise<void> {
    const { key, record } = found;
    ports.platforms.check(record.profile, record.target);
    const living = wards().deliveries.get(key);
    if (living !== undefined) {
      if (record.status === 'sending') throw new Refusal('delivery-under-way', `delivery "${key}" is being sent now`);
      living.send({ type: 'delivery.retry' });
      return;
    }
    if (record.status === 'delivered') throw new Refusal('delivery-settled', `delivery "${key}" has arrived already`);
    if (record.status === 'unknown' && !force) {
      throw new Refusal(
        'delivery-unsure',
        `delivery "${key}" may have arrived (${record.reason ?? 'its outcome is unknown'}); look at the target, then retry with --force or drop it`,
      );
    }
    await commit(found, putBack(record, ports.nowMs()));
  }

  async function drop(found: Found): Promise<void> {
    const { key, record } = found;
    const living = wards().deliveries.get(key);
    if (living !== undefined) {
      const state = living.getSnapshot().value;
      if (state !== 'queued' && state !== 'waitingToRetry')
        throw new Refusal('delivery-under-way', `delivery "${key}" is being sent now`);
      living.send({ type: 'delivery.drop' });
      return;
    }
    if (record.status === 'delivered') throw new Refusal('delivery-settled', `delivery "${key}" has arrived already`);
    if (record.status !== 'dropped') await commit(found, { ...record, status: 'dropped' });
  }

  return {
    list: (query) => matching(query).map(rowOf),
    show(id) {
      const found = find(id);
      return { ...rowOf(found), record: redact(found.stored.value) };
    },
    async retry(id, { force }) {
      const found = find(id);
      await retry(found, force);
      return rowOf(find(found.key));
    },
    async drop(id) {
      const found = find(id);
      await drop(found);
      return rowOf(find(found.key));
    },
    async retryAll(query) {
      const found = matching({ ...query, status: 'deadLettered' });
      for (const one of found) await retry(one, false);
      return found.length;
    },
    async dropAll(query) {
      const found = matching({ ...query, status: 'deadLettered' });
      for (const one of found) await drop(one);
      return found.length;
    },
    targets: () => ports.platforms.rows().map(redact),
  };
}

/** As it was when it was queued, but for the pieces that have arrived; nobody waits for its outcome any more. */
function putBack(record: DeliveryRecord, sinceMs: number): DeliveryRecord {
  const { answerByMs: _, reason: __, endedAtMs: ___, dueAtMs: ____, unsureSinceMs: _____, ...rest } = record;
  return { ...rest, status: 'queued', sinceMs, failures: 0 };
}

function fits(record: DeliveryRecord, { route, status, target }: SendingQuery): boolean {
  return (
    (route === undefined || record.route === route) &&
    (status === undefined || record.status === status) &&
    (target === undefined || (canonicalTarget(record.target) ?? record.target) === (canonicalTarget(target) ?? target))
  );
}
