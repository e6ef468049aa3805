/**
 * Assembles the inspector: tap, history, feed, watcher, and the listener, which follows the configuration. If the listener
 * cannot open, the daemon continues without it.
 * @see INS-2, INS-3 and ADP-2 in docs/specification.md
 */

import { isDeepStrictEqual } from 'node:util';
import type { AnyActorRef } from 'xstate';
import { causeOf } from '../../machines/base/fault.ts';
import type { Watched } from '../../machines/base/lean-actor.ts';
import type { InspectorSettings } from '../../machines/config/settings.ts';
import type { ListenerStatus } from '../control/contract/gateway.ts';
import type { LinkVerdict } from '../control/contract/servers.ts';
import type { ActorDetails, Chart, Health, StepRow } from '../control/contract/wire.ts';
import type { Redactor } from '../observe/redact.ts';
import { createTurns } from '../system/turns.ts';
import { findActor } from './census.ts';
import { chartOf } from './charts.ts';
import { describeActor } from './details.ts';
import { createFeed, type Feed } from './feed.ts';
import { createHistory } from './history.ts';
import { createRows } from './rows.ts';
import type { InspectorServer, InspectorServerPorts } from './server.ts';
import { createSessionFile, sessionsPath } from './session-file.ts';
import { createPageSessions, type EndedSessions, type PageGuest } from './sessions.ts';
import { mayStay } from './sign-in.ts';
import { createStateTimes, type StateTimes } from './state-times.ts';
import { createSubjects } from './subjects.ts';
import { createTap } from './tap.ts';
import { createWatcher, type Watcher } from './watcher.ts';

interface InspectorPorts extends Pick<InspectorServerPorts, 'audit' | 'metrics' | 'pageFolder' | 'readiness' | 'log'> {
  readonly root: () => AnyActorRef;
  readonly redactor: Redactor;
  readonly home: string;
  readonly deliveryOf: (eventKey: string) => string | undefined;
  readonly health: () => Health;
  /** Loads what answers the page's commands, as late as the listener itself. */
  readonly loadRpc: () => Promise<InspectorServerPorts['answerRpc']>;
  readonly nowMs: () => number;
}

export interface Inspector {
  readonly feed: Feed;
  readonly watcher: Watcher;
  readonly stateTimes: StateTimes;
  /** What is observed; no transition is recorded without a viewer. */
  watched(): Watched;
  /** Calls back whenever an actor takes a step, until the returned function is called. */
  onStep(listener: () => void): () => void;
  /** The number of followers: pages and terminals. */
  watching(): number;
  actor(id: string): ActorDetails | undefined;
  /** The recorded steps of an actor, even if it has ended. */
  stepsOf(actor: string): readonly StepRow[];
  chart(machine: string): Promise<Chart | undefined>;
  /** Opens, moves or closes the listener as the settings say; resolves when that is done or has failed. */
  apply(settings: InspectorSettings): Promise<void>;
  /** The listener's address, or why it is closed although it is enabled. */
  listener(): ListenerStatus;
  /** Makes a link that opens the page once for a guest; `onUsed` is called when it is opened. */
  link(onUsed?: () => void, guest?: PageGuest): LinkVerdict;
  /** Ends every session of the page, and every link. */
  endSessions(): Promise<EndedSessions>;
  close(): Promise<void>;
}

export function createInspector(ports: InspectorPorts): Inspector {
  const { root, redactor, nowMs, log } = ports;
  const tap = createTap(root, (error) => {
    log.warnOnce('inspector', 'inspector: a record was left out', { error: String(error) });
  });
  const stateTimes = createStateTimes(nowMs);
  const subjects = createSubjects({ redactor, deliveryOf: ports.deliveryOf });
  const rows = createRows({ root, redactor, stateTimes, subjects });
  const history = createHistory();
  const feed = createFeed({
    tap,
    rows,
    subjects,
    history,
    redactor,
    health: ports.health,
    nowMs,
    wake: (callback, waitMs) => {
      const timer = setTimeout(callback, waitMs).unref();
      return () => clearTimeout(timer);
    },
  });
  const sessions = createPageSessions(
    nowMs,
    createSessionFile(() => sessionsPath(ports.home), log),
  );
  const actor = (id: string): ActorDetails | undefined =>
    describeActor(id, { find: (address) => findActor(address, root()), rows, subjects, history, stateTimes, redactor });

  /** Listeners of the overview, which follow no actor. */
  const own = new Set<() => void>();
  let standing: { readonly settings: InspectorSettings; readonly server: InspectorServer } | undefined;
  let why = 'inspector: it has not been started yet; try again in a moment';
  let isWanted = false;
  let isOpening = false;
  const inTurn = createTurns((thrown) => log.log('error', `inspector: it cannot be moved: ${causeOf(thrown)}`));

  async function move(settings: InspectorSettings): Promise<void> {
    if (standing !== undefined && isDeepStrictEqual(standing.settings, settings)) return;
    await standing?.server.close();
    standing = undefined;
    // A guest that was removed from the configuration, or has another password or role, loses the session at once.
    sessions.endGuests((guest) => mayStay(guest, settings.users ?? []));
    isWanted = settings.enabled;
    if (!isWanted) {
      why = 'inspector: it is switched off; set inspector.enabled: true';
      return;
    }
    isOpening = true;
    // Imported here, so that a daemon with the inspector disabled does not load it.
    const { openInspectorServer } = await import('./server.ts');
    const verdict = await openInspectorServer(settings, {
      ...ports,
      answerRpc: await ports.loadRpc(),
      feed,
      sessions,
      chart: chartOf,
      actor,
    });
    if (verdict.kind === 'refused') {
      why = verdict.why;
      log.log('warn', why);
      return;
    }
    standing = { settings, server: verdict.server };
    log.log('info', `inspector at ${verdict.server.url}; \`agent inspect --web\` opens it`, {
      url: verdict.server.url,
    });
  }

  return {
    feed,
    watcher: createWatcher({ tap, rows, subjects, redactor, nowMs }),
    stateTimes,
    watched: tap.watched,
    onStep(listener) {
      const end = tap.listen('steps', listener);
      own.add(end);
      return () => {
        own.delete(end);
        end();
      };
    },
    watching: () => tap.listeners() - own.size + Math.max(0, feed.followers() - 1),
    actor,
    stepsOf: history.stepsOf,
    chart: chartOf,
    apply: (settings) =>
      inTurn(() =>
        move(settings).finally(() => {
          isOpening = false;
        }),
      ),
    listener() {
      const url = standing?.server.url ?? null;
      return { enabled: isWanted, url, ...(isWanted && url === null && !isOpening ? { fault: why } : {}) };
    },
    link: (onUsed, guest) =>
      standing === undefined
        ? { kind: 'refused', why }
        : {
            kind: 'link',
            url: `${standing.settings.publicUrl ?? standing.server.url}/open?token=${sessions.invite(onUsed, guest)}`,
          },
    endSessions: sessions.endAll,
    close: () =>
      inTurn(async () => {
        await standing?.server.close();
        standing = undefined;
        why = 'inspector: the gateway stops';
      }),
  };
}
