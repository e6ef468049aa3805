/**
 * Checks a name and a password of a sign-in. Wrong attempts are limited by name and by sender; an unknown name takes as
 * long as a wrong password. A sender from which the user has signed in is not blocked by attempts on the name from
 * elsewhere.
 * @see SEC-1 in docs/specification.md
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { defined } from '../../machines/base/json.ts';
import type { PageUser } from '../../machines/config/settings.ts';
import { type RateWindow, secondsUntilFree, takeSlot } from '../../machines/webhook/rate-window.ts';
import type { PageGuest } from './sessions.ts';

type SignInVerdict =
  | { readonly kind: 'guest'; readonly guest: PageGuest }
  /** `who`: the user of that name. Absent for an unknown name, which may be a mistyped password. */
  | { readonly kind: 'wrong'; readonly who?: string }
  | { readonly kind: 'later'; readonly seconds: number; readonly who?: string };

export interface SignIns {
  judge(given: { readonly name: string; readonly password: string; readonly sender: string }): SignInVerdict;
}

/** Wrong attempts a minute, by one sender and for one name. */
const maxWrong = 10;
const maxCounted = 10_000;

export function createSignIns(users: readonly PageUser[], nowMs: () => number): SignIns {
  const windows = new LRUCache<string, RateWindow>({ max: maxCounted });
  const signedIn = new LRUCache<string, true>({ max: maxCounted });
  return {
    judge({ name, password, sender }) {
      const user = users.find((one) => one.name === name);
      const who = user === undefined ? {} : { who: name };
      // Digests, because a client can send a name and a sender of any length.
      const ofName = keyOf(`name ${name}`);
      const ofSender = keyOf(`sender ${sender}`);
      const ofBoth = keyOf(`${ofName} ${ofSender}`);
      const counted = signedIn.has(ofBoth) ? [ofSender] : [ofName, ofSender];
      for (const key of counted) {
        const seconds = secondsUntilFree(windows.get(key), maxWrong, nowMs());
        if (seconds !== undefined) return { kind: 'later', seconds, ...who };
      }
      const isRight = timingSafeEqual(digestOf(password), digestOf(user?.password ?? ''));
      if (user !== undefined && isRight) {
        signedIn.set(ofBoth, true);
        return { kind: 'guest', guest: guestOf(user) };
      }
      for (const key of counted) windows.set(key, takeSlot(windows.get(key), nowMs()));
      return { kind: 'wrong', ...who };
    },
  };
}

/** Returns whether a session continues: one of a link does, any other needs a user with its password and role. */
export function mayStay({ who, role, signedBy }: PageGuest, users: readonly PageUser[]): boolean {
  if (signedBy === undefined) return true;
  return users.map(guestOf).some((guest) => guest.who === who && guest.role === role && guest.signedBy === signedBy);
}

function guestOf({ name, password, role }: PageUser): PageGuest {
  return defined({ who: name, role, signedBy: keyOf(`session of ${password}`) });
}

function keyOf(text: string): string {
  return digestOf(text).toString('base64url');
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
