/** The events of runs that this gateway accepted a moment ago, so that a run need not read its event from the journal. */

import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { ChurnMap } from '../../machines/base/churn-map.ts';
import type { EventRecord } from '../../machines/webhook/record.ts';
import { readAgain } from './written.ts';

/** How many are kept until their runs have ended, and the maximum characters of each. */
const maxKept = 256;
const maxKeptBytes = 16_384;

export interface RecentEvents {
  keep(key: string, event: EventRecord): void;
  /** Undefined if it is not kept, even if the journal has it. */
  kept(key: string): EventRecord | undefined;
  /** Reads again until the database answers: an outage must not fail a run or make a delivery uncertain. Never rejects. */
  read(key: string): Promise<EventRecord | undefined>;
  /** Undefined also if it cannot be read synchronously. */
  readAtOnce(key: string): EventRecord | undefined;
  forget(key: string): void;
  clear(): void;
}

/** Keyed by the run, whose key is the event's too. */
export function createRecentEvents(keeper: JournalKeeper): RecentEvents {
  const events = new ChurnMap<string, EventRecord>();
  return {
    keep(key, event) {
      if (event.body.length <= maxKeptBytes && events.size < maxKept) events.set(key, event);
    },
    kept: (key) => events.get(key),
    read(key) {
      const known = events.get(key);
      if (known !== undefined) return Promise.resolve(known);
      return readAgain(async () => (await keeper.journal()?.get('events', key))?.value);
    },
    readAtOnce(key) {
      try {
        return events.get(key) ?? keeper.journal()?.local?.get('events', key)?.value;
      } catch {
        return undefined;
      }
    },
    forget: (key) => events.delete(key),
    clear: () => events.clear(),
  };
}
