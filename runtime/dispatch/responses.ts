/**
 * The deliveries of a run's response: writes them with the response in one commit, begins them, and writes their end with
 * what it changes. A single delivery reports to its run; several begin once the run has closed, and update its record.
 * @see DLV-7 and DUR-1 in docs/specification.md
 */

import type { Collection, JournalReader, StoredRecord, Write } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecordChange, WriteVerdict } from '../../actors/store/record-writer.ts';
import type { ChurnMap } from '../../machines/base/churn-map.ts';
import {
  claimNames,
  type DeliveryRecord,
  type EventRecord,
  isOver,
  isWaitedFor,
  type RunRecord,
} from '../../machines/webhook/record.ts';
import { placesOf, responseKeys, textFor, withResponses } from '../../machines/webhook/responses.ts';
import { type NoticePorts, openWritten } from './notices.ts';
import type { RecordPorts } from './written.ts';

type ResponseChange = Extract<RecordChange, { readonly collection: 'deliveries' }> & { readonly value: DeliveryRecord };

/** Returns the changes that write the deliveries of a response; the first has the order of its run. */
export async function responseChanges(
  key: string,
  run: RunRecord,
  ports: NoticePorts,
  order: number,
): Promise<RecordChange[]> {
  if (run.isDry) return [];
  return responsesTo((await ports.keeper.journal()?.get('events', run.eventKey))?.value, key, { run, order }, ports);
}

/** The same for a known event. */
export function responsesTo(
  event: EventRecord | undefined,
  key: string,
  { run, order }: { readonly run: RunRecord; readonly order: number },
  { keeper, nowMs, nextOrder, crowded }: NoticePorts,
): ResponseChange[] {
  if (run.isDry) return [];
  const places = placesOf(event);
  const keys = responseKeys(key, places.length);
  return places.map((place, index): ResponseChange => {
    const ordered = index === 0 ? order : nextOrder();
    const value: DeliveryRecord = {
      eventKey: run.eventKey,
      runKey: key,
      ...(places.length === 1 ? {} : { of: places.length }),
      ...(index === 0 ? {} : { nth: index + 1 }),
      deliveryId: event?.deliveryId ?? run.eventKey,
      profile: run.profile,
      route: run.route,
      event: event?.event ?? 'unknown',
      target: place.target,
      status: 'queued',
      text: textFor(place, run.response ?? ''),
      extra: place.extra,
      queuedAtMs: nowMs(),
      order: ordered,
    };
    const change = { collection: 'deliveries', key: keys[index] ?? key, value, dueAtMs: ordered } as const;
    return index === 0 && !keeper.isShared() ? change : { ...change, free: crowded(value) };
  });
}

/** Begins all deliveries of a run that has closed. */
export async function openResponses(runKey: string, ports: NoticePorts): Promise<void> {
  const first = await ports.keeper.journal()?.get('deliveries', runKey);
  for (const key of responseKeys(runKey, first?.value.of)) {
    const stored = await ports.keeper.journal()?.get('deliveries', key);
    if (stored !== undefined) openResponse(stored, runKey, ports);
  }
}

/**
 * The first was written with its run, by this gateway's session, and is held like the run. After a failed attempt it may
 * wait on disk alone, because memory is full, and stays there until it is due.
 */
export function openResponse(stored: StoredRecord<'deliveries'>, runKey: string, ports: NoticePorts): void {
  if (stored.value.status === 'waitingToRetry' && stored.heldBy === undefined) return;
  const heldBy = stored.key === runKey ? ports.keeper.session() : stored.heldBy;
  const { heldBy: _, ...rest } = stored;
  openWritten(heldBy === undefined ? rest : { ...rest, heldBy }, ports);
}

/**
 * Verdicts of commits that wrote the end of a run together with that of its delivery, by the run's key. The run finds its
 * verdict here when it is notified of the delivery's end, and writes nothing itself.
 */
export type RunEnds = ChurnMap<string, WriteVerdict>;

/** The outcome of a commit; for a version conflict, with its collection. */
interface Settled {
  readonly kind: string;
  readonly collection?: Collection;
}

/**
 * Updates the record of a closed run when a delivery ends or begins again, in the same commit. Deliveries of one run wait
 * for each other, and if two gateways write the same run, the later one reads again, so that the last of them sees all
 * others.
 */
