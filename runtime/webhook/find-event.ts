/**
 * Finds the event that a person means by an id. A key means one event; the id of a delivery is its sender's, and is told
 * apart by profile and route alone, so that one may stand for events of several routes: those are named, and none is
 * guessed. Of the events that came to one route under an id the newest is meant.
 * @see DUR-2 and IDM-1 in docs/specification.md
 */

import type { Journal } from '../../actors/store/journal.ts';
import { idMark } from '../../machines/webhook/marks.ts';
import { type EventRecord, repeatsId } from '../../machines/webhook/record.ts';
import type { EventChoice } from '../control/contract.ts';
import { Refusal } from '../control/refusal.ts';
import { newestFirst } from '../dispatch/newest-first.ts';

/** Equal requests of one sender that were refused. */
export interface Alike {
  readonly count: number;
  /** Of the first of them: what names the row while its newest changes. */
  readonly firstKey: string;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

export interface FoundEvent {
  readonly key: string;
  readonly event: EventRecord;
  /** What a refused request is counted among, where it is not the only one. */
  readonly alike?: Alike;
}

export interface FindEventPorts {
  readonly journal: () => Journal | undefined;
  /** The refused requests of an id or key, which no disk holds, newest first. */
  readonly refused: (id: string) => readonly FoundEvent[];
}

/** Finds an event by its key, its id or the key of its run; refuses an id that leaves several. */
export type FindEvent = (id: string, choice?: EventChoice) => Promise<FoundEvent | undefined>;

/** Candidates that a refusal names. */
const mostNamed = 20;

export function createFindEvent({ journal, refused }: FindEventPorts): FindEvent {
  async function byKey(key: string): Promise<FoundEvent | undefined> {
    const event = (await journal()?.get('events', key))?.value;
    return event && { key, event };
  }

  /** The event that a run of this key works on; a burst's run has a key of its own. */
  async function ofRun(run: string): Promise<FoundEvent | undefined> {
    const event = (await journal()?.get('runs', run))?.value.eventKey;
    return event === undefined ? undefined : byKey(event);
  }

  return async (id, choice = {}) => {
    const fits = (found: FoundEvent | undefined): found is FoundEvent =>
      found !== undefined && isChosen(found.event, choice);
    const named = await byKey(id);
    if (named !== undefined) return fits(named) ? named : undefined;
    const found = theOne(id, await eventsOfId(journal(), id, choice)) ?? (await ofRun(id));
    if (fits(found)) return found;
    const turnedAway = refused(id).filter(fits);
    return turnedAway.find(({ key }) => key === id) ?? theOne(id, newestOfRoutes(turnedAway));
  };
}

/** The newest event that came under an id to each route that it came to, newest first; a duplicate is none. */
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

/** Says of each event whether it is the first that came to its route. */
function newPlaces(): (event: EventRecord) => boolean {
  const seen = new Set<string>();
  return ({ profile, route }) => {
    const place = `${profile}/${route}`;
    if (seen.has(place)) return false;
    seen.add(place);
    return true;
  };
}

function isChosen(event: EventRecord, { route, profile }: EventChoice): boolean {
  return (route === undefined || event.route === route) && (profile === undefined || event.profile === profile);
}

function theOne(id: string, found: readonly FoundEvent[]): FoundEvent | undefined {
  if (found.length < 2) return found[0];
  const rows = found.slice(0, mostNamed).map(({ key, event }) => {
    const received = new Date(event.receivedAtMs).toISOString();
    // A refused request may have named anything as its route.
    return `\n  ${key}  received ${received}, route ${JSON.stringify(event.route)}, profile ${JSON.stringify(event.profile)}`;
  });
  const more = found.length > rows.length ? `\n  and ${found.length - rows.length} more` : '';
  throw new Refusal(
    'delivery-ambiguous',
    `the id "${id}" stands for ${found.length} events of different routes:${rows.join('')}${more}\nname one by its key or, where the command takes them, choose with --route and --profile`,
  );
}
