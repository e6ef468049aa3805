/**
 * The dynamic subscriptions of one profile. Read again when their file changes; a long file is read between other work
 * while the previous set applies. While the file is corrupt, the last good set applies and the file is never overwritten.
 * @see SUB-2 and SUB-3 in docs/specification.md
 */

import { causeOf, done, type Fault, failed, fault, type Result } from '../../machines/base/fault.ts';
import { atOnce, type Pieces } from '../../machines/base/pieces.ts';
import type { RouteWithSecret } from '../../machines/config/route.ts';
import type { RouteBook } from '../../machines/config/route-book.ts';
import type { KnownRecords, SubscriptionProblem, SubscriptionsRead } from '../../machines/config/subscription.ts';
import { type Document, unchangedWord, unread } from '../documents.ts';
import { inPieces } from '../in-pieces.ts';

export interface Subscriptions {
  /** The same list while the file is unchanged. */
  readonly routes: readonly RouteWithSecret[];
  readonly book: RouteBook<RouteWithSecret>;
  /** Invalid records: skipped and reported. */
  readonly problems: readonly SubscriptionProblem[];
  /** Why the current file cannot be used; the routes are then those of the last good one. */
  readonly fault?: Fault;
  /** Whether the database of a shared document has not answered yet. */
  readonly isUnread?: boolean;
  /** Whether the current file cannot be used and no earlier one was, so that any route may be subscribed. */
  readonly isUnknown?: boolean;
}

export interface SubscriptionsStore {
  current(): Subscriptions;
  /**
   * Applies changed rules to the last good text at once, even if the file has become corrupt meanwhile, because the rules
   * may forbid what that text allows.
   */
  reconsider(): void;
  /**
   * Changes the file under its lock, unless `change` returns undefined; refused while the file is corrupt. The file is read
   * between other work first; `change` gets its records too, by name.
   */
  update(change: (text: string, records: KnownRecords) => string | undefined): Promise<Result<true>>;
}

interface SubscriptionsSettings {
  readonly document: Document;
  /** Parses a text record by record; records known from an earlier text need not be parsed again. */
  readonly read: (text: string, known?: KnownRecords) => Reading;
}

type Reading = Pieces<SubscriptionsRead>;

/** A file up to this size is read at once, so that a new subscription works at once; a longer one between other work. */
const atOnceBytes = 64 * 1024;

const none: Subscriptions = { routes: [], book: new Map(), problems: [] };

export function createSubscriptionsStore({ document, read }: SubscriptionsSettings): SubscriptionsStore {
  const { place, readCure } = document;
  /** Undefined where there was no file, null if it must be looked at again in any case. */
  let seen: string | undefined | null;
  let current: Subscriptions = none;
  /** The text of the routes in force, and its parsed records. */
  let good: string | undefined;
  let known: KnownRecords | undefined;
  /** The current reading; replaced if the file or the rules change meanwhile. */
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

  /** The first set is read synchronously, since there is no earlier one to serve. */
  function begin(text: string, reading: Reading): void {
    underWay = undefined;
    if (text.length <= atOnceBytes || good === undefined) {
      settle(text, atOnce(reading));
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

  /** Adopts a set as a whole. */
  function settle(text: string, result: SubscriptionsRead): void {
    if (!result.ok) {
      current = { ...current, fault: result.fault, isUnknown: good === undefined };
      return;
    }
    good = text;
    known = result.known;
    current = { routes: result.routes, book: result.book, problems: result.problems };
  }

  function unreadable(thrown: unknown): void {
    // Permissions can be fixed without a new stamp, and then there may be no file, so the next call looks again.
    seen = null;
    const cause = causeOf(thrown);
    const reason = fault('subscriptions-unreadable', `${place}: cannot be read; ${readCure} (${cause})`, cause);
    current = {
      ...current,
      fault: current.fault?.message === reason.message ? current.fault : reason,
      isUnread: document.stamp() === unread,
      isUnknown: good === undefined,
    };
  }

  return {
    current() {
      look();
      return current;
    },
    reconsider() {
      // A reading under the old rules is repeated.
      if (underWay !== undefined) seen = null;
      underWay = undefined;
      const result = good === undefined ? undefined : atOnce(read(good));
      if (result?.ok !== true) return;
      known = result.known;
      current = { ...current, routes: result.routes, book: result.book, problems: result.problems };
    },
    async update(change) {
      let refused: Fault | undefined;
      try {
        await document.update(async (text = '{}') => {
          const result = await inPieces(read(text, known));
          refused = result.ok ? undefined : result.fault;
          return result.ok ? change(text, result.known) : undefined;
        });
      } catch (thrown) {
        return failed('subscriptions-unreadable', unchangedWord(document, thrown), causeOf(thrown));
      }
      // Reads the new text now, so that it is the last good set even if the file is damaged before the next call.
      for (look(); underWay !== undefined; look()) await underWay.ended;
      return refused === undefined ? done(true) : failed(refused.code, refused.message, refused.cause);
    },
  };
}
