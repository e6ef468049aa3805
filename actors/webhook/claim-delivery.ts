/**
 * Claims a delivery id and puts the event with the work it leads to on disk, all in one commit: either the whole event
 * is accepted, or nothing of it. Knows the four plans and no HTTP.
 * @see IDM-1, DUR-1 and CRN-2 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import type { Burst } from '../../machines/webhook/coalesce.ts';
import {
  claimName,
  type DeliveryRecord,
  type EventRecord,
  groupName,
  isOver,
  isWaitedFor,
  type RunRecord,
  releasesId,
  type Told,
} from '../../machines/webhook/record.ts';
import type { CommitVerdict, Write } from '../store/journal.ts';
import type { JournalKeeper } from '../store/keeper.ts';
import type { Bursts } from './bursts.ts';

/** A sender waits this long for a direct delivery (DIS-2). */
const directDeadlineMs = 30_000;
/** A delivery id is remembered for one hour (IDM-1). */
export const claimLifeMs = 3_600_000;

/** An event that is about to be claimed. A copy with one more field would cost a request a microsecond. */
export type EventDraft = Omit<EventRecord, 'work' | 'told'> & { work?: string | undefined; told?: Told | undefined };

export interface ClaimRequest {
  /** The key of the event, and of the run or delivery that it leads to. */
  readonly key: string;
  readonly nowMs: number;
  /** The claim's from here on: it writes the key of the event's work into it. */
  readonly event: EventDraft;
  readonly plan:
    | { readonly kind: 'run' }
    | { readonly kind: 'direct' }
    | { readonly kind: 'cron'; readonly job: string }
    | { readonly kind: 'group'; readonly groupKey: string; readonly windowMs: number; readonly maxWaitMs: number };
  /** Writes that come before the claim in its commit. */
  readonly first?: () => readonly Write[];
}

/** The cron job as it stands when the event comes. */
export type JobFinding =
  | {
      readonly kind: 'ready';
      readonly id: string;
      readonly prompt: string;
      readonly skills: readonly string[];
      readonly model?: string;
      readonly deliver: string;
      readonly deliverExtra: JsonObject;
    }
  | { readonly kind: 'dropped'; readonly reason: string; readonly id?: string };

/** What a granted claim leads to; the wards are told of it once the commit is on disk. */
export type Opened =
  | { readonly kind: 'run'; readonly key: string; readonly record: RunRecord }
  | { readonly kind: 'direct'; readonly key: string; readonly record: DeliveryRecord }
  | {
      readonly kind: 'group';
      readonly key: string;
      readonly profile: string;
      readonly route: string;
      readonly burst: Burst;
    }
  | { readonly kind: 'nothing' };

export type ClaimVerdict =
  | { readonly kind: 'granted'; readonly opened: Opened; readonly work?: string; readonly reason?: string }
  | { readonly kind: 'duplicate' }
  /** The id belongs to a direct delivery whose outcome is not known yet: that may still fail and give the id back. */
  | { readonly kind: 'pending' }
  /** `stale` where another event was faster, and the claim may be tried again. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly stale?: true };

export interface ClaimPorts {
  readonly keeper: JournalKeeper;
  readonly bursts: Bursts;
  readonly findJob: (profile: ProfileName, job: string) => JobFinding;
  /** Where a direct delivery goes as the targets are now; undefined where its target knows no places. */
  readonly placeOf: (delivery: DeliveryRecord) => string | undefined;
  /** False while so many runs wait in memory that further ones stay on disk until some have ended. */
  readonly hasRoom: () => boolean;
}

/** Calls back exactly once, possibly before it returns: the hot path has no promise to wait for. */
export type ClaimDelivery = (request: ClaimRequest, settled: Settled) => void;

type Settled = (verdict: ClaimVerdict) => void;

/** As many of one id that was released may come at the same instant. */
const mostRedeliveries = 8;

