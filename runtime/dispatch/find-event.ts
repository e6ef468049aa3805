/**
 * Finds the event that a person means by an id. A key identifies one event. A delivery id comes from the sender and is
 * unique only per profile and route, so it may match events of several routes: those are listed, and none is chosen. Of
 * the events of one route with the same id, the newest is meant.
 * @see DUR-2 and IDM-1 in docs/specification.md
 */

import type { Journal } from '../../actors/store/journal.ts';
import { idMark } from '../../machines/webhook/marks.ts';
import { type EventRecord, type EventSummary, repeatsId } from '../../machines/webhook/record.ts';
import type { EventChoice } from '../control/contract/choices.ts';
import { Refusal } from '../control/contract/refusal.ts';
import { ambiguous, keysOfPrefix, latest, maxCandidates, shortestPrefix } from './meant-key.ts';
import { newestFirst } from './newest-first.ts';

/** A group of equal refused requests of one sender. */
export interface Alike {
  readonly count: number;
  /** The key of the first request, which identifies the row while its newest request changes. */
  readonly firstKey: string;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

export interface FoundEvent {
  readonly key: string;
  readonly event: EventRecord;
  /** The group of a refused request; absent if it is the only one. */
  readonly alike?: Alike;
}

interface FindEventPorts {
  readonly journal: () => Journal | undefined;
  /** The refused requests, which are kept in memory only. */
  readonly refused: {
    /** Those with the id or key, newest first. */
    withId(id: string): readonly FoundEvent[];
    newestFirst(): Iterable<FoundEvent>;
  };
}

/**
 * Finds an event by its key, its id, the key of its run, the beginning of its key or id, or `latest`; rejects with a
 * Refusal if several match.
 * @param acts the event will be acted on, so a sender's id must be complete: "order-1" never means "order-12"
 */
export type FindEvent = (id: string, choice?: EventChoice, acts?: boolean) => Promise<FoundEvent | undefined>;

/** How many of the newest events are searched for the beginning of a sender's id, which has no index. */
const maxScanned = 5_000;

export function createFindEvent({ journal, refused }: FindEventPorts): FindEvent {
  async function byKey(key: string): Promise<FoundEvent | undefined> {
    const event = (await journal()?.get('events', key))?.value;
    return event && { key, event };
  }

  /** The event that a run of this key works on; the run of a batch has its own key. */
  async function ofRun(run: string): Promise<FoundEvent | undefined> {
    const event = (await journal()?.get('runs', run))?.value.eventKey;
    return event === undefined ? undefined : byKey(event);
  }

  async function newest(choice: EventChoice, acts: boolean): Promise<FoundEvent | undefined> {
    const [kept] = await newestFirst(journal(), { collection: 'events', limit: 1 }, ({ key, value: event }) =>
      isChosen(event, choice) ? { key, event } : undefined,
    );
    for (const one of acts ? [] : refused.newestFirst()) {
      if (isChosen(one.event, choice)) return kept !== undefined && kept.key > one.key ? kept : one;
    }
    return kept;
  }

  async function ofPrefix(prefix: string, choice: EventChoice, acts: boolean): Promise<FoundEvent | undefined> {
    if (prefix.length < shortestPrefix) return undefined;
    const isNew = newPlaces();
    const begins = ({ key, event }: FoundEvent): boolean =>
      isChosen(event, choice) &&
      (key.startsWith(prefix) || (!acts && event.deliveryId.startsWith(prefix) && !repeatsId(event) && isNew(event)));
    const found = new Map<string, FoundEvent>();
    const take = (one: FoundEvent | undefined): void => {
      if (one !== undefined && begins(one)) found.set(one.key, one);
    };
    for (const key of await keysOfPrefix(journal(), 'events', prefix)) take(await byKey(key));
    if (!acts) {
      await newestFirst(journal(), { collection: 'events', limit: maxScanned }, ({ key, value: event }) => {
        take({ key, event });
        return true;
      });
    }
    // A refused request may have any id, so it never competes with an event.
    if (found.size === 0) for (const one of refused.newestFirst()) take(one);
    const [first, ...others] = [...found.values()];
    if (first === undefined || others.length === 0) return first;
    throw ambiguous(
      prefix,
      [first, ...others].map(
        ({ key, event: { deliveryId, route } }) =>
          `${key}  ${JSON.stringify(deliveryId)}, route ${JSON.stringify(route)}`,
      ),
    );
  }

  return async (id, choice = {}, acts = false) => {
    if (id === latest) return newest(choice, acts);
    const fits = (found: FoundEvent | undefined): found is FoundEvent =>
      found !== undefined && isChosen(found.event, choice);
    const named = await byKey(id);
    if (named !== undefined) return fits(named) ? named : undefined;
    const found = theOne(id, await eventsOfId(journal(), id, choice)) ?? (await ofRun(id));
    if (fits(found)) return found;
    const turnedAway = refused.withId(id).filter(fits);
    return (
      turnedAway.find(({ key }) => key === id) ??
      theOne(id, newestOfRoutes(turnedAway)) ??
      (found === undefined ? await ofPrefix(id, choice, acts) : undefined)
    );
  };
}

/** The newest event with an id for each route, newest first; duplicates are not counted. */
export async function eventsOfId(
  journal: Journal | undefined,
  id: string,
  choice: EventChoice = {},
): Promise<FoundEvent[]> {
  const { route, profile } = choice;
  const limit = route !== undefined && profile !== undefined ? 1 : Number.POSITIVE_INFINITY;
  const isNew = newPlaces();
  return newestFirst(journal, { collection: 'events', limit, marks: [[idMark(id)]] }, ({ key, value: event }) => {
    if (event.deliveryId !== id || repeatsId(event) || !isChosen(event, choice)) return undefined;
    return isNew(event) ? { key, event } : undefined;
  });
}

function newestOfRoutes(found: readonly FoundEvent[]): FoundEvent[] {
  const isNew = newPlaces();
  return found.filter(({ event }) => isNew(event));
}

/** Returns a predicate: true for the first event of its id and route that it is called with. */
function newPlaces(): (event: EventRecord) => boolean {
  const seen = new Set<string>();
  return ({ profile, route, deliveryId }) => {
    const place = `${profile}/${route}/${deliveryId}`;
    if (seen.has(place)) return false;
    seen.add(place);
    return true;
  };
}

/** The group of a refused request, as a listing names it. */
export function alikeOf(alike: Alike | undefined): Pick<EventSummary, 'alike'> {
  if (alike === undefined) return {};
  const { count, firstKey, firstAtMs, lastAtMs } = alike;
  return {
    alike: {
      count,
      first_key: firstKey,
      first_at: new Date(firstAtMs).toISOString(),
      last_at: new Date(lastAtMs).toISOString(),
    },
  };
}

function isChosen(event: EventRecord, { route, profile }: EventChoice): boolean {
  return (route === undefined || event.route === route) && (profile === undefined || event.profile === profile);
}

function theOne(id: string, found: readonly FoundEvent[]): FoundEvent | undefined {
  if (found.length < 2) return found[0];
  const rows = found.slice(0, maxCandidates).map(({ key, event }) => {
    const received = new Date(event.receivedAtMs).toISOString();
    // A refused request may name anything as its route.
    return `\n  ${key}  received ${received}, route ${JSON.stringify(event.route)}, profile ${JSON.stringify(event.profile)}`;
  });
  const more = found.length > rows.length ? `\n  and ${found.length - rows.length} more` : '';
  throw new Refusal(
    'delivery-ambiguous',
    `the id "${id}" names ${found.length} events of different routes:${rows.join('')}${more}\nname one by its key or, where the command takes them, choose with --route and --profile`,
  );
}
