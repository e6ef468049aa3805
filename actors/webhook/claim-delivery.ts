/**
 * Claims a delivery id and the signature, and writes the event with its work to disk, all in one commit: either the
 * complete event is accepted, or nothing of it.
 * @see IDM-1, SEC-6, DUR-1 and CRN-2 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import type { workOf } from '../../machines/cron/job.ts';
import type { Joining } from '../../machines/webhook/coalesce.ts';
import {
  claimLifeMs,
  type DeliveryRecord,
  type EventRecord,
  type GroupRecord,
  groupName,
  type RunRecord,
  sameSignature,
} from '../../machines/webhook/record.ts';
import { progressKey, progressReport } from '../../machines/webhook/run-notices.ts';
import type { RunPlace } from '../../machines/webhook/work-queue.ts';
import type { CommitVerdict, Write } from '../store/journal.ts';
import type { JournalKeeper } from '../store/keeper.ts';
import type { Batches } from './batches.ts';
import { type Claimant, claimsOf, type EventDraft, releasing, standingOf } from './event-claims.ts';

/** How long a sender waits for a direct delivery (DIS-2). */
export const directDeadlineMs = 30_000;

export interface ClaimRequest extends Claimant {
  readonly plan:
    | { readonly kind: 'run'; readonly isDirect?: true | undefined }
    | { readonly kind: 'direct' }
    | { readonly kind: 'cron'; readonly job: string }
    | ({ readonly kind: 'group'; readonly groupKey: string } & Omit<Joining, 'eventKey' | 'nowMs'>);
}

/** The cron job at the time of the event. */
export type JobFinding =
  | { readonly kind: 'ready'; readonly work: ReturnType<typeof workOf> }
  | { readonly kind: 'dropped'; readonly reason: string; readonly id?: string };

/** What a granted claim leads to; the pools receive it once the commit is on disk. */
export type Opened =
  | { readonly kind: 'run'; readonly key: string; readonly record: RunRecord; readonly event?: EventRecord }
  | { readonly kind: 'direct'; readonly key: string; readonly record: DeliveryRecord }
  /** A direct delivery that the leader sends. */
  | { readonly kind: 'awaited'; readonly key: string }
  | ({ readonly kind: 'group'; readonly key: string } & Pick<GroupRecord, 'profile' | 'route' | 'burst'>)
  | { readonly kind: 'nothing' };

export type ClaimVerdict =
  | { readonly kind: 'granted'; readonly opened: Opened; readonly work?: string; readonly reason?: string }
  /** `reason` if the signature was a duplicate, not the id. */
  | { readonly kind: 'duplicate'; readonly reason?: string }
  /** The id or the signature belongs to a direct delivery without an outcome yet, which may fail and release it. */
  | { readonly kind: 'pending' }
  /** `stale` if another event was faster; the claim may be tried again. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly stale?: true };

export interface ClaimPorts {
  readonly keeper: JournalKeeper;
  readonly batches: Batches;
  readonly findJob: (profile: string, job: string) => JobFinding;
  /** Where the targets would deliver a direct delivery now; undefined if its target has no places. */
  readonly placeOf: (delivery: DeliveryRecord) => string | undefined;
  /** False while the runs in memory are at their limit; further runs stay on disk until some have ended. */
  readonly hasRoom: (run: RunPlace) => boolean;
  /**
   * The report that a run was accepted (DLV-6): its number in the order of deliveries, and its start once it is on disk.
   */
  readonly reports: {
    readonly nextOrder: () => number;
    readonly open: (key: string, record: DeliveryRecord) => void;
  };
}

/** Calls back exactly once, possibly before it returns, so that the hot path needs no promise. */
export type ClaimDelivery = (request: ClaimRequest, settled: Settled) => void;

type Settled = (verdict: ClaimVerdict) => void;

/** How many redeliveries of one released id may arrive at once. */
const maxRedeliveries = 8;

