/**
 * Sends deliveries to the live targets: waits for a target's connection, respects its rate-limited queue, and resolves
 * the place of a text. Passes on to the target what a delivery's outcome shows about its platform.
 * @see DLV-2 and DLV-4 in docs/specification.md
 */

import { whyNot } from '../../actors/dispatch/deliver.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import { type Attempt, defaultRetries } from '../../machines/dispatch/next-try.ts';
import { refused, type SendOutcome, transient, type Undelivered } from '../../machines/dispatch/send-outcome.ts';
import { isKnownAgain } from '../../machines/webhook/interruption.ts';
import { type DeliveryRecord, isOver, isWaitedFor, type RunRecord } from '../../machines/webhook/record.ts';
import { nthKey } from '../../machines/webhook/responses.ts';
import { noticeKey, progressKey } from '../../machines/webhook/run-notices.ts';
import { reportedRun, runReport } from '../../machines/webhook/run-report.ts';
import { createLiveTargets, type LiveTarget, type LiveTargetsPorts } from './live-targets.ts';
import type { PlatformPause } from './target-queue.ts';
import { readAgain } from './written.ts';

export type Platforms = ReturnType<typeof createPlatforms>;

/** Also for a target without an entry in the configuration. */
const defaultOrderHoldMs = 600_000;
/** Minimum interval between the checks that deliveries cause at a platform that refuses its credentials. */
const leastCheckMs = 60_000;

export interface PlatformsPorts extends LiveTargetsPorts {
  /** The record of a run; undefined if the history no longer has it. */
  readonly runOf: (key: string) => Promise<RunRecord | undefined>;
  /** Aborts at the end of a drain: then no further piece of a text is begun, unless a sender waits for it. */
  readonly ending?: AbortSignal;
  /** The name of this gateway, if others share its journal: their configurations may differ. */
  readonly node?: () => string | undefined;
}

