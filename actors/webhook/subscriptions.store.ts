/**
 * The dynamic subscriptions of one profile: read again when their file changes, a long one between other work while the
 * set before it answers; the last good set kept while the file is corrupt, never overwritten in that state.
 * @see SUB-2 and SUB-3 in docs/specification.md
 */

import { causeOf, done, type Fault, failed, fault, type Result } from '../../machines/base/fault.ts';
import type { RouteWithSecret } from '../../machines/config/route.ts';
import type { RouteBook } from '../../machines/config/route-book.ts';
import type { KnownRecords, SubscriptionProblem, SubscriptionsRead } from '../../machines/config/subscription.ts';
import { type Document, unread } from '../documents.ts';

export interface Subscriptions {
  /** The same list while the file is unchanged. */
  readonly routes: readonly RouteWithSecret[];
  readonly book: RouteBook<RouteWithSecret>;
  /** Broken records: skipped, and reported. */
  readonly problems: readonly SubscriptionProblem[];
  /** Why the file as it stands cannot be read; the routes are then those of the last good one. */
  readonly fault?: Fault;
  /** Whether the database of a shared document has not answered yet, so that any route may be subscribed. */
  readonly isUnread?: boolean;
}

export interface SubscriptionsStore {
  current(): Subscriptions;
  /**
   * The rules have changed: the last good text is read by them at once, since they may forbid what it allows, also where
   * the file has become corrupt meanwhile.
   */
  reconsider(): void;
  /** Changes the file under its lock, unless the change is undefined; refuses while it is corrupt. */
  update(change: (text: string) => string | undefined): Promise<Result<true>>;
}

export interface SubscriptionsSettings {
  readonly document: Document;
  /** Reads a text record by record; what is known of an earlier text need not be read again. */
  readonly read: (text: string, known?: KnownRecords) => Reading;
}

export type Reading = Generator<undefined, SubscriptionsRead>;

/** A file of this size is read at once, so that a new subscription answers at once; a longer one between other work. */
const atOnceBytes = 64 * 1024;
/** So long other work waits for a piece of a longer file. */
const pieceMs = 3;

const none: Subscriptions = { routes: [], book: new Map(), problems: [] };

export function createSubscriptionsStore({ document, read }: SubscriptionsSettings): SubscriptionsStore {
  const { place, readCure, writeCure } = document;
  let seen: string | undefined;
  let current: Subscriptions = none;
  /** The text that the routes in force were read from, and what was found in it. */
  let good: string | undefined;
  let known: KnownRecords | undefined;
  /** The reading that is under way; another one takes its place where the file or the rules change meanwhile. */
  let underWay: { readonly ended: Promise<void> } | undefined;

  function look(): void {
    const stamp = document.stamp();
    if (stamp === seen) return;
    seen = stamp;
    if (stamp === undefined) {
      underWay = undefined;
      current = none;
      good = undefined;
      known = undefined;
      return;
    }
    try {
      const text = document.text();
      begin(text, read(text, known));
    } catch (thrown) {
      unreadable(thrown);
    }
  }

  /** The first set is waited for, since there is none to serve meanwhile. */
  function begin(text: string, reading: Reading): void {
    underWay = undefined;
    if (text.length <= atOnceBytes || good === undefined) {
      settle(text, finished(reading));
      return;
    }
    const mine = { ended: Promise.resolve() };
    const isMine = () => underWay === mine;
    underWay = Object.assign(mine, {
      ended: inPieces(reading, isMine).then((result) => {
        if (result === undefined || !isMine()) return;
        underWay = undefined;
        settle(text, result);
      }),
    });
  }

  /** A set comes into force whole. */
  function settle(text: string, result: SubscriptionsRead): void {
    if (!result.ok) {
      current = { ...current, fault: result.fault };
      return;
    }
    good = text;
    known = result.known;
    current = { routes: result.routes, book: result.book, problems: result.problems };
  }

  function unreadable(thrown: unknown): void {
    // Permissions can be fixed without moving the stamp, so the next look tries again.
    seen = undefined;
    const reason = fault('subscriptions-unreadable', `${place}: cannot be read; ${readCure}`, causeOf(thrown));
    current = {
      ...current,
      fault: current.fault?.message === reason.message ? current.fault : reason,
      isUnread: document.stamp() === unread,
    };
  }

  return {
    current() {
      look();
      return current;
    },
    reconsider() {
      // What is being read by the old rules is read again.
      if (underWay !== undefined) seen = undefined;
      underWay = undefined;
      const result = good === undefined ? undefined : finished(read(good));
      if (result?.ok !== true) return;
      known = result.known;
      current = { ...current, routes: result.routes, book: result.book, problems: result.problems };
    },
    async update(change) {
      let refused: Fault | undefined;
      try {
        await document.update((text = '{}') => {
          const result = finished(read(text, known));
          refused = result.ok ? undefined : result.fault;
          return result.ok ? change(text) : undefined;
        });
      } catch (thrown) {
        const cause = causeOf(thrown);
        return failed('subscriptions-unreadable', `${place}: cannot be changed: ${cause}; ${writeCure}`, cause);
      }
      // What was just written is the last good set, also where nobody asks before the file is spoilt.
      for (look(); underWay !== undefined; look()) await underWay.ended;
      return refused === undefined ? done(true) : failed(refused.code, refused.message, refused.cause);
    },
  };
}

function finished(reading: Reading): SubscriptionsRead {
  for (;;) {
    const next = reading.next();
    if (next.done === true) return next.value;
  }
}

/** Reads on in each turn of the loop; undefined where nobody wants the result any more. */
async function inPieces(reading: Reading, isWanted: () => boolean): Promise<SubscriptionsRead | undefined> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!isWanted()) return undefined;
    const endsAt = performance.now() + pieceMs;
    while (performance.now() < endsAt) {
      const next = reading.next();
      if (next.done === true) return next.value;
    }
  }
}