export function createClaimDelivery(ports: ClaimPorts): ClaimDelivery {
  return (request, settled) => {
    request.event.node = ports.keeper.node();
    attempt(request, (verdict) => {
      if (verdict.kind === 'duplicate') void redeliver(request, verdict, settled);
      else settled(verdict);
    });
  };

  /**
   * Takes the id from an event that failed permanently. Of several that try, one succeeds and the others find its claim.
   */
  async function redeliver(request: ClaimRequest, found: ClaimVerdict, settled: Settled, tries = 1): Promise<void> {
    const first = await releasing(ports.keeper.journal(), request).catch(unreadable);
    if ('kind' in first) settled(first);
    else if (first.length === 0 && tries === 1) settled(found);
    else {
      attempt({ ...request, first }, (verdict) => {
        if (verdict.kind === 'unavailable' && verdict.stale === true && tries < maxRedeliveries)
          void redeliver(request, verdict, settled, tries + 1);
        else settled(verdict);
      });
    }
  }

  function attempt(request: ClaimRequest, settled: Settled): void {
    switch (request.plan.kind) {
      case 'run':
        claimRun(request, request.event, { isDirect: request.plan.isDirect }, settled);
        break;
      case 'cron':
        claimCron(request, request.plan.job, settled);
        break;
      case 'direct':
        claimDirect(request, settled);
        break;
      case 'group':
        joinGroup(request, request.plan, settled);
    }
  }

  function commit(
    writes: readonly Write[],
    granted: Extract<ClaimVerdict, { kind: 'granted' }>,
    { event, settled }: { readonly event: EventDraft; readonly settled: Settled },
  ): void {
    ports.keeper.submit(writes, (verdict) => settle(verdict, granted, { event, settled }));
  }

  /** An accepted event is answered at once; only an earlier claim requires a read. */
  function settle(
    verdict: CommitVerdict,
    granted: Extract<ClaimVerdict, { kind: 'granted' }>,
    { event, settled }: { readonly event: EventDraft; readonly settled: Settled },
  ): void {
    if (verdict.kind === 'committed') settled(granted);
    else void refusalOf(ports, verdict, event).catch(unreadable).then(settled);
  }

  function claimRun(
    request: ClaimRequest,
    event: EventDraft,
    { also = [], isDirect }: { readonly also?: readonly Write[]; readonly isDirect?: true | undefined },
    settled: Settled,
  ): void {
    const { key, nowMs } = request;
    const record: RunRecord = {
      eventKey: key,
      profile: event.profile,
      route: event.route,
      kind: event.status === 'cron' ? 'cron' : 'agent',
      status: 'queued',
      attempt: 0,
      queuedAtMs: nowMs,
      ...(isDirect === undefined ? {} : { isDirect }),
      ...(event.isDry === undefined ? {} : { isDry: event.isDry }),
    };
    const taken = ports.hasRoom(event);
    const heldBy = taken ? ports.keeper.session() : undefined;
    const writes: readonly Write[] = [
      ...claimsOf(request),
      putEvent(key, event, key),
      { kind: 'put', collection: 'runs', key, expect: 'absent', value: record, dueAtMs: nowMs, heldBy },
      ...also,
    ];
    const opened: Opened = taken ? { kind: 'run', key, record, event } : { kind: 'nothing' };
    const report = acceptance(request, key);
    commit(
      [...writes, ...report.writes],
      { kind: 'granted', opened, work: key },
      { event, settled: report.opening(settled) },
    );
  }

  /** The job's own settings apply; the text that the route rendered is context for this run only (CRN-2). */
  function claimCron(request: ClaimRequest, jobName: string, settled: Settled): void {
    const { key, event } = request;
    const job = ports.findJob(event.profile, jobName);
    if (job.kind === 'dropped') {
      const { id, reason } = job;
      const dropped = { ...event, reason, ...(id === undefined ? {} : { cronJob: id }) };
      commit(
        [...claimsOf(request), { kind: 'put', collection: 'events', key, expect: 'absent', value: dropped }],
        { kind: 'granted', opened: { kind: 'nothing' }, reason },
        { event, settled },
      );
      return;
    }
    const { work } = job;
    const firing: EventDraft = {
      ...event,
      ...work,
      prompt: event.prompt === undefined ? work.prompt : `${work.prompt}\n\n${event.prompt}`,
      onFailure: event.isDry ? undefined : work.onFailure,
    };
    // The scheduler makes the same claim for a firing, so no firing happens twice.
    const name = `cron/${event.profile}/${work.cronJob}/${key}`;
    const value = { eventKey: key };
    const also: Write[] = [{ kind: 'claim', name, value, forMs: claimLifeMs }];
    claimRun(request, firing, { also }, settled);
  }

  /**
   * A direct delivery is marked as sending at once, because the sender waits for it. On a shared journal the leader does
   * that.
   */
  function claimDirect(request: ClaimRequest, settled: Settled): void {
    const { key, nowMs, event } = request;
    const isShared = ports.keeper.isShared();
    const direct: DeliveryRecord = {
      eventKey: key,
      deliveryId: event.deliveryId,
      profile: event.profile,
      route: event.route,
      event: event.event,
      target: event.deliver ?? 'log',
      status: isShared ? 'queued' : 'sending',
      text: event.prompt ?? '',
      extra: event.deliverExtra ?? {},
      queuedAtMs: nowMs,
      ...(isShared ? {} : { attempts: 1, startedAtMs: nowMs }),
      answerByMs: nowMs + directDeadlineMs,
    };
    const chat = isShared ? undefined : ports.placeOf(direct);
    const record = chat === undefined ? direct : { ...direct, chat };
    const heldBy = isShared ? undefined : ports.keeper.session();
    const writes: readonly Write[] = [
      ...claimsOf(request),
      putEvent(key, event, key),
      { kind: 'put', collection: 'deliveries', key, expect: 'absent', value: record, dueAtMs: nowMs, heldBy },
    ];
    const opened: Opened = isShared ? { kind: 'awaited', key } : { kind: 'direct', key, record };
    commit(writes, { kind: 'granted', opened, work: key }, { event, settled });
  }

  function joinGroup(
    request: ClaimRequest,
    plan: Extract<ClaimRequest['plan'], { kind: 'group' }>,
    settled: Settled,
  ): void {
    const { key: eventKey, nowMs, event } = request;
    const { profile, route } = event;
    const key = groupName(profile, route, plan.groupKey);
    const { windowMs, maxWaitMs, groupKey, mode, isDirect } = plan;
    let report = noReport;
    ports.batches.join(
      { key, profile, route, groupKey, eventKey, nowMs, windowMs, maxWaitMs, mode, isDirect },
      (burst, record) => {
        report = acceptance(request, burst.id);
        return [...claimsOf(request), putEvent(eventKey, event, burst.id), record, ...report.writes];
      },
      ({ verdict, burst, absorbed, isElsewhere }) => {
        const opened: Opened =
          absorbed || isElsewhere ? { kind: 'nothing' } : { kind: 'group', key, profile, route, burst };
        settle(verdict, { kind: 'granted', opened, work: burst.id }, { event, settled: report.opening(settled) });
      },
    );
  }

  /** The write of the report that a run was accepted, and its start once the event is on disk. */
  function acceptance({ key: eventKey, nowMs, event }: ClaimRequest, run: string): Acceptance {
    if (event.reports === undefined) return noReport;
    const progress = { kind: 'accepted', run } as const;
    const order = ports.reports.nextOrder();
    const value = progressReport(progress, { eventKey, event, nowMs, order });
    if (value === undefined) return noReport;
    const key = progressKey(eventKey, progress);
    const isShared = ports.keeper.isShared();
    const heldBy = isShared ? undefined : ports.keeper.session();
    return {
      writes: [{ kind: 'put', collection: 'deliveries', key, expect: 'absent', value, dueAtMs: order, heldBy }],
      opening: (settled) => (verdict) => {
        if (verdict.kind === 'granted' && !isShared) ports.reports.open(key, value);
        settled(verdict);
      },
    };
  }
}

