/**
 * The log lines of accepted events. The history already has each event, and under load a line for each would cost more
 * than the rest of the request. So the first event after a quiet second has its own line, and the events that follow it
 * are counted and logged as one line when the second ends.
 * @see OBS-1 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import type { Route } from '../../machines/config/route.ts';
import type { Every } from '../system/ticks.ts';

export interface AcceptedLinePorts {
  readonly log: Logger;
  readonly every: Every;
  /** Whether each event has its own line (`log.events: all`). */
  readonly isEachLogged: () => boolean;
}

/** Routes that a line names, the busiest first. */
const maxRoutes = 20;
const windowMs = 1_000;

export function createAcceptedLines({ log, every, isEachLogged }: AcceptedLinePorts) {
  let counts = new Map<Route | undefined, number>();
  let endWindow: (() => void) | undefined;

  function flush(): void {
    const named = new Map<string, number>();
    let events = 0;
    for (const [route, count] of counts) {
      events += count;
      // Keyed by name, so a route that is reloaded within the second is counted once.
      const name = route === undefined ? 'unknown' : `${route.profile}/${route.name}`;
      named.set(name, (named.get(name) ?? 0) + count);
    }
    const busiest = [...named].sort(([, one], [, other]) => other - one).slice(0, maxRoutes);
    counts = new Map();
    log.log('info', 'webhooks accepted within a second', { events, routes: Object.fromEntries(busiest) });
  }

  function quiet(): void {
    endWindow?.();
    endWindow = undefined;
  }

  return {
    /** Logs an accepted event of a route; `fieldsOf` is called only if the event has its own line. */
    add(message: string, route: Route | undefined, fieldsOf: () => Readonly<Record<string, unknown>>): void {
      if (endWindow === undefined || isEachLogged()) log.log('info', message, fieldsOf());
      else counts.set(route, (counts.get(route) ?? 0) + 1);
      endWindow ??= every(() => (counts.size > 0 ? flush() : quiet()), windowMs);
    },
    /** Writes the line of the events counted so far, and stops. */
    close(): void {
      if (counts.size > 0) flush();
      quiet();
    },
  };
}
