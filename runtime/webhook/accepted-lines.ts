/**
 * The log lines of accepted events. The history holds each of them, so that under load a line for each would say it twice
 * and cost more than the rest of the request: the first one after a quiet second has its own line, and what comes with it
 * is counted and written as one line when the second ends.
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

export interface AcceptedLines {
  /** An event of a route was accepted; `fieldsOf` is called only where it gets a line of its own. */
  add(message: string, route: Route | undefined, fieldsOf: () => Readonly<Record<string, unknown>>): void;
  /** Writes what was counted and not yet written, and waits for nothing more. */
  close(): void;
}

/** A line names so many routes, the busiest first. */
const mostRoutes = 20;
const windowMs = 1_000;

export function createAcceptedLines({ log, every, isEachLogged }: AcceptedLinePorts): AcceptedLines {
  let counts = new Map<Route | undefined, number>();
  let endWindow: (() => void) | undefined;

  function flush(): void {
    const named = new Map<string, number>();
    let events = 0;
    for (const [route, count] of counts) {
      events += count;
      // A route that was read anew within the second is counted under one name.
      const name = route === undefined ? 'unknown' : `${route.profile}/${route.name}`;
      named.set(name, (named.get(name) ?? 0) + count);
    }
    const busiest = [...named].sort(([, one], [, other]) => other - one).slice(0, mostRoutes);
    counts = new Map();
    log.log('info', 'webhooks accepted within a second', { events, routes: Object.fromEntries(busiest) });
  }

  function quiet(): void {
    endWindow?.();
    endWindow = undefined;
  }

  return {
    add(message, route, fieldsOf) {
      if (endWindow === undefined || isEachLogged()) log.log('info', message, fieldsOf());
      else counts.set(route, (counts.get(route) ?? 0) + 1);
      endWindow ??= every(() => (counts.size > 0 ? flush() : quiet()), windowMs);
    },
    close() {
      if (counts.size > 0) flush();
      quiet();
    },
  };
}
