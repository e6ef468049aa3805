/**
 * Answers the commands about one event: its timeline, the details for `events.open`, and a replay. Reads the records and
 * the state of the actors; pure rules of `runtime/inspector/` compose the result.
 * @see DUR-2, INS-2 and INS-4 in docs/specification.md
 */

import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import type { Collection, Records } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import { replayMark, workMark } from '../../machines/webhook/marks.ts';
import {
  asSeen,
  type EventRecord,
  eventStatus,
  groupName,
  isRequestKept,
  type RunRecord,
} from '../../machines/webhook/record.ts';
import { noticeKeys } from '../../machines/webhook/run-notices.ts';
import type { FindEvent, FoundEvent } from '../dispatch/find-event.ts';
import { newestFirst } from '../dispatch/newest-first.ts';
import type { Platforms } from '../dispatch/platforms.ts';
import { furtherKeys } from '../dispatch/responses.ts';
import { openEvent, withFirstPayload } from '../inspector/event-opened.ts';
import type { Inspector } from '../inspector/inspector.ts';
import { timelineOf } from '../inspector/timeline.ts';
import { type KnownDelivery, noWork, type TimelineSources, type WorkOfRun } from '../inspector/timeline-sources.ts';
import type { SpawnPorts } from '../webhook/exchanges.ts';
import { replayEvent } from '../webhook/own-request.ts';
import type { EventReplay } from './contract/event-wire.ts';
import type { ReplayedEvents } from './contract/events.ts';
import { Refusal } from './contract/refusal.ts';
import type { EventView } from './view.ts';

export interface EventViewPorts {
  readonly inspector: Pick<Inspector, 'actor' | 'stepsOf'>;
  readonly keeper: Pick<JournalKeeper, 'journal'>;
  readonly replay: SpawnPorts;
  readonly pauseOf: Platforms['pauseOf'];
  /** The calls and questions of a run. */
  readonly workOf: (run: string) => WorkOfRun;
  /** Redacts secrets in the records that people read. */
  readonly redact: <Given extends object>(record: Given) => Given;
  readonly find: FindEvent;
  readonly get: <In extends Collection>(collection: In, key: string | undefined) => Promise<Records[In] | undefined>;
  readonly runOf: (key: string | undefined) => Promise<RunRecord | undefined>;
}

/** Maximum events of a batch, and replays of an event, in the answer. */
const maxListed = 200;
/** How many events are replayed at a time. */
const replaysAtOnce = 50;
/** Maximum number of refusals in an answer. */
const maxRefusals = 20;
/** How often the row of a replay is looked up: half a second in total, longer than a commit takes. */
const maxLooks = 50;
const lookMs = 10;

