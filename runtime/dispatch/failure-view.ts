/**
 * Lists failed deliveries, grouped by cause, target or route, and follows retries. The counts cover the complete history.
 * @see INS-4 and DLV-4 in docs/specification.md
 */

import type { Collection, Records } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { cut, defined } from '../../machines/base/json.ts';
import { placeWords } from '../../machines/config/targets.ts';
import {
  type Failure,
  type FailureGrouping,
  failedAtMs,
  failureGroupings,
  failureKey,
  groupFailures,
  openFailureStatuses,
} from '../../machines/dispatch/failure-groups.ts';
import { statusMark } from '../../machines/webhook/marks.ts';
import type { DeliveryRecord } from '../../machines/webhook/record.ts';
import type { BulkProgress, FailureChoice, FailureRow } from '../control/contract/deliveries.ts';
import type { Result } from '../control/contract.ts';
import { newestFirst } from './newest-first.ts';
import { type OpenFailures, openFailures } from './open-failures.ts';

interface FailureViewPorts {
  readonly keeper: Pick<JournalKeeper, 'journal' | 'watch'>;
  readonly get: <In extends Collection>(collection: In, key: string | undefined) => Promise<Records[In] | undefined>;
  /** Redacts secrets in the records that people read. */
  readonly redact: <Given extends object>(record: Given) => Given;
  readonly nowMs: () => number;
}

interface FailurePage {
  /** The key of a group; absent: all groups. */
  readonly key?: string;
  readonly before?: string;
  readonly limit: number;
}

export interface FailureView {
  groups(choice: FailureChoice, by: FailureGrouping): Promise<Result<'failures.groups'>>;
  /** Newest first. */
  list(choice: FailureChoice, page: FailurePage): Promise<Result<'failures.list'>>;
  /** Those of a group, oldest first, so that a chat gets them in the order in which they were queued. */
  idsOf(key: string, choice: FailureChoice): Promise<readonly string[]>;
  progress(ids: readonly string[]): Promise<BulkProgress>;
}

const bucketCount = 12;
/** Characters of a text in a row. */
const maxTextLength = 200;

interface Failed {
  readonly key: string;
  readonly record: DeliveryRecord;
}

export function createFailureView({ keeper, get, redact, nowMs }: FailureViewPorts): FailureView {
  let open: OpenFailures | undefined;

  function failedOf(
    { state, profile, since }: FailureChoice,
    { key, before, limit }: Omit<FailurePage, 'limit'> & { readonly limit?: number },
  ): Promise<readonly Failed[]> {
    const statuses: readonly string[] = state === 'open' ? openFailureStatuses : ['dropped'];
    const question = {
      collection: 'deliveries',
      limit: limit ?? Number.POSITIVE_INFINITY,
      before,
      marks: statuses.map((status) => [statusMark(status)]),
    } as const;
    return newestFirst(keeper.journal(), question, ({ key: id, value: record }) => {
      if (!statuses.includes(record.status)) return undefined;
      if (profile !== undefined && record.profile !== profile) return undefined;
      if (!isSince(record, since)) return undefined;
      return key === undefined || isOfGroup(record, key) ? { key: id, record } : undefined;
    });
  }

  /** Each page of the inspector counts the open ones twice a second while there are deliveries, so these are kept. */
  async function everyOf(choice: FailureChoice): Promise<readonly Failure[]> {
    const { state, profile, since } = choice;
    // The commits of other gateways are not seen here.
    if (state !== 'open' || keeper.journal()?.local === undefined)
      return (await failedOf(choice, {})).map(({ record }) => record);
    open ??= openFailures(keeper, nowMs);
    return (await open.all(profile)).filter((one) => isSince(one, since));
  }

  return {
    async groups(choice, by) {
      const failed = await everyOf(choice);
      const rows = groupFailures(failed, by);
      const fromMs = Math.min(...rows.map(({ firstMs }) => firstMs));
      const counts = new Map(rows.map(({ key }) => [key, Array.from({ length: bucketCount }, () => 0)]));
      const lengthMs = Math.max(1, nowMs() - fromMs) / bucketCount;
      for (const record of failed) {
        const at = Math.floor((failedAtMs(record) - fromMs) / lengthMs);
        const buckets = counts.get(failureKey(record, by));
        const bucket = Math.min(bucketCount - 1, Math.max(0, at));
        if (buckets !== undefined) buckets[bucket] = (buckets[bucket] ?? 0) + 1;
      }
      const groups = rows.map(({ firstMs, lastMs, ...row }) => ({
        ...row,
        first: new Date(firstMs).toISOString(),
        last: new Date(lastMs).toISOString(),
        buckets: counts.get(row.key) ?? [],
      }));
      return redact({ count: failed.length, groups });
    },
    async list(choice, page) {
      const failed = await failedOf(choice, page);
      const last = failed.length === page.limit ? failed.at(-1) : undefined;
      // Redacted before it is cut: half a secret is not recognized.
      const rows = failed
        .map((one) => redact(rowOf(one)))
        .map((row) => ({ ...row, text: cut(row.text, maxTextLength) }));
      return { rows, ...(last === undefined ? {} : { next: last.key }) };
    },
    async idsOf(key, choice) {
      return (await failedOf(choice, { key })).map(({ key: id }) => id).reverse();
    },
    async progress(ids) {
      const counts = { delivered: 0, failed: 0, retrying: 0, waiting: 0 };
      for (const id of ids) {
        const status = (await get('deliveries', id))?.status;
        if (status === 'delivered') counts.delivered += 1;
        else if (status === 'waitingToRetry') counts.retrying += 1;
        else if (status === 'queued' || status === 'sending') counts.waiting += 1;
        else counts.failed += 1;
      }
      return counts;
    },
  };
}

function isOfGroup(record: DeliveryRecord, key: string): boolean {
  return failureGroupings.some((by) => failureKey(record, by) === key);
}

function isSince(failure: Failure, since: string | undefined): boolean {
  return since === undefined || failedAtMs(failure) >= Date.parse(since);
}

function rowOf({ key: id, record }: Failed): FailureRow {
  const { eventKey, route, event, status, text, attempts = 0, reason, note, startedAtMs, queuedAtMs } = record;
  return {
    id,
    event_key: eventKey,
    route,
    event,
    place: placeWords(record),
    status,
    text,
    attempts,
    ...defined({ reason, note }),
    last_attempt_at: new Date(startedAtMs ?? queuedAtMs).toISOString(),
  };
}
