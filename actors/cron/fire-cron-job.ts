/**
 * Fires a cron job at most once for each due time, even with several gateways on one journal: one commit writes the claim
 * of the due time, the event, its run and the job's mark (how far it has come). A skipped firing is recorded with its
 * reason in the same way.
 * @see CRN-1, CRN-2 and DUR-1 in docs/specification.md
 */

import { ownersToolsets } from '../../machines/agent/toolset.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { type CronJob, defaultGraceMs, onTimeMs, restOf, workOf } from '../../machines/cron/job.ts';
import type { EventRecord, RunRecord } from '../../machines/webhook/record.ts';
import type { RunPlace } from '../../machines/webhook/work-queue.ts';
import type { CommitVerdict, Write } from '../store/journal.ts';
import type { JournalKeeper } from '../store/keeper.ts';
import type { Opened } from '../webhook/claim-delivery.ts';

/** An event of a job: a scheduled or manual firing, or a skipped due time. */
export type CronEventRecord = EventRecord & { readonly cronJob: string; readonly dueAtMs?: number };

/** How far a job has come. Survives restarts and is shared by all gateways of the journal. */
export interface CronMark {
  /** Due times up to and including this one are settled. */
  readonly dueAtMs: number;
  /** Fingerprint of the schedule that the mark belongs to. A changed schedule begins anew. */
  readonly print: string;
  /** The due time fell into a pause, which has its entry in the history with it. */
  readonly rested?: true;
  /** The run of the last firing. */
  readonly run?: string;
  /** Unique among the job's marks. */
  readonly holder?: string;
}

export interface DueTime {
  readonly dueAtMs: number;
  /** The oldest due time that this firing replaces, if several were missed. */
  readonly missedSinceMs?: number;
}

/** Input of every entry of the history. */
export interface Entry {
  /** The key of the event, and of its run. */
  readonly key: string;
  readonly nowMs: number;
  readonly profile: string;
  readonly job: CronJob;
}

export type FiringVerdict =
  | { readonly kind: 'granted'; readonly run: string; readonly opened: Opened }
  /** This due time was already handled, here or by another gateway. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly reason: string };

type Unfired = Exclude<FiringVerdict, { readonly kind: 'granted' }>;

export type NoteVerdict = { readonly kind: 'noted' } | Unfired;

export interface FireCronJob {
  /** Fires for a due time of the schedule. */
  due(entry: Entry, due: DueTime, print: string): Promise<FiringVerdict>;
  /** Fires now, independent of the schedule. The context is added to this run's prompt only. */
  byHand(entry: Entry, context: string | undefined): Promise<FiringVerdict>;
  /** Records a due time as skipped; it is never fired. */
  pass(entry: Entry, due: DueTime, print: string, reason: string): Promise<NoteVerdict>;
  /** Records an outcome of a job that has no due time, once per name. */
  note(entry: Entry, reason: string, once: string): Promise<NoteVerdict>;
  /**
   * Makes a schedule begin now, so that nothing before was due. Resolves with `taken` if the mark is no longer `found`.
   */
  begin(entry: Omit<Entry, 'key'>, print: string, found: CronMark | undefined): Promise<NoteVerdict>;
  mark(profile: string, job: string): Promise<CronMark | undefined>;
  /** The run of the last firing, while it waits, runs or delivers. */
  inFlight(mark: CronMark | undefined): Promise<string | undefined>;
}

interface FirePorts {
  readonly keeper: JournalKeeper;
  /** False while the runs in memory are at their limit; further runs stay on disk until some have ended. */
  readonly hasRoom: (run: RunPlace) => boolean;
}

/** Long enough that no clock that is set back reaches the due time again. */
const claimLifeMs = 7 * 86_400_000;
/** Longer than the longest gap of any schedule: the 29th of February, up to eight years apart. */
const markLifeMs = 10 * 366 * 86_400_000;

