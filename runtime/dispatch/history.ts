/**
 * Where to find the rows of a listing in the journal: by entries of the secondary index and, for a status that changes
 * later, by due work. Reads no rows; the caller does.
 * @see DUR-2 and CON-4 in docs/specification.md
 */

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
import type { HistoryQuery, SeenRun, SendingQuery } from '../control/contract.ts';
import { timeKey } from '../system/ids.ts';
import { newestFirst, type Question } from './newest-first.ts';

/** The events of a route, of a status as rows show it, or of both. */
export async function eventsLike(
  journal: JournalReader | undefined,
  query: HistoryQuery,
  seenRun: SeenRun,
): Promise<Question<'events'>> {
  const { status, limit } = query;
  const marks = marksOf(query);
  return {
    collection: 'events',
    limit,
    ...boundsOf(query),
    ...(marks.length === 0 ? {} : { marks: [marks] }),
    ...(isPassing(status) && journal !== undefined
      ? { also: await eventsUnderWay(journal, String(status), seenRun) }
      : {}),
  };
}

/** The runs of a route, of a status, or of both. */
export function runsLike(journal: JournalReader | undefined, query: HistoryQuery): Promise<Question<'runs'>> {
  return workLike('runs', journal, query, marksOf(query));
}

/** The deliveries to a target, of a route or of a status, or of several of these. */
export function deliveriesLike(
  journal: JournalReader | undefined,
  query: SendingQuery,
): Promise<Question<'deliveries'>> {
  const { target } = query;
  return workLike('deliveries', journal, query, [
    ...marksOf(query),
    ...(target === undefined ? [] : [targetMark(target)]),
  ]);
}

/** The events of cron jobs. */
export function eventsOfJobs(jobs: readonly string[], limit: number): Question<'events'> {
  return { collection: 'events', limit, marks: jobs.map((job) => [jobMark(job)]) };
}

/** The bounds of the rows' keys: a key begins with the time of its event. */
function boundsOf({ before, since }: HistoryQuery): Pick<Question, 'before' | 'from'> {
  return {
    ...(before === undefined ? {} : { before }),
    ...(since === undefined ? {} : { from: timeKey(Date.parse(since)) }),
  };
}

function marksOf({ route, status }: HistoryQuery): string[] {
  if (status !== undefined) return [statusMark(status, route)];
  return route === undefined ? [] : [routeMark(route)];
}

async function workLike<In extends 'runs' | 'deliveries'>(
  collection: In,
  journal: JournalReader | undefined,
  query: HistoryQuery,
  marks: readonly string[],
): Promise<Question<In>> {
  const { status, limit } = query;
  return {
    collection,
    limit,
    ...boundsOf(query),
    ...(marks.length === 0 ? {} : { marks: [marks] }),
    ...(isPassing(status) && journal !== undefined ? { also: await journal.dueKeys(collection) } : {}),
  };
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
  for (const work of works) {
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
