/** A gateway's keeper over a journal in memory, and a gate in front of it that lands commits when a spec says so. */

import type { Journal, Rewrite, Settled, Write } from '../../actors/store/journal.ts';
import { createKeeper, type JournalKeeper } from '../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../actors/store/memory-journal.ts';
import { done, type Fault, fault } from '../../machines/base/fault.ts';

export const diskFull = fault('journal-full', 'journal: no room on the disk');

/** Lets everything that was made ready go on: one turn of the loop, no time. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface Gate {
  readonly journal: Journal;
  /** Commits that wait. */
  waiting(): number;
  /** Lands so many waiting commits (all) in their order, as one flush of a disk does; resolves when their callers know. */
  land(count?: number): Promise<void>;
  /** Refuses so many waiting commits (all), as a full disk does. */
  refuse(count?: number): Promise<void>;
  /** Lands everything, what comes meanwhile too. */
  settle(): Promise<void>;
  /** Puts the newest waiting commit before the others, as the faster of two gateways does. */
  rotate(): void;
}

interface Queued {
  readonly writes: readonly Write[];
  readonly settled: Settled;
  readonly rewrite?: Rewrite | undefined;
}

/** A journal whose commits wait until they are let through; reads see what has landed. */
export function gate(inner: Journal = openMemoryJournal()): Gate {
  const queue: Queued[] = [];
  const submit: Journal['submit'] = (writes, settled, rewrite) => void queue.push({ writes, settled, rewrite });

  async function take(count: number, judge: (commit: Queued) => Promise<Parameters<Settled>>): Promise<void> {
    const batch = queue.splice(0, count);
    const judged = await Promise.all(batch.map(judge));
    for (const [index, { settled }] of batch.entries()) settled(...(judged[index] as Parameters<Settled>));
    await turn();
  }

  const land = (count = queue.length) =>
    take(
      count,
      ({ writes, rewrite }) =>
        new Promise((resolve) => inner.submit(writes, (verdict, judged) => resolve([verdict, judged]), rewrite)),
    );
  return {
    journal: { ...inner, submit, commit: (writes) => new Promise((resolve) => submit(writes, resolve)) },
    waiting: () => queue.length,
    land,
    refuse: (count = queue.length) =>
      take(count, async ({ writes }) => [{ kind: 'unavailable', fault: diskFull }, writes]),
    async settle() {
      // A write may wait for what it reads first.
      await turn();
      while (queue.length > 0) await land();
    },
    rotate() {
      const newest = queue.pop();
      if (newest !== undefined) queue.unshift(newest);
    },
  };
}

export interface OpenKeeper {
  readonly keeper: JournalKeeper;
  readonly journal: Journal;
  /** The faults that the keeper told of. */
  readonly refused: readonly Fault[];
}

/** Two gateways on one journal, which know of each other. */
export async function openTwoKeepers(): Promise<readonly [JournalKeeper, JournalKeeper]> {
  const { local: _, ...journal } = openMemoryJournal();
  const [one, other] = [await openKeeper(journal, 'one'), await openKeeper(journal, 'other')];
  await one.keeper.beat();
  return [one.keeper, other.keeper];
}

/** A keeper that stands open; several of them, each with an owner of its own, are several gateways on one journal. */
export async function openKeeper(journal: Journal = openMemoryJournal(), owner = 'gateway'): Promise<OpenKeeper> {
  const refused: Fault[] = [];
  const keeper = createKeeper({
    open: async () => done(journal),
    owner,
    sessionTtlMs: 60_000,
    refused: (reason) => refused.push(reason),
  });
  const stopped = await keeper.open();
  if (stopped !== undefined) throw new Error(stopped.message);
  return { keeper, journal, refused };
}