export function createFireCronJob({ keeper, hasRoom }: FirePorts): FireCronJob {
  async function fire(entry: Entry, event: CronEventRecord, writes: readonly Write[]): Promise<FiringVerdict> {
    const { key, nowMs, profile } = entry;
    const record: RunRecord = {
      eventKey: key,
      profile,
      route: event.route,
      kind: 'cron',
      status: 'queued',
      attempt: 0,
      queuedAtMs: nowMs,
    };
    const taken = hasRoom(record);
    const session = keeper.session();
    const verdict = await keeper.commit([
      ...writes,
      putEvent(key, { ...event, work: key }),
      {
        kind: 'put',
        collection: 'runs',
        key,
        expect: 'absent',
        value: record,
        dueAtMs: nowMs,
        ...(taken && session !== undefined ? { heldBy: session } : {}),
      },
    ]);
    if (verdict.kind !== 'committed') return refusalOf(verdict);
    return { kind: 'granted', run: key, opened: taken ? { kind: 'run', key, record } : { kind: 'nothing' } };
  }

  function putEvent(key: string, event: CronEventRecord): Write {
    return { kind: 'put', collection: 'events', key, expect: 'absent', value: { ...event, node: keeper.node() } };
  }

  async function write(writes: readonly Write[]): Promise<NoteVerdict> {
    const verdict = await keeper.commit(writes);
    return verdict.kind === 'committed' ? { kind: 'noted' } : refusalOf(verdict);
  }

  return {
    due: (entry, due, print) =>
      fire(entry, dueEvent(entry, due, 'cron', lateness(entry, due)), [
        dueClaim(entry, due),
        ...markWrites(entry, { dueAtMs: due.dueAtMs, print, run: entry.key }),
      ]),
    byHand(entry, context) {
      const { key, profile, job } = entry;
      const prompt = context === undefined ? job.prompt : `${job.prompt}\n\n${context}`.trimStart();
      const event = { ...eventOf(entry, 'cron.manual', 'cron'), deliveryId: `cron-${job.id}-${key}`, prompt };
      // Webhooks that fire a job write the same claim.
      return fire(entry, event, [claim(`cron/${profile}/${job.id}/${key}`, { eventKey: key }, claimLifeMs)]);
    },
    async pass(entry, due, print, reason) {
      const rested = restOf(entry.job) === undefined ? {} : ({ rested: true } as const);
      return write([
        dueClaim(entry, due),
        ...markWrites(entry, { dueAtMs: due.dueAtMs, print, ...rested, ...(await lastRun(entry)) }),
        putEvent(entry.key, dueEvent(entry, due, 'ignored', reason)),
      ]);
    },
    note(entry, reason, once) {
      const { key, profile, job } = entry;
      return write([
        claim(`cron-note/${profile}/${job.id}/${once}`, { eventKey: key }, markLifeMs),
        putEvent(key, { ...eventOf(entry, 'cron.note', 'ignored'), deliveryId: `cron-${job.id}-${key}`, reason }),
      ]);
    },
    async begin(entry, print, found) {
      const run = found?.run === undefined ? {} : { run: found.run };
      const [release, claim] = markWrites(entry, { dueAtMs: entry.nowMs, print, ...run }, found?.holder);
      return write(found === undefined ? [claim] : [release, claim]);
    },
    mark,
    async inFlight(mark) {
      if (mark?.run === undefined) return undefined;
      // A finished run has no due time.
      const run = await keeper.journal()?.get('runs', mark.run);
      return run?.dueAtMs === undefined ? undefined : mark.run;
    },
  };

  async function lastRun({ profile, job }: Omit<Entry, 'key'>): Promise<{ readonly run?: string }> {
    const run = (await mark(profile, job.id))?.run;
    return run === undefined ? {} : { run };
  }

  async function mark(profile: string, job: string): Promise<CronMark | undefined> {
    return (await keeper.journal()?.claimed(markName(profile, job))) as CronMark | undefined;
  }
}

/** The claim is named by job and due time, so it is the same in every gateway and after every restart. */
function dueClaim({ key, nowMs, profile, job }: Entry, { dueAtMs }: DueTime): Write {
  const lifeMs = Math.max(0, dueAtMs - nowMs) + (job.graceMs ?? defaultGraceMs) + claimLifeMs;
  return claim(`cron/${profile}/${job.id}/${dueAtMs}`, { eventKey: key }, lifeMs);
}

/** A mark is a claim that is released and taken again, because claims are what the journal keeps beside records. */
function markWrites({ profile, job }: Omit<Entry, 'key'>, mark: CronMark, over?: string): [Write, Write] {
  const name = markName(profile, job.id);
  const holder = `${mark.print} ${mark.dueAtMs}`;
  return [
    { kind: 'release', name, ...(over === undefined ? {} : { holder: over }) },
    claim(name, { ...mark, holder }, markLifeMs),
  ];
}

function claim(name: string, value: JsonObject, forMs: number): Write {
  return { kind: 'claim', name, value, forMs };
}

function markName(profile: string, job: string): string {
  return `cron-mark/${profile}/${job}`;
}

function dueEvent(
  entry: Entry,
  { dueAtMs }: DueTime,
  status: 'cron' | 'ignored',
  reason: string | undefined,
): CronEventRecord {
  return {
    ...eventOf(entry, 'cron.due', status),
    deliveryId: `cron-${entry.job.id}-${compactTime(dueAtMs)}`,
    dueAtMs,
    ...(reason === undefined ? {} : { reason }),
  };
}

function eventOf({ key, nowMs, profile, job }: Entry, event: string, status: 'cron' | 'ignored'): CronEventRecord {
  return {
    deliveryId: key,
    route: `cron/${job.name}`,
    profile,
    event,
    status,
    receivedAtMs: nowMs,
    headers: {},
    body: '',
    toolsets: ownersToolsets,
    ...workOf(job),
  };
}

/** Undefined for a firing on time; else how late it is and which missed firings it replaces. */
function lateness({ nowMs }: Entry, { dueAtMs, missedSinceMs }: DueTime): string | undefined {
  const lateMs = nowMs - dueAtMs;
  if (missedSinceMs === undefined && lateMs < onTimeMs) return undefined;
  const late = `${Math.max(0, Math.round(lateMs / 1_000))} s late`;
  return missedSinceMs === undefined
    ? late
    : `${late}; replaces every firing missed since ${new Date(missedSinceMs).toISOString()}`;
}

function refusalOf(verdict: Exclude<CommitVerdict, { readonly kind: 'committed' }>): Unfired {
  switch (verdict.kind) {
    case 'claimed':
      return { kind: 'taken' };
    case 'stale':
      return { kind: 'refused', reason: 'the key of the firing is taken' };
    case 'unavailable':
      return { kind: 'refused', reason: verdict.fault.message };
  }
}

/** `20261121T090000Z`: valid in any delivery id. */
function compactTime(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+/, '').replace(/[-:]/g, '');
}