export function createEventView(ports: EventViewPorts): EventView {
  const { inspector, keeper, find, get, runOf } = ports;

  const stateOf = (actor: string): string | undefined => inspector.actor(actor)?.state;

  async function deliveryAt(at: string | undefined): Promise<KnownDelivery | undefined> {
    const kept = await get('deliveries', at);
    if (at === undefined || kept === undefined) return undefined;
    const seen = asSeen(kept, stateOf(`deliveries/${at}`));
    return { key: at, record: seen, pause: ports.pauseOf(seen) };
  }

  async function deliveriesAt(keys: readonly string[]): Promise<readonly KnownDelivery[]> {
    return (await Promise.all(keys.map(deliveryAt))).filter((one) => one !== undefined);
  }

  async function sourcesOf({ key, event, alike }: FoundEvent): Promise<TimelineSources> {
    const groupKey = event.told?.groupKey;
    const groupAt = groupKey === undefined ? undefined : groupName(event.profile, event.route, groupKey);
    // Before the run, which replaces it: so one of both is found while the run is kept.
    const group = await get('groups', groupAt);
    const run = await runOf(event.work);
    const delivery = await deliveryAt(event.work);
    const deliveries = [
      ...(delivery === undefined ? [] : [delivery]),
      ...(await deliveriesAt(furtherKeys(event.work, delivery?.record))),
      ...(await deliveriesAt(event.work === undefined ? [] : noticeKeys(event.work))),
    ];
    return {
      key,
      event,
      ...(alike === undefined ? {} : { alike }),
      status: eventStatus(event, run ?? delivery?.record),
      ...(run === undefined ? {} : { run: { key: event.work ?? key, record: run } }),
      deliveries,
      // The record of a batch key outlives a batch, so it may already belong to the next one.
      ...(group?.burst.id === event.work && group !== undefined && groupAt !== undefined
        ? { group: { key: groupAt, record: group } }
        : {}),
      ...(event.work === undefined ? noWork : ports.workOf(event.work)),
      transcript: ((await get('transcripts', event.work))?.entries ?? []) as readonly JsonObject[],
      stepsOf: (actor) => inspector.actor(actor)?.steps ?? inspector.stepsOf(actor),
      stateOf,
    };
  }

  /** The arrival times of a batch's events, oldest first; empty without a batch. */
  async function joinedOf({ work, told }: EventRecord): Promise<readonly number[]> {
    if (work === undefined || told?.groupKey === undefined) return [];
    const question = { collection: 'events', limit: maxListed, marks: [[workMark(work)]] } as const;
    const others = await newestFirst(keeper.journal(), question, ({ value }) =>
      value.work === work ? value.receivedAtMs : undefined,
    );
    const first = await get('events', work);
    return [...new Set([...(first === undefined ? [] : [first.receivedAtMs]), ...others])].sort((a, b) => a - b);
  }

  function replaysOf(of: string): Promise<readonly EventReplay[]> {
    const question = { collection: 'events', limit: maxListed, marks: [[replayMark(of)]] } as const;
    return newestFirst(keeper.journal(), question, ({ key, value }) => {
      const { replayOf, receivedAtMs: received, isEdited, isDry } = value;
      if (replayOf !== of) return undefined;
      return { key, received, ...(isEdited ? { edited: true } : {}), ...(isDry ? { dry: true } : {}) };
    });
  }

  /** The event, if it is to be replayed among several, or why it is not. */
  async function meantOf(key: string): Promise<EventRecord | 'replayed_before' | 'with_response' | undefined> {
    const event = await get('events', key);
    if (event === undefined || event.outcome === 'handshake' || event.isDry || !isRequestKept(event)) return undefined;
    if (event.work !== undefined) {
      // One that a crash interrupted is taken up again by itself.
      if ((await keeper.journal()?.get('runs', event.work))?.dueAtMs !== undefined) return undefined;
      const delivery = await get('deliveries', event.work);
      if (delivery?.status === 'dropped') return undefined;
      // The sender of a failed one was answered so, and no retry of several takes it.
      if (delivery !== undefined && delivery.status !== 'failed') return 'with_response';
    }
    return (await replaysOf(key)).some(({ dry }) => dry !== true) ? 'replayed_before' : event;
  }

  async function replayAll(keys: readonly string[]): Promise<ReplayedEvents> {
    const counts = { replayed: 0, replayed_before: 0, with_response: 0, left: 0 };
    const refusals: ReplayedEvents['refusals'][number][] = [];
    for (let from = 0; from < keys.length; from += replaysAtOnce) {
      const ids = keys.slice(from, from + replaysAtOnce);
      // Read before the first is spawned, so that they are spawned in their order.
      const events = await Promise.all(ids.map(meantOf));
      const answers = events.map((event, at) => {
        if (typeof event !== 'object') return event;
        return replayEvent(ids[at] ?? '', event, { isOnce: true }, ports.replay).catch(asAnswer);
      });
      for (const [at, answer] of (await Promise.all(answers)).entries()) {
        if (answer === undefined) continue;
        if (typeof answer === 'string') counts[answer] += 1;
        // Another one of several was faster.
        else if (statusWord(answer.body) === 'duplicate') counts.replayed_before += 1;
        else if (answer.status < 300) counts.replayed += 1;
        else {
          counts.left += 1;
          const error = `answered ${answer.status}: ${answer.body}`;
          if (refusals.length < maxRefusals) refusals.push({ id: ids[at] ?? '', code: 'replay-refused', error });
        }
      }
      await turn();
    }
    return { ...counts, refusals };
  }

  return {
    async why(id, choice) {
      const found = await find(id, choice);
      return found === undefined ? undefined : ports.redact(timelineOf(await sourcesOf(found)));
    },
    async openEvent(id, choice, { whole = false, answerOf, heldBy } = {}) {
      const found = await find(id, choice);
      if (found === undefined) return undefined;
      const sources = {
        ...(await sourcesOf(found)),
        joined: await joinedOf(found.event),
        replays: await replaysOf(found.key),
        answer: answerOf?.(found.event),
        held: heldBy?.(found.event),
      };
      const opened = ports.redact(openEvent(sources));
      return whole ? opened : withFirstPayload(opened);
    },
    async replay(id, choice, changes = {}) {
      const found = await find(id, choice, true);
      if (found === undefined || (!isRequestKept(found.event) && changes.payload === undefined)) return undefined;
      const { status, body, key } = await replayEvent(found.key, found.event, changes, ports.replay);
      // The row of an event without work is written after its answer.
      for (let tries = 0; tries < maxLooks && (await find(key)) === undefined; tries += 1) await wait(lookMs);
      return { status, body, key };
    },
    replayEach: replayAll,
  };
}

/** The status in the gateway's own answer. */
function statusWord(body: string): unknown {
  return (readJson(body) as { readonly status?: unknown } | undefined)?.status;
}

/** A gateway that begins or ends takes none. */
function asAnswer(thrown: unknown): { readonly status: number; readonly body: string } {
  if (!(thrown instanceof Refusal)) throw thrown;
  return { status: 503, body: thrown.message };
}
