/**
 * Where to find the rows of a listing in the journal: by entries of the secondary index and, for a status that changes
 * later, by due work. Reads no rows; the caller does.
 * @see DUR-2 and CON-4 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { JournalReader } from '../../actors/store/journal.ts';
import {
  isPassing,
  jobMark,
  routeMark,
  shownOfWork,
  statusMark,
  targetMark,
  workMark,
} from '../../machines/webhook/marks.ts';
import { runKeyOf } from '../../machines/webhook/responses.ts';
import type { HistoryQuery } from '../control/contract/choices.ts';
import type { DeliveryQuery } from '../control/contract/deliveries.ts';
import type { SeenRun } from '../control/contract/runs.ts';
import { timeKey } from '../system/ids.ts';
import { type JournalQuery, newestFirst } from './newest-first.ts';

/** Work read in one turn of the event loop: all that waits may be a hundred thousand, and each is read three times. */
const worksOfTurn = 50;

/** The events of a route, of a status as rows show it, or of both. */
export function eventsLike(
  journal: JournalReader | undefined,
  query: HistoryQuery,
  seenRun: SeenRun,
): Promise<JournalQuery<'events'>> {
  return rowsLike('events', journal, query, {
    underWay: (at) => eventsUnderWay(at, String(query.status), seenRun),
  });
}

/** The runs of a route, of a status, or of both. */
export function runsLike(journal: JournalReader | undefined, query: HistoryQuery): Promise<JournalQuery<'runs'>> {
  return rowsLike('runs', journal, query, { underWay: (at) => at.dueKeys('runs') });
}

/** All runs that wait or are in progress. */
export async function runsUnderWay(
  journal: JournalReader | undefined,
  { since }: Pick<HistoryQuery, 'since'>,
): Promise<JournalQuery<'runs'>> {
  const also = await journal?.dueKeys('runs');
  return { collection: 'runs', limit: Number.POSITIVE_INFINITY, from: firstKey(since), marks: [], also };
}

/** The deliveries to a target, of a route or of a status, or of several of these. */
export function deliveriesLike(
  journal: JournalReader | undefined,
  query: DeliveryQuery,
): Promise<JournalQuery<'deliveries'>> {
  const marks = query.target === undefined ? [] : [targetMark(query.target)];
  return rowsLike('deliveries', journal, query, { marks, underWay: (at) => at.dueKeys('deliveries') });
}

/** The events of cron jobs. */
export function eventsOfJobs(jobs: readonly string[], limit: number): JournalQuery<'events'> {
  return { collection: 'events', limit, marks: jobs.map((job) => [jobMark(job)]) };
}

interface Ways {
  /** Entries of the index beside those of the route and the status. */
  readonly marks?: readonly string[];
  /** The keys of the rows whose status still changes. */
  readonly underWay: (journal: JournalReader) => Promise<readonly string[]>;
}

async function rowsLike<In extends 'events' | 'runs' | 'deliveries'>(
  collection: In,
  journal: JournalReader | undefined,
  { status, route, limit, before, since }: HistoryQuery,
  { marks: more = [], underWay }: Ways,
): Promise<JournalQuery<In>> {
  const ofRoute = route === undefined ? [] : [routeMark(route)];
  const marks = [...(status === undefined ? ofRoute : [statusMark(status, route)]), ...more];
  return {
    collection,
    limit,
    before,
    from: firstKey(since),
    marks: marks.length === 0 ? undefined : [marks],
    also: isPassing(status) && journal !== undefined ? await underWay(journal) : undefined,
  };
}

/** A key begins with the time of its event. */
function firstKey(since: string | undefined): string | undefined {
  return since === undefined ? undefined : timeKey(Date.parse(since));
}

/** The keys of events whose work is due and may have a status: of runs, deliveries and collecting batches. */
async function eventsUnderWay(journal: JournalReader, status: string, seenRun: SeenRun): Promise<string[]> {
  const deliveries = (await journal.dueKeys('deliveries')).map(runKeyOf);
  const works = new Set([...(await journal.dueKeys('runs')), ...deliveries]);
  for (const key of await journal.dueKeys('groups')) {
    const group = await journal.get('groups', key);
    if (group !== undefined) works.add(group.value.burst.id);
  }
  const events: string[] = [];
  for (const [at, work] of [...works].entries()) {
    if (at % worksOfTurn === worksOfTurn - 1) await turn();
    const run = await journal.get('runs', work);
    const seen = run && seenRun(work, run.value, run.heldBy);
    const shown = shownOfWork(seen, (await journal.get('deliveries', work))?.value);
    if (shown === undefined || shown === status) events.push(work, ...(await membersOf(journal, work)));
  }
  return events;
}

/** The keys of the events that led to work with another key. */
export function membersOf(journal: JournalReader, work: string): Promise<string[]> {
  const question = { collection: 'events', limit: Number.POSITIVE_INFINITY, marks: [[workMark(work)]] } as const;
  return newestFirst(journal, question, ({ key, value }) => (value.work === work ? key : undefined));
}
