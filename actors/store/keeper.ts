/**
 * Keeps the open journal and this gateway's session on it. Without a journal a commit is `unavailable`, never an
 * exception.
 * @see DUR-1 in docs/specification.md
 */

import { type Fault, fault, type Result } from '../../machines/base/fault.ts';
import { type ComparedClock, createClockCheck } from './clock-check.ts';
import type { CommitVerdict, Journal, News, Rewrite, SessionId, Settled, Write } from './journal.ts';
import { createLeadership } from './leadership.ts';
import { createLiving, type OwnSession } from './living.ts';
import { withReleases } from './shared-claims.ts';

interface KeeperSettings extends OwnSession {
  readonly open: () => Promise<Result<Journal>>;
  /** This machine's clock, by which work is due. One far from the clock of a shared journal is refused. */
  readonly clock?: ComparedClock;
  /** Milliseconds of a clock that only rises. */
  readonly steadyMs?: () => number;
  /** Called for every commit that the engine could not write, and for every `take` that failed. */
  readonly refused: (reason: Fault) => void;
}

export interface JournalKeeper {
  /**
   * Opens the store or, if it is open, checks whether it can write again, and renews its session. Resolves with the fault
   * that stops it.
   */
  open(): Promise<Fault | undefined>;
  /**
   * Begins another session, so that work of the last one that is no longer in progress becomes free. Does nothing while
   * no journal is open.
   */
  beginAnew(): Promise<Fault | undefined>;
  /** On a shared journal: renews the session, which is short, and reads which sessions are live. */
  beat(): Promise<void>;
  /**
   * On a journal that is not shared: renews a session that expired while the machine slept or because its clock was set.
   * Resolves with whether it lives.
   */
  revive(): Promise<boolean>;
  /** On a shared journal: ends the sessions of gateways that died. */
  reap(): Promise<void>;
  /** Calls back with the activity of other gateways until the returned function is called. */
  heard(listener: (news: News) => void): () => void;
  /** The owner of a session that this gateway has seen live. */
  ownerOf(session: SessionId): string | undefined;
  /** Whether another live gateway holds a record, as far as this one has read. */
  isElsewhere(heldBy: SessionId | undefined): boolean;
  /** Whether other gateways may use the journal. */
  isShared(): boolean;
  /** The name of this gateway, if the journal is shared. */
  node(): string | undefined;
  /**
   * Whether this gateway is the leader, which alone sends deliveries. False as soon as another gateway could be the
   * leader. Always true for an open journal that is not shared.
   */
  leads(): boolean;
  /** Becomes the leader if there is none. Resolves with whether it has just become the leader. */
  seekLead(): Promise<boolean>;
  /** Stops being the leader, and never becomes it again. */
  giveLead(): Promise<void>;
  /** The number of live gateways and this one's position among them, from 0, as last read. */
  place(): { readonly of: number; readonly at: number };
  /** Changes once other gateways may have taken what this one held. */
  life(): string | undefined;
  /** Whether no other gateway can consider this one's session ended, now or very soon. */
  isSure(): boolean;
  /** How far the journal's clock is ahead of this machine's, in milliseconds; 0 if it is the same clock. */
  aheadMs(): number;
  /** Renews the session, and prunes the history if this gateway is the leader. */
  keep(history: { readonly keepAfterKey: string; readonly maxBytes: number }): Promise<Fault | undefined>;
  commit(writes: readonly Write[]): Promise<CommitVerdict>;
  /** `commit` for the hot path: calls back exactly once, possibly before it returns. */
  submit(writes: readonly Write[], settled: Settled, rewrite?: Rewrite): void;
  /** Reports that the journal failed to take work. */
  refused(reason: Fault): void;
  /** Calls back with the writes of every successful commit until the returned function is called. */
  watch(landed: (writes: readonly Write[]) => void): () => void;
  /** The commits submitted before `submitAll` returns are on disk together or not at all. */
  together(submitAll: () => void): void;
  /** The open journal, for reading. */
  journal(): Journal | undefined;
  session(): SessionId | undefined;
  close(): Promise<void>;
}