interface Acceptance {
  readonly writes: readonly Write[];
  readonly opening: (settled: Settled) => Settled;
}

const noReport: Acceptance = { writes: [], opening: (settled) => settled };

function putEvent(key: string, event: EventDraft, work: string): Write {
  event.work = work;
  return { kind: 'put', collection: 'events', key, expect: 'absent', value: event };
}

async function refusalOf(
  { keeper }: Pick<ClaimPorts, 'keeper'>,
  verdict: Exclude<CommitVerdict, { kind: 'committed' }>,
  event: EventDraft,
): Promise<ClaimVerdict> {
  switch (verdict.kind) {
    case 'claimed': {
      const before = await standingOf(keeper, verdict.holder.eventKey);
      // An event that another replay has accepted is not replayed again, however its delivery ends.
      if (before.isPending && event.replayOf === undefined) return { kind: 'pending' };
      // Without a signature of its own, it repeats an id, or an event that was replayed meanwhile.
      const reason = event.signatureDigest && before.event && sameSignature(before.event, event);
      return reason ? { kind: 'duplicate', reason } : { kind: 'duplicate' };
    }
    case 'stale':
      return { kind: 'unavailable', reason: 'another event changed its records at the same time', stale: true };
    case 'unavailable':
      return { kind: 'unavailable', reason: verdict.fault.message };
  }
}

function unreadable(thrown: unknown): ClaimVerdict {
  return { kind: 'unavailable', reason: causeOf(thrown) };
}