export function createPlatforms(ports: PlatformsPorts) {
  const { home, nowMs, steadyMs } = ports;
  const targets = createLiveTargets(ports);
  const { find } = targets;
  const turns = createDeliveryTurns({ targets, chatOf, nowMs });

  /** Its destination: its own place, else the home channel; undefined if its target does not exist or has no places. */
  function placeOf(record: DeliveryRecord): string | undefined {
    return goesOnAt(record) ?? find(record.profile, record.target)?.made.placeOf(record.extra);
  }

  /** Identifies the texts that keep an order with this one; undefined like its place. */
  function chatOf(record: DeliveryRecord): string | undefined {
    const place = placeOf(record);
    const isOrderedByEvent = find(record.profile, record.target)?.made.isOrderedByEvent === true;
    return place !== undefined && isOrderedByEvent ? `${place} ${record.eventKey}` : place;
  }

  function deduplicatesForMs(record: DeliveryRecord): number {
    return find(record.profile, record.target)?.made.deduplicatesForMs(record.extra, goesOnAt(record)) ?? 0;
  }

  function refusedHere(reason: string): Undelivered {
    const node = ports.node?.();
    const where = node === undefined ? '' : ` (at gateway "${node}", which sends the deliveries)`;
    return refused('permanent', `${reason}${where}`);
  }

  /** Returns the target if it can be sent to, else the reason. Waits for a check in progress. */
  async function reach(
    { profile, target: name }: DeliveryRecord,
    signal: AbortSignal,
  ): Promise<LiveTarget | Undelivered> {
    await targets.made();
    for (;;) {
      if (home().profiles.get(profile) === undefined)
        return refusedHere(`profile "${profile}" is not configured any more`);
      const entry = find(profile, name);
      const no = whyNot(name, entry?.settings);
      if (no !== undefined || entry === undefined) return refusedHere(no?.reason ?? `target "${name}" is not made yet`);
      const seen = targets.connectionOf(entry);
      if (signal.aborted) return transient(`${name}: stopped before it was sent`);
      if (seen?.value === 'verifying') {
        await targets.checkEnded(entry, signal);
        continue;
      }
      if (seen === undefined || seen.value !== 'failed' || !seen.context.refused) return entry;
      if (steadyMs() - entry.lastAskedMs < leastCheckMs)
        return refused('auth', `target "${name}" is not connected: ${seen.context.why ?? ''}`);
      targets.lookAgain(entry);
    }
  }

  /** @param waits ends what a delivery waits for before it sends something */
  async function deliver(record: DeliveryRecord, signal: AbortSignal, waits: AbortSignal): Promise<SendOutcome> {
    const entry = await reach(record, waits);
    if ('kind' in entry) return entry;
    const { deliveryId, queuedAtMs, text, extra, sent, unsureSinceMs } = record;
    const known = { nowMs: nowMs(), deduplicatesForMs: deduplicatesForMs(record) };
    // The wait or an outage may have lasted longer than was planned after the earlier attempt.
    if (unsureSinceMs !== undefined && !isKnownAgain(unsureSinceMs, known))
      return refused(
        'permanent',
        `${record.target}: an earlier try may have arrived, and a second is no longer recognised`,
      );
    const begunAt = goesOnAt(record);
    const request = {
      deliveryId,
      profile: record.profile,
      queuedAtMs,
      text,
      extra,
      waits,
      report: async () => {
        const run = reportedRun(record);
        // An outage of the database must not make the delivery uncertain.
        const reported = run === undefined ? undefined : await readAgain(() => ports.runOf(run));
        return runReport(nameOf(record), record, reported);
      },
      ...(sent === undefined ? {} : { sent }),
      ...(begunAt === undefined ? {} : { begunAt }),
      ...(entry.queue === undefined ? {} : { pace: entry.queue.pieces(chatOf(record) ?? '') }),
    };
    const begunAtMs = steadyMs();
    const outcome = await entry.made.deliver(request, signal);
    targets.learn(entry, outcome, begunAtMs);
    // Many may wait, and only a pause makes a wait too long.
    if (entry.queue?.pauseNow() !== undefined) turns.endTooLong();
    if (outcome.kind !== 'delivered') {
      const begun = outcome.partly ?? sent;
      // Before its slot is released, so that the next delivery cannot get ahead.
      hold(begun === undefined ? record : { ...record, sent: begun });
    }
    return outcome;
  }

  /** The target, if it is usable and delivers within the gateway. */
  function within(profile: string, name: string): LiveTarget | undefined {
    const entry = find(profile, name);
    if (entry?.made.deliverAtOnce === undefined || whyNot(name, entry.settings) !== undefined) return undefined;
    return home().profiles.has(profile) && targets.connectionOf(entry) === undefined ? entry : undefined;
  }

  /** How long later texts of a chat wait for an earlier one. */
  function orderHoldMs({ profile, target }: DeliveryRecord): number {
    return find(profile, target)?.settings.orderHoldMs ?? defaultOrderHoldMs;
  }

  /**
   * Reserves a chat for a text that waits for its next attempt: later ones wait for `order_hold_seconds`, or until it
   * ends if a part of it has arrived. A text that is only on disk may find no room in memory, so the time limit always
   * applies to it.
   */
  function hold(record: DeliveryRecord, where?: 'onDisk'): void {
    const { sent, failedSinceMs, profile, target } = record;
    const entry = find(profile, target);
    const boundMs = orderHoldMs(record);
    // A wall clock that was set back extends no wait.
    const leftMs = Math.min(boundMs, (failedSinceMs ?? nowMs()) + boundMs - nowMs());
    const untilMs = sent === undefined || where === 'onDisk' ? steadyMs() + leftMs : Number.POSITIVE_INFINITY;
    entry?.queue?.hold(chatOf(record) ?? '', nameOf(record), untilMs);
  }

  return {
    ...targets,
    async send(record: DeliveryRecord, signal: AbortSignal): Promise<Attempt> {
      const startedAtMs = nowMs();
      const waits = createStopSignal([signal, isWaitedFor(record) ? undefined : ports.ending]);
      const outcome = await deliver(record, signal, waits.signal).finally(waits.release);
      const entry = find(record.profile, record.target);
      const chat = placeOf(record);
      return {
        outcome,
        ...(chat === undefined ? {} : { chat }),
        startedAtMs,
        endedAtMs: nowMs(),
        jitter: ports.random(),
        deduplicatesForMs: deduplicatesForMs(record),
        policy: entry?.settings.retries ?? defaultRetries,
      };
    },
    /** Whether a target is within the gateway, so that a delivery to it needs no mark on disk first. */
    isWithin: (profile: string, target: string): boolean => within(profile, target) !== undefined,
    /** Delivers a text within the gateway; undefined if its target is outside, or an earlier attempt may have delivered it. */
    sendWithin(record: DeliveryRecord): Attempt | undefined {
      const { profile, target, deliveryId, text, sent, unsureSinceMs } = record;
      const entry = sent === undefined && unsureSinceMs === undefined ? within(profile, target) : undefined;
      if (entry?.made.deliverAtOnce === undefined) return undefined;
      const startedAtMs = nowMs();
      entry.made.deliverAtOnce({ deliveryId, profile, text });
      return {
        outcome: { kind: 'delivered' },
        startedAtMs,
        endedAtMs: nowMs(),
        jitter: 0,
        deduplicatesForMs: Number.POSITIVE_INFINITY,
        policy: entry.settings.retries ?? defaultRetries,
      };
    },
    ask: turns.ask,
    hold,
    orderHoldMs,
    /** Called when a delivery has ended, so that it no longer blocks its chat. */
    release: (record: DeliveryRecord): void => targets.queueOf(record.profile, record.target)?.release(nameOf(record)),
    park(): void {
      targets.park();
      turns.park();
    },
    clear(): void {
      turns.clear();
      targets.clear();
    },
    deduplicatesForMs,
    placeOf,
    chatOf,
    /** Whether a later delivery of the same chat waits in memory. */
    isFollowed: (record: DeliveryRecord): boolean =>
      find(record.profile, record.target)?.queue?.isAwaited(chatOf(record) ?? '') === true,
    /** What a delivery waits for: the pause that its platform requested, or an earlier text; undefined for neither. */
    pauseOf(record: DeliveryRecord): PlatformPause | undefined {
      if (isOver(record) || record.status === 'sending') return undefined;
      const queue = find(record.profile, record.target)?.queue;
      return queue?.pauseNow() ?? queue?.waitOf(chatOf(record) ?? '', nameOf(record));
    },
  };
}

