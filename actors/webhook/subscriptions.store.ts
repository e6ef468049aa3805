/**
 * The dynamic subscriptions of one profile: read again when their file changes, the last good set kept while it is
 * corrupt, never overwritten in that state.
 * @see SUB-2 and SUB-3 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { causeOf, done, type Fault, failed, fault, type Result } from '../../machines/base/fault.ts';
import type { RouteWithSecret } from '../../machines/config/route.ts';
import type { SubscriptionProblem, SubscriptionsRead } from '../../machines/config/subscription.ts';
import { stampOf, updateFileLocked, writableCure } from '../files.ts';

export interface Subscriptions {
  /** The same list while the file is unchanged. */
  readonly routes: readonly RouteWithSecret[];
  /** Broken records: skipped, and reported. */
  readonly problems: readonly SubscriptionProblem[];
  /** Why the file as it stands cannot be read; the routes are then those of the last good one. */
  readonly fault?: Fault;
}

export interface SubscriptionsStore {
  current(): Subscriptions;
  /** The rules have changed: the last good text is read by them, also where the file has become corrupt meanwhile. */
  reconsider(): void;
  /** Changes the file under its lock; refuses while it is corrupt. */
  update(change: (text: string) => string): Promise<Result<true>>;
}

export interface SubscriptionsSettings {
  readonly path: string;
  readonly read: (text: string) => SubscriptionsRead;
}

const none: Subscriptions = { routes: [], problems: [] };

export function createSubscriptionsStore({ path, read }: SubscriptionsSettings): SubscriptionsStore {
  let seen: string | undefined;
  let current: Subscriptions = none;
  /** The text that the routes in force were read from. */
  let good: string | undefined;

  function reread(): void {
    const stamp = stampOf(path);
    if (stamp === seen) return;
    seen = stamp;
    if (stamp === undefined) {
      current = none;
      good = undefined;
      return;
    }
    try {
      const text = readFileSync(path, 'utf8');
      const result = read(text);
      if (result.ok) good = text;
      current = result.ok ? { routes: result.routes, problems: result.problems } : { ...current, fault: result.fault };
    } catch (thrown) {
      // Permissions can be mended without moving the stamp, so the next look tries again.
      seen = undefined;
      const unreadable = fault(
        'subscriptions-unreadable',
        `${path}: cannot be read; check its permissions`,
        causeOf(thrown),
      );
      current = { ...current, fault: current.fault?.message === unreadable.message ? current.fault : unreadable };
    }
  }

  return {
    current() {
      reread();
      return current;
    },
    reconsider() {
      const result = good === undefined ? undefined : read(good);
      if (result?.ok === true) current = { ...current, routes: result.routes, problems: result.problems };
    },
    async update(change) {
      let refused: Fault | undefined;
      try {
        await updateFileLocked(path, (text) => {
          const standing = text ?? '{}';
          const result = read(standing);
          if (result.ok) return change(standing);
          refused = result.fault;
          return undefined;
        });
      } catch (thrown) {
        const cause = causeOf(thrown);
        return failed('subscriptions-unreadable', `${path}: cannot be changed: ${cause}; ${writableCure}`, cause);
      }
      // What was just written is the last good set, also where nobody asks before the file is spoilt.
      reread();
      return refused === undefined ? done(true) : failed(refused.code, refused.message, refused.cause);
    },
  };
}
