/**
 * Gathers the commits of a Postgres journal into groups, each of which is one transaction: commits that arrive while a group
 * is under way share the next one. Bounds the bytes that wait, and judges a commit alone whose values the database refuses.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf, type Fault, fault } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import type { CommitVerdict, Rewrite, Settled, Write } from './journal.ts';
import { isAnswer } from './postgres-reach.ts';
import { isNewEvent } from './postgres-rows.ts';
import { codeOf } from './postgres-schema.ts';
import { isOvertaken, type Transact, unlessOvertaken, type Verdicts } from './postgres-transaction.ts';
import { weightOf } from './record-bytes.ts';
import { callBackSafely } from './tables.ts';

interface Commit {
  readonly writes: readonly Write[];
  readonly settled: Settled;
  readonly rewrite?: Rewrite | undefined;
  readonly bytes: number;
}

interface GroupPorts {
  readonly place: string;
  /** Events are refused while more bytes than this wait to be written. */
  readonly maxBytes: number;
  readonly transact: Transact;
  /** Works on the writing connection, after all that was asked of it before. */
  readonly inTurn: <Value>(work: () => Promise<Value>) => Promise<Value>;
  /** Why nothing is written until a probe. */
  readonly stopped: () => Fault | undefined;
  readonly stop: (thrown: unknown) => void;
  readonly closed: Fault;
}

/** Commits of one transaction; it is closed after the commit that reaches the size. */
const groupSize = 400;
const groupBytes = 8 * 1024 * 1024;
/** A group whose connection broke may have been too large for a slow database: the next ones are half as large, down to this. */
const leastGroupBytes = 256 * 1024;
/** How many groups check first which records exist, after one that was assumed to be new did exist. */
const carefulGroups = 10;
/**
 * A transaction costs the database some hundred microseconds even if it writes little. After a group of this size the next
 * commits are gathered as long as they keep arriving: that more than halves the transactions, and gateways wait less often
 * for each other's rows.
 */
const busyGroup = 8;
const gatherMs = 1;
const maxGatherMs = 5;

export function createGroups({ place, maxBytes, transact, inTurn, stopped, stop, closed }: GroupPorts) {
  const busyFault = fault(
    'journal-unavailable',
    `${place}: more than ${Math.round(maxBytes / 1024 ** 2)} MB of events wait to be written; send them again later, or use a faster database`,
  );
  let waiting: (readonly Commit[])[] = [];
  let underWay: Promise<void> | undefined;
  let gathered: Commit[] | undefined;
  /** How many of the next groups check first. */
  let looksFor = 0;
  let lastGroupSize = 0;
  let groupLimit = groupBytes;
  /** Of the commits that wait and of those under way. */
  let waitingBytes = 0;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      if (lastGroupSize >= busyGroup) await gather();
      await inTurn(landGroup);
    }
    underWay = undefined;
  }

  async function gather(): Promise<void> {
    for (let waitedMs = 0, before = -1; waitedMs < maxGatherMs && waiting.length > before; waitedMs += gatherMs) {
      before = waiting.length;
      await sleep(gatherMs);
    }
  }

  async function landGroup(): Promise<void> {
    let size = 0;
    let taken = 0;
    let bytes = 0;
    while (taken < waiting.length && size < groupSize && bytes < groupLimit) {
      const together = waiting[taken++] ?? [];
      size += together.length;
      bytes += bytesOf(together);
    }
    const parts = waiting.slice(0, taken);
    waiting = waiting.slice(taken);
    lastGroupSize = size;
    const verdicts = stopped() === undefined ? await judgedApart(parts) : [];
    if (stopped() === undefined) groupLimit = Math.min(groupBytes, 2 * groupLimit);
    waitingBytes -= bytes;
    const refused: CommitVerdict = { kind: 'unavailable', fault: stopped() ?? closed };
    for (const [index, one] of parts.flat().entries()) {
      const { judged, verdict } = verdicts[index] ?? { judged: one.writes, verdict: refused };
      callBackSafely(() => one.settled(verdict, judged));
    }
  }

  /**
   * Never rejects. If the database does not accept a value, the commits that are not submitted with it are written without
   * it. Another error stops the journal; the returned verdicts then end with the last part that is durable or refused.
   */
  async function judgedApart(parts: readonly (readonly Commit[])[]): Promise<Verdicts> {
    try {
      return await judged(parts.flat());
    } catch (thrown) {
      if (!isOfData(thrown)) {
        if (!isAnswer(thrown)) groupLimit = Math.max(leastGroupBytes, groupLimit / 2);
        stop(thrown);
        return [];
      }
      const [first = [], ...others] = parts;
      if (others.length === 0) {
        const why = `${place}: the database does not accept a value of this commit (${causeOf(thrown)})`;
        const verdict = { kind: 'unavailable', fault: fault('internal-error', why), alone: true } as const;
        return first.map(({ writes }) => ({ judged: writes, verdict }));
      }
      const verdicts: Verdicts = [];
      for (const part of parts) {
        verdicts.push(...(await judgedApart([part])));
        if (stopped() !== undefined) break;
      }
      return verdicts;
    }
  }

  /** If another gateway wrote the same records at the same time, the commits are judged again by its rows. */
  async function judged(commits: readonly Commit[]): Promise<Verdicts> {
    if (looksFor > 0) looksFor -= 1;
    else {
      try {
        return await transact(commits, true);
      } catch (thrown) {
        if (!isOvertaken(thrown)) throw thrown;
        looksFor = carefulGroups;
      }
    }
    return unlessOvertaken(() => transact(commits, false));
  }

  /**
   * Refuses all of the commits if their events do not fit beside those that wait, and while the database cannot write: a probe,
   * behind which they would wait, may take long.
   */
  function submitAll(commits: readonly Commit[]): void {
    const bytes = bytesOf(commits);
    const isOver = waitingBytes > 0 && waitingBytes + bytes > maxBytes;
    const isBusy = isOver && commits.some(({ writes }) => writes.some(isNewEvent));
    const found = stopped();
    if (found !== undefined || isBusy) {
      const verdict: CommitVerdict =
        found === undefined
          ? { kind: 'unavailable', fault: busyFault, alone: true }
          : { kind: 'unavailable', fault: found };
      for (const { settled, writes } of commits) callBackSafely(() => settled(verdict, writes));
      return;
    }
    waiting.push(commits);
    waitingBytes += bytes;
    underWay ??= drain();
  }

  return {
    /** Calls back exactly once. */
    submit(writes: readonly Write[], settled: Settled, rewrite?: Rewrite): void {
      const bytes = writes.reduce((sum, write) => sum + ('value' in write ? weightOf(write.value as Json) : 0), 0);
      const commit = { writes, settled, rewrite, bytes };
      if (gathered === undefined) submitAll([commit]);
      else gathered.push(commit);
    },
    /** The commits submitted before `submitThem` returns are in one transaction. */
    together(submitThem: () => void): void {
      const commits: Commit[] = [];
      gathered = commits;
      try {
        submitThem();
      } finally {
        gathered = undefined;
      }
      if (commits.length > 0) submitAll(commits);
    },
    /** Resolves when no commit waits. */
    settled: async (): Promise<void> => underWay,
  };
}

const bytesOf = (commits: readonly Commit[]): number => commits.reduce((sum, { bytes }) => sum + bytes, 0);

/** A data exception, or a limit that a value exceeds: the value, not the database, is at fault. */
const isOfData = (thrown: unknown): boolean => /^(22|54)...$/.test(codeOf(thrown));