export function createClaimDelivery(ports: ClaimPorts): ClaimDelivery {
  return (request, settled) => {
    attempt(request, (verdict) => {
      if (verdict.kind === 'duplicate' && releasing(ports, request).length > 0) redeliver(request, settled);
      else settled(verdict);
    });
  };

  /** Takes the id from an event that failed for good. Of several that try, one succeeds and the others find its claim. */
  function redeliver(request: ClaimRequest, settled: Settled, tries = 1): void {
    attempt({ ...request, first: () => releasing(ports, request) }, (verdict) => {
      if (verdict.kind === 'unavailable' && verdict.stale === true && tries < mostRedeliveries)
        redeliver(request, settled, tries + 1);
      else settled(verdict);
    });
  }

  function attempt(request: ClaimRequest, settled: Settled): void {
    switch (request.plan.kind) {
      case 'run':
        claimRun(request, request.event, [], settled);
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
    settled: Settled,
  ): void {
    ports.keeper.submit(writes, (verdict) => settled(claimVerdict(ports, verdict, granted)));
  }

  function claimRun(request: ClaimRequest, event: EventDraft, also: readonly Write[], settled: Settled): void {
    const { key, nowMs } = request;
    const record: RunRecord = {
      eventKey: key,
      profile: event.profile,
      route: event.route,
      kind: event.status === 'cron' ? 'cron' : 'agent',
      status: 'queued',
      attempt: 0,
      queuedAtMs: nowMs,
    };
    const taken = ports.hasRoom();
    const heldBy = taken ? ports.keeper.session() : undefined;
    const writes: readonly Write[] = [
      ...claim(request),
      putEvent(key, event, key),
      { kind: 'put', collection: 'runs', key, expect: 'absent', value: asJson(record), dueAtMs: nowMs, heldBy },
      ...also,
    ];
    const opened: Opened = taken ? { kind: 'run', key, record } : { kind: 'nothing' };
    commit(writes, { kind: 'granted', opened, work: key }, settled);
  }

  /** The job's own settings apply; what the route rendered is context for this one run (CRN-2). */
  function claimCron(request: ClaimRequest, jobName: string, settled: Settled): void {
    const { key, nowMs, event } = request;
    const job = ports.findJob(event.profile as ProfileName, jobName);
    if (job.kind === 'dropped') {
      const { id, reason } = job;
      const dropped = { ...event, reason, ...(id === undefined ? {} : { cronJob: id }) };
      commit(
        [...claim(request), { kind: 'put', collection: 'events', key, expect: 'absent', value: asJson(dropped) }],
        { kind: 'granted', opened: { kind: 'nothing' }, reason },
        settled,
      );
      return;
    }
    const firing: EventDraft = {
      ...event,
      prompt: event.prompt === undefined ? job.prompt : `${job.prompt}\n\n${event.prompt}`,
      skills: job.skills,
      ...(job.model === undefined ? {} : { model: job.model }),
      deliver: job.deliver,
      deliverExtra: job.deliverExtra,
      cronJob: job.id,
    };
    // The claim that the scheduler takes for a firing too: no firing happens twice.
    const name = `cron/${event.profile}/${job.id}/${key}`;
    const value = { eventKey: key };
    claimRun(request, firing, [{ kind: 'claim', name, value, nowMs, expiresAtMs: nowMs + claimLifeMs }], settled);
  }

  /** A direct delivery is marked as sending at once: the sender waits for it. */
  function claimDirect(request: ClaimRequest, settled: Settled): void {
    const { key, nowMs, event } = request;
    const direct: DeliveryRecord = {
      eventKey: key,
      deliveryId: event.deliveryId,
      profile: event.profile,
      route: event.route,
      event: event.event,
      target: event.deliver ?? 'log',
      status: 'sending',
      text: event.prompt ?? '',
      extra: event.deliverExtra ?? {},
      queuedAtMs: nowMs,
      attempts: 1,
      startedAtMs: nowMs,
      answerByMs: nowMs + directDeadlineMs,
    };
    const chat = ports.placeOf(direct);
    const record = chat === undefined ? direct : { ...direct, chat };
    const heldBy = ports.keeper.session();
    const writes: readonly Write[] = [
      ...claim(request),
      putEvent(key, event, key),
      { kind: 'put', collection: 'deliveries', key, expect: 'absent', value: asJson(record), dueAtMs: nowMs, heldBy },
    ];
    commit(writes, { kind: 'granted', opened: { kind: 'direct', key, record }, work: key }, settled);
  }

  function joinGroup(
    request: ClaimRequest,
    plan: Extract<ClaimRequest['plan'], { kind: 'group' }>,
    settled: Settled,
  ): void {
    const { key: eventKey, nowMs, event } = request;
    const { profile, route } = event;
    const key = groupName(profile, route, plan.groupKey);
    const { windowMs, maxWaitMs, groupKey } = plan;
    ports.bursts.join(
      { key, profile, route, groupKey, eventKey, nowMs, windowMs, maxWaitMs },
      (burst, record) => [...claim(request), putEvent(eventKey, event, burst.id), record],
      ({ verdict, burst, absorbed }) => {
        const opened: Opened = absorbed ? { kind: 'nothing' } : { kind: 'group', key, profile, route, burst };
        settled(claimVerdict(ports, verdict, { kind: 'granted', opened, work: burst.id }));
      },
    );
  }
}

function putEvent(key: string, event: EventDraft, work: string): Write {
  event.work = work;
  return { kind: 'put', collection: 'events', key, expect: 'absent', value: asJson(event) };
}

function claim({ key, nowMs, event, first }: ClaimRequest): readonly Write[] {
  const taken: Write = {
    kind: 'claim',
    name: claimName(event.profile, event.route, event.deliveryId),
    value: { eventKey: key },
    nowMs,
    expiresAtMs: nowMs + claimLifeMs,
    event: key,
  };
  return first === undefined ? [taken] : [...first(), taken];
}

/**
 * Returns the writes that release an id whose event failed for good (IDM-2), none where it did not. The run's record is
 * written over the version that was read, so that of two events one finds the claim of the other.
 */
function releasing({ keeper }: Pick<ClaimPorts, 'keeper'>, { key, nowMs, event }: ClaimRequest): readonly Write[] {
  const journal = keeper.journal();
  const name = claimName(event.profile, event.route, event.deliveryId);
  const before = journal?.claimed(name, nowMs)?.eventKey;
  if (journal === undefined || typeof before !== 'string') return [];
  const work = (journal.get('events', before)?.value as unknown as EventRecord | undefined)?.work;
  const run = work === undefined ? undefined : journal.get('runs', work);
  if (work === undefined || run === undefined || run.dueAtMs !== undefined) return [];
  const delivery = journal.get('deliveries', work)?.value as unknown as DeliveryRecord | undefined;
  if (!releasesId(run.value as unknown as RunRecord, delivery)) return [];
  event.told = { ...event.told, repeats: before };
  const value = { ...run.value, repeatedBy: key };
  return [
    { kind: 'put', collection: 'runs', key: work, value, expect: run.version },
    { kind: 'release', name },
  ];
}

function claimVerdict(
  ports: Pick<ClaimPorts, 'keeper'>,
  verdict: CommitVerdict,
  granted: Extract<ClaimVerdict, { kind: 'granted' }>,
): ClaimVerdict {
  switch (verdict.kind) {
    case 'committed':
      return granted;
    case 'claimed':
      return { kind: isPending(ports, verdict.holder) ? 'pending' : 'duplicate' };
    case 'stale':
      return { kind: 'unavailable', reason: 'another event changed its records at the same time', stale: true };
    case 'unavailable':
      return { kind: 'unavailable', reason: verdict.fault.message };
  }
}

/** Whether a claim is held by a direct delivery without an outcome; everything else that holds one is carried through. */
function isPending({ keeper }: Pick<ClaimPorts, 'keeper'>, { eventKey }: JsonObject): boolean {
  if (typeof eventKey !== 'string') return false;
  const held = keeper.journal()?.get('deliveries', eventKey)?.value as DeliveryRecord | undefined;
  return held !== undefined && isWaitedFor(held) && !isOver(held);
}

/** Records are JSON by construction; their interfaces lack the index signature that says so. */
function asJson(record: EventDraft | RunRecord | DeliveryRecord): JsonObject {
  return record as unknown as JsonObject;
}
