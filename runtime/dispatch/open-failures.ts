/**
 * Keeps the deliveries that wait for a person: read from the journal once, then updated by each commit.
 * @see INS-4 and DLV-4 in docs/specification.md
 */

import type { JournalReader, Write } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { defined } from '../../machines/base/json.ts';
import {
  type Failure,
  type FailureGroup,
  groupFailures,
  isOpenFailure,
  openFailureStatuses,
} from '../../machines/dispatch/failure-groups.ts';
import { statusMark } from '../../machines/webhook/marks.ts';
import type { DeliveryRecord } from '../../machines/webhook/record.ts';
import { newestFirst } from './newest-first.ts';

export interface OpenFailures {
  /** Each of them; with a profile, only its own. */
  all(profile?: string): Promise<readonly OpenFailure[]>;
  /** The largest group first; with a profile, only its groups. */
  groups(profile?: string): Promise<readonly FailureGroup[]>;
  close(): void;
}

type OpenFailure = Failure & Pick<DeliveryRecord, 'profile'>;

/** Removals by the history, and writes by other gateways of the journal, appear after this time. */
const readAgainMs = 60_000;

export function openFailures(keeper: Pick<JournalKeeper, 'journal' | 'watch'>, nowMs: () => number): OpenFailures {
  const failures = new Map<string, OpenFailure>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  /** By profile; the groups of all profiles have the empty name. */
  const grouped = new Map<string, readonly FailureGroup[]>();
  /** Commits that arrive while the journal is read. */
  let landed: Write[] | undefined;

  function apply(writes: readonly Write[]): void {
    for (const write of writes) {
      if ((write.kind !== 'put' && write.kind !== 'delete') || write.collection !== 'deliveries') continue;
      const record = write.kind === 'put' ? (write.value as DeliveryRecord) : undefined;
      if (record !== undefined && isOpenFailure(record)) failures.set(write.key, failureOf(record));
      else if (!failures.delete(write.key)) continue;
      grouped.clear();
    }
  }

  const forget = keeper.watch((writes) => {
    if (landed !== undefined) landed.push(...writes);
    else apply(writes);
  });

  async function read(journal: JournalReader): Promise<void> {
    const startedMs = nowMs();
    landed = [];
    try {
      const found = await newestFirst(
        journal,
        {
          collection: 'deliveries',
          limit: Number.POSITIVE_INFINITY,
          marks: openFailureStatuses.map((status) => [statusMark(status)]),
        },
        ({ key, value }) => (isOpenFailure(value) ? { key, failure: failureOf(value) } : undefined),
      );
      failures.clear();
      for (const { key, failure } of found) failures.set(key, failure);
      grouped.clear();
      readAtMs = startedMs;
    } finally {
      const meanwhile = landed;
      landed = undefined;
      apply(meanwhile);
      reading = undefined;
    }
  }

  async function all(profile?: string): Promise<readonly OpenFailure[]> {
    await readIfDue();
    return [...failures.values()].filter((one) => profile === undefined || one.profile === profile);
  }

  async function readIfDue(): Promise<void> {
    const journal = keeper.journal();
    // A clock that is set back must not delay the next reading.
    if (journal !== undefined && Math.abs(nowMs() - readAtMs) >= readAgainMs) reading ??= read(journal);
    await reading;
  }

  return {
    all,
    async groups(profile) {
      await readIfDue();
      const name = profile ?? '';
      const known = grouped.get(name);
      if (known !== undefined) return known;
      const found = groupFailures(await all(profile));
      // Empty results are not cached, since callers may name any profile.
      if (found.length > 0) grouped.set(name, found);
      return found;
    },
    close: forget,
  };
}

/** The failure of a record, without its text. */
function failureOf({
  profile,
  target,
  status,
  reason,
  route,
  chat,
  queuedAtMs,
  endedAtMs,
}: DeliveryRecord): OpenFailure {
  return {
    profile,
    target,
    status,
    route,
    queuedAtMs,
    ...defined({ reason, chat, endedAtMs }),
  };
}