/** The place of a text that may have begun to arrive: another home channel must get neither its rest nor all of it. */
function goesOnAt({ status, chat, sent, unsureSinceMs }: DeliveryRecord): string | undefined {
  return status === 'sending' || sent !== undefined || unsureSinceMs !== undefined ? chat : undefined;
}

interface DeliveryTurnsPorts {
  readonly targets: Pick<ReturnType<typeof createLiveTargets>, 'find' | 'connectionOf' | 'checkEnded'>;
  /** Identifies the texts that keep an order with this one. */
  readonly chatOf: (record: DeliveryRecord) => string | undefined;
  readonly nowMs: () => number;
}

/** Ends a direct delivery that gets no slot in time; false if its sender no longer waits, so that it keeps its turn. */
type Missed = (reason: string) => boolean;

/**
 * The turn of each delivery in its platform's queue: first a place in the queue, then the end of a check of the platform's
 * credentials. A direct delivery is ended when the platform's pause outlasts the wait of its sender.
 */
function createDeliveryTurns({ targets, chatOf, nowMs }: DeliveryTurnsPorts) {
  const { find } = targets;
  /** Releases the slots of deliveries that wait for a check; without those that a sender waits for. */
  const checking = new Set<() => void>();
  /** Direct deliveries that wait for their slot. */
  const awaited = new Map<DeliveryRecord, Missed>();

  /** The target of a delivery while its credentials are being checked; read anew, because its entry may change meanwhile. */
  function verifyingFor({ profile, target }: DeliveryRecord): LiveTarget | undefined {
    const entry = find(profile, target);
    return entry !== undefined && targets.connectionOf(entry)?.value === 'verifying' ? entry : undefined;
  }

  /** Waits for the check first: after a crash during it, the delivery would be considered possibly sent. */
  async function grantOnceChecked(record: DeliveryRecord, signal: AbortSignal, granted: () => void): Promise<void> {
    for (let entry = verifyingFor(record); entry !== undefined && !signal.aborted; entry = verifyingFor(record)) {
      await targets.checkEnded(entry, signal);
    }
    if (!signal.aborted) granted();
  }

  /** Calls `missed` if the platform's pause outlasts the waiting sender; returns whether that has ended the delivery. */
  function endIfTooLong(record: DeliveryRecord, missed: Missed): boolean {
    const pause = find(record.profile, record.target)?.queue?.pauseNow();
    if (pause === undefined || pause.untilMs <= (record.answerByMs ?? Number.POSITIVE_INFINITY)) return false;
    return missed(`${pause.reason}; not before ${Math.ceil((pause.untilMs - nowMs()) / 1_000)} s`);
  }

  return {
    /**
     * Requests a delivery's slot in its platform's queue; the returned function releases it. Calls `missed` with the
     * reason, possibly before this returns, if the platform's pause outlasts the sender of a direct delivery.
     */
    ask(record: DeliveryRecord, granted: () => void, missed?: Missed): () => void {
      const entry = find(record.profile, record.target);
      if (entry?.queue === undefined) {
        granted();
        return () => {};
      }
      const { queue } = entry;
      const leaving = new AbortController();
      const waitedFor = isWaitedFor(record);
      if (missed !== undefined && waitedFor && endIfTooLong(record, missed)) return () => {};
      let leave = (): void => {};
      const takeBack = (): void => {
        awaited.delete(record);
        checking.delete(takeBack);
        leaving.abort();
        leave();
      };
      const askIn = (chat: string): void => {
        if (missed !== undefined && waitedFor) awaited.set(record, missed);
        const begin = (): void => {
          const chatNow = chatOf(record) ?? '';
          if (chatNow === chat) {
            granted();
            return;
          }
          // A new home channel: beside its own texts there, it would break their order and take their turns.
          leave();
          askIn(chatNow);
        };
        leave = queue.ask(
          chat,
          () => {
            awaited.delete(record);
            if (verifyingFor(record) === undefined) {
              begin();
              return;
            }
            if (!waitedFor) checking.add(takeBack);
            void grantOnceChecked(record, leaving.signal, () => {
              checking.delete(takeBack);
              begin();
            });
          },
          { name: nameOf(record), isWaitedFor: waitedFor },
        );
      };
      askIn(chatOf(record) ?? '');
      return takeBack;
    },
    /** Ends the direct deliveries that wait for longer than their senders; called after an answer of a platform. */
    endTooLong(): void {
      for (const [record, missed] of [...awaited]) endIfTooLong(record, missed);
    },
    /** Releases the slots of deliveries that wait for a check. */
    park(): void {
      for (const takeBack of [...checking]) takeBack();
    },
    clear(): void {
      checking.clear();
      awaited.clear();
    },
  };
}

/** Identifies a delivery: the same text as its record's key. */
function nameOf({ runKey, failedRun, progress, eventKey, nth }: DeliveryRecord): string {
  if (progress !== undefined) return progressKey(eventKey, progress);
  return failedRun === undefined ? nthKey(runKey ?? eventKey, nth) : noticeKey(failedRun, nth);
}