const notOpen = fault('journal-unavailable', 'journal: not open; nothing can be acknowledged until it is');

const sureMarginMs = 3_000;
/**
 * When the database notices that a gateway's connection is lost, the others give it 1.5 seconds to return
 * (`postgres-sessions.ts`). A silently cut connection is noticed here once an answer is overdue.
 */
export const sureWhileLostMs = 500;

export function createKeeper(settings: KeeperSettings): JournalKeeper {
  let journal: Journal | undefined;
  let session: SessionId | undefined;
  const watchers = new Set<(writes: readonly Write[]) => void>();
  const listeners = new Set<(news: News) => void>();
  /** A journal that is opened after that is closed at once: its connections would keep the process from ending. */
  let isClosed = false;
  let isReaping = false;
  /** Renewals that a database does not answer would queue up, and the end of the session behind them. */
  let isBeating = false;
  const steadyMs = settings.steadyMs ?? (() => performance.now());
  const clock = settings.clock && createClockCheck(settings.clock, steadyMs);
  const living = createLiving(settings, () => session, steadyMs);
  /** Until then no other gateway considers the session ended, by the steady clock. */
  let sureUntilMs = Number.NEGATIVE_INFINITY;
  let lateRenewals = 0;
  /** The journal, if it is shared. */
  const shared = (): Journal | undefined => (journal?.local === undefined ? journal : undefined);

  async function openSession(opened: Journal): Promise<Fault | undefined> {
    const askedAtMs = steadyMs();
    const begun = await opened.openSession(settings.owner, settings.sessionTtlMs);
    if (!begun.ok) return begun.fault;
    session = begun.value;
    sureUntilMs = askedAtMs + settings.sessionTtlMs;
    if (shared() !== undefined) await living.learn(opened);
    return undefined;
  }

  async function renew(opened: Journal, standing: SessionId): Promise<Fault | undefined> {
    const steadyAtMs = steadyMs();
    const compare = clock?.begin();
    const renewed = await opened.renewSession(standing, settings.sessionTtlMs);
    if (renewed.ok) {
      // Another gateway may have become the leader since the session expired.
      if (steadyMs() >= sureUntilMs) {
        leadership.doubt();
        lateRenewals += 1;
      }
      sureUntilMs = steadyAtMs + settings.sessionTtlMs;
      const offClock = shared() && compare?.(renewed.value.nowMs);
      if (offClock !== undefined) {
        // It can neither write the records that it holds nor send as the leader, so the others take over both.
        await opened.endSession(standing);
        hasEnded(standing);
      }
      return offClock;
    }
    if (renewed.fault.code === 'journal-session-ended') hasEnded(standing);
    return renewed.fault;
  }

  /**
   * An ended session cannot be renewed; the next `open` begins another. The records that it held do not count as held by
   * another gateway.
   */
  function hasEnded(ended: SessionId): void {
    // Another one may have been begun meanwhile.
    if (session === ended) session = undefined;
    living.hasEnded(ended);
  }

  function submit(writes: readonly Write[], settled: Settled, rewrite?: Rewrite): void {
    const invalid = journal === undefined || session === undefined ? notOpen : clock?.obstacle();
    if (journal === undefined || invalid !== undefined) {
      settled({ kind: 'unavailable', fault: clock?.found() ?? invalid ?? notOpen }, writes);
      return;
    }
    const isOwn = shared() === undefined;
    journal.submit(
      isOwn ? writes : withReleases(writes),
      (verdict, judged) => {
        if (verdict.kind === 'unavailable' && verdict.alone !== true) settings.refused(verdict.fault);
        settled(verdict, judged);
        if (verdict.kind === 'committed') for (const landed of watchers) landed(judged);
      },
      isOwn || rewrite === undefined ? rewrite : releasing(rewrite),
    );
  }

  const isElsewhere = (heldBy: SessionId | undefined): boolean =>
    heldBy !== undefined && heldBy !== session && living.has(heldBy);
  const commit = (writes: readonly Write[]): Promise<CommitVerdict> =>
    new Promise((resolve) => submit(writes, resolve));
  const lostMs = (): number => journal?.lostMs() ?? 0;
  /** Without an open journal it is false, because the journal may be shared. */
  const leads = (): boolean => (shared() === undefined ? journal !== undefined : leadership.leads());
  const ports = {
    commit,
    isElsewhere,
    journal: () => journal,
    session: () => (clock?.obstacle() === undefined ? session : undefined),
  };
  const leadership = createLeadership({
    locks: ports,
    isAlive: (id) => id === session && steadyMs() < sureUntilMs,
    lostMs,
  });

  return {
    ownerOf: living.ownerOf,
    async open() {
      if (journal === undefined) {
        const opened = await settings.open();
        if (!opened.ok) return opened.fault;
        if (isClosed) {
          await opened.value.close();
          return notOpen;
        }
        journal = opened.value;
        journal.watch((news) => {
          if (news === 'session') void living.learn(opened.value);
          for (const listener of listeners) listener(news);
        });
      } else {
        const stopped = await journal.probe();
        if (stopped !== undefined) return stopped;
      }
      // A store that keeps failing would never reach its heartbeat.
      const unrenewed = session === undefined ? undefined : await renew(journal, session);
      if (unrenewed !== undefined && unrenewed.code !== 'journal-session-ended') return unrenewed;
      if (session !== undefined) return undefined;
      const unopened = await openSession(journal);
      // The clocks are compared before any work is taken.
      return unopened ?? (shared() && session !== undefined ? renew(journal, session) : undefined);
    },

    async beginAnew() {
      return journal === undefined ? undefined : openSession(journal);
    },

    async beat() {
      const opened = shared();
      if (opened === undefined || session === undefined || isBeating) return;
      isBeating = true;
      try {
        const unrenewed = await renew(opened, session);
        if (unrenewed !== undefined) settings.refused(unrenewed);
        else await living.learn(opened);
      } finally {
        isBeating = false;
      }
    },

    async revive() {
      if (journal === undefined || session === undefined || shared() !== undefined) return false;
      return (await renew(journal, session)) === undefined;
    },

    async reap() {
      if (isReaping || session === undefined) return;
      isReaping = true;
      try {
        // If the database is unreachable here, the next renewal reports it.
        await shared()?.reap();
      } finally {
        isReaping = false;
      }
    },

    heard(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isShared: () => shared() !== undefined,
    node: () => (shared() === undefined ? undefined : settings.owner),
    leads,
    seekLead: async () => shared() !== undefined && leadership.seek(),
    giveLead: leadership.give,
    place: living.place,
    life: () => session && `${session}/${lateRenewals}`,
    isSure: () => session !== undefined && steadyMs() < sureUntilMs - sureMarginMs && lostMs() < sureWhileLostMs,
    aheadMs: () => clock?.aheadMs() ?? 0,

    async keep(history) {
      if (journal === undefined || session === undefined) return notOpen;
      const unrenewed = await renew(journal, session);
      // Of several gateways only the leader prunes: two that found the same excess would remove it twice.
      if (unrenewed !== undefined || !leads()) return unrenewed;
      const pruned = await journal.prune(history, leads);
      return pruned.ok ? undefined : pruned.fault;
    },

    submit,
    refused: settings.refused,
    watch(landed) {
      watchers.add(landed);
      return () => watchers.delete(landed);
    },
    together: (submitAll) => (journal === undefined ? submitAll() : journal.together(submitAll)),
    ...ports,

    async close() {
      isClosed = true;
      if (journal === undefined) return;
      const closing = journal;
      if (session !== undefined) await closing.endSession(session);
      journal = undefined;
      session = undefined;
      await closing.close();
    },
  };
}

function releasing(rewrite: Rewrite): Rewrite {
  return (stale) => {
    const writes = rewrite(stale);
    return writes && withReleases(writes);
  };
}