export type SettleRun = <Done extends Settled>(
  record: DeliveryRecord,
  commit: (also: readonly Write[]) => Promise<Done>,
) => Promise<Done>;

/** Each attempt except the last met a write of another gateway. */
const maxTries = 50;

export function createSettleRun({ keeper, pools }: Pick<RecordPorts, 'keeper' | 'pools'>): SettleRun {
  const turns = new Map<string, Promise<unknown>>();

  async function runAfter(key: string, record: DeliveryRecord): Promise<Write[]> {
    // A run that still waits for its only delivery is notified of its end and closes itself.
    if (record.of === undefined && pools().runs.get(key)?.getSnapshot().value === 'delivering') return [];
    const run = await keeper.journal()?.get('runs', key);
    if (run === undefined || run.value.status === 'queued' || run.value.status === 'running') return [];
    const value = withResponses(run.value, await siblingsOf(keeper, key, record));
    return [{ kind: 'put', collection: 'runs', key, value, expect: run.version }];
  }

  async function settled<Done extends Settled>(
    key: string,
    record: DeliveryRecord,
    commit: (also: readonly Write[]) => Promise<Done>,
  ): Promise<Done> {
    for (let tries = 1; ; tries += 1) {
      const done = await commit(await runAfter(key, record));
      if (done.collection !== 'runs' || tries === maxTries) return done;
    }
  }

  return async (record, commit) => {
    const { runKey, of } = record;
    if (runKey === undefined) return commit([]);
    if (of === undefined) return settled(runKey, record, commit);
    const before = turns.get(runKey);
    const turn = (async () => {
      await before?.catch(() => {});
      return settled(runKey, record, commit);
    })();
    turns.set(runKey, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(runKey) === turn) turns.delete(runKey);
    }
  };
}

/** Writes the record of an ended delivery, with what its end changes, in one commit. */
export async function writeEnded(
  key: string,
  value: DeliveryRecord,
  { keeper, writer, settleRun }: RecordPorts & { readonly settleRun: SettleRun },
): Promise<WriteVerdict> {
  const released = await releaseOf(value, { keeper });
  return settleRun(value, (run) =>
    writer.write([{ collection: 'deliveries', key, value, dueAtMs: null }], [...released, ...run]),
  );
}

/**
 * A failed direct delivery releases its id and its signature, so that the sender's next attempt is accepted (IDM-2). A
 * dropped one does too: its sender was answered that it failed, and must not get `duplicate` later.
 */
export async function releaseOf(record: DeliveryRecord, { keeper }: Pick<RecordPorts, 'keeper'>): Promise<Write[]> {
  const failed = isOver(record) && record.status !== 'delivered';
  if (!isWaitedFor(record) || !failed) return [];
  const event = (await keeper.journal()?.get('events', record.eventKey))?.value;
  return claimNames(event ?? record).map((name) => ({ kind: 'release', name }));
}

/** The deliveries of a run on disk, with one replaced by its new record. */
async function siblingsOf(keeper: JournalKeeper, runKey: string, record: DeliveryRecord): Promise<DeliveryRecord[]> {
  const keys = responseKeys(runKey, record.of);
  const stored = await Promise.all(keys.map((key) => keeper.journal()?.get('deliveries', key)));
  return stored.flatMap((one) => {
    if (one === undefined) return [];
    return [one.value.order === record.order ? record : one.value];
  });
}

/** The keys of a run's deliveries after the first; empty if there is only one. */
export function furtherKeys(runKey: string | undefined, first: DeliveryRecord | undefined): readonly string[] {
  return runKey === undefined ? [] : responseKeys(runKey, first?.of).slice(1);
}

/** All deliveries of a run, for display; empty if there is only one. */
export async function furtherOf(
  journal: JournalReader | undefined,
  runKey: string | undefined,
  first: DeliveryRecord | undefined,
): Promise<{ readonly deliveries?: readonly DeliveryRecord[] }> {
  if (first?.of === undefined) return {};
  const further = await Promise.all(furtherKeys(runKey, first).map((key) => journal?.get('deliveries', key)));
  return { deliveries: [first, ...further.flatMap((one) => (one === undefined ? [] : [one.value]))] };
}
