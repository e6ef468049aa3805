/**
 * The claims of an event on its delivery id and its signature: the writes that make them, the writes that release them
 * from failed events, and the reason that a second event with the same signature gets. Commits nothing.
 * @see IDM-1, IDM-2 and SEC-6 in docs/specification.md
 */

import type { Json } from '../../machines/base/json.ts';
import {
  claimLifeMs,
  claimNames,
  type EventRecord,
  isOver,
  isWaitedFor,
  type RequestDetails,
  releasesId,
  type SignatureHolder,
} from '../../machines/webhook/record.ts';
import type { Journal, JournalReader, LocalReader, StoredRecord, Write } from '../store/journal.ts';
import type { JournalKeeper } from '../store/keeper.ts';

/** An event that is about to be claimed. Mutable, because copying it to add a field costs a microsecond per request. */
export type EventDraft = Omit<EventRecord, 'work' | 'told' | 'node'> & {
  work?: string | undefined;
  told?: RequestDetails | undefined;
  node?: string | undefined;
};

export interface Claimant {
  /** The key of the event, and of its run or delivery. */
  readonly key: string;
  readonly nowMs: number;
  /** Owned by the claim from here on, which writes the key of the event's work into it. */
  readonly event: EventDraft;
  /** How long the signature is kept. Default: one hour. */
  readonly signatureForMs?: number;
  /** Writes that come before the claims in their commit. */
  readonly first?: readonly Write[];
}

/** Returns the writes that claim the names of an event, after the ones that must come first. */
export function claimsOf({ key, event, signatureForMs = claimLifeMs, first }: Claimant): readonly Write[] {
  const value = { eventKey: key };
  const [ofId = '', ofSignature] = claimNames(event);
  const writes: Write[] = first === undefined ? [] : [...first];
  writes.push({ kind: 'claim', name: ofId, value, forMs: claimLifeMs, event: key });
  if (ofSignature !== undefined) {
    writes.push({ kind: 'claim', name: ofSignature, value, forMs: signatureForMs, keptWith: key });
  }
  return writes;
}

/** The event behind a claim, with its run and delivery. */
interface Held {
  readonly event: EventRecord | undefined;
  readonly run: StoredRecord<'runs'> | undefined;
  readonly delivery: StoredRecord<'deliveries'> | undefined;
}

async function heldOf(journal: JournalReader, eventKey: string): Promise<Held> {
  const event = (await journal.get('events', eventKey))?.value;
  const work = event?.work ?? eventKey;
  const [run, delivery] = await Promise.all([journal.get('runs', work), journal.get('deliveries', work)]);
  return { event, run, delivery };
}

function heldAtHand(local: LocalReader, eventKey: string): Held {
  const event = local.get('events', eventKey)?.value;
  const work = event?.work ?? eventKey;
  return { event, run: local.get('runs', work), delivery: local.get('deliveries', work) };
}

/**
 * Returns the writes that release an event's names from earlier events that failed permanently (IDM-2); empty if one of
 * those did not fail. The run's record is written on condition of the version that was read, so that of two events one
 * finds the other's claim. Rejects if the journal cannot be read.
 */
export async function releasing(journal: Journal | undefined, { key, event }: Claimant): Promise<readonly Write[]> {
  /** By the failed run: a batch has several events and one record. */
  const puts = new Map<string, Write>();
  let repeats: string | undefined;
  const releases: Write[] = [];
  for (const name of claimNames(event)) {
    const before = (await journal?.claimed(name))?.eventKey;
    if (journal === undefined || typeof before !== 'string') continue;
    const put = repeating(await heldOf(journal, before), key);
    if (put === undefined) return [];
    puts.set(put.key, put);
    repeats ??= before;
    releases.push({ kind: 'release', name });
  }
  if (repeats !== undefined) event.told = { ...event.told, repeats };
  return [...puts.values(), ...releases];
}

/**
 * The write that records the repeating event in the run of a permanently failed event; undefined if the event did not
 * fail so. A direct delivery has no run: one that a person has dropped only gets its next version.
 */
function repeating({ event, run, delivery }: Held, key: string): Extract<Write, { kind: 'put' }> | undefined {
  if (event?.work === undefined) return undefined;
  if (run === undefined) {
    if (delivery?.value.status !== 'dropped') return undefined;
    return {
      kind: 'put',
      collection: 'deliveries',
      key: delivery.key,
      value: delivery.value,
      expect: delivery.version,
    };
  }
  if (run.dueAtMs !== undefined || !releasesId(run.value, delivery?.value)) return undefined;
  return {
    kind: 'put',
    collection: 'runs',
    key: run.key,
    value: { ...run.value, repeatedBy: key },
    expect: run.version,
  };
}

/**
 * Returns the event that claimed a signature. Undefined if there is none, if it failed permanently and releases the
 * signature, if it is a direct delivery that may still fail, or if the journal is behind a network: then the commit
 * refuses it, or `readSignatureHolder` finds it for a route that allows identical bodies, which claims no signature.
 */
export function signatureHolder(keeper: JournalKeeper, name: string): SignatureHolder | undefined {
  const local = keeper.journal()?.local;
  const holder = local?.claimed(name)?.eventKey;
  if (local === undefined || typeof holder !== 'string') return undefined;
  return holding(heldAtHand(local, holder));
}

/** The same from a journal behind a network. Rejects if that cannot be read. */
export async function readSignatureHolder(keeper: JournalKeeper, name: string): Promise<SignatureHolder | undefined> {
  const journal = keeper.journal();
  const holder = (await journal?.claimed(name))?.eventKey;
  return journal === undefined || typeof holder !== 'string' ? undefined : holding(await heldOf(journal, holder));
}

function holding(held: Held): SignatureHolder | undefined {
  return isPending(held) || repeating(held, '') !== undefined ? undefined : held.event;
}

/** The state of an earlier event, for one that claims the same name. Rejects if the journal cannot be read. */
export async function standingOf(
  keeper: JournalKeeper,
  eventKey: Json | undefined,
): Promise<{ readonly isPending: boolean; readonly event: EventRecord | undefined }> {
  const journal = keeper.journal();
  if (journal === undefined || typeof eventKey !== 'string') return { isPending: false, event: undefined };
  const held = await heldOf(journal, eventKey);
  return { isPending: isPending(held), event: held.event };
}

/** Whether a direct delivery without an outcome holds a claim. Any other holder is carried through. */
function isPending({ delivery }: Held): boolean {
  return delivery !== undefined && isWaitedFor(delivery.value) && !isOver(delivery.value);
}
