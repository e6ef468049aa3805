/**
 * Judges who signs in on the page with a name and a password. Wrong ones are counted by name and by sender, so that guessing
 * takes longer than a password lasts; an unknown name costs as much as a wrong password. Where a user has signed in from,
 * guesses at the name from elsewhere do not count.
 * @see SEC-1 in docs/specification.md
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { defined } from '../../machines/base/json.ts';
import type { PageUser } from '../../machines/config/settings.ts';
import { type RateWindow, secondsUntilFree, takeSlot } from '../../machines/webhook/rate-window.ts';
import type { PageGuest } from './sessions.ts';

export type SignInVerdict =
  | { readonly kind: 'guest'; readonly guest: PageGuest }
  /** `who`: the user of that name. Without one the name is not repeated: people type their password there. */
  | { readonly kind: 'wrong'; readonly who?: string }
  | { readonly kind: 'later'; readonly seconds: number; readonly who?: string };

export interface SignIns {
  judge(given: { readonly name: string; readonly password: string; readonly sender: string }): SignInVerdict;
}

/** Wrong ones a minute, by one sender and for one name. */
const mostWrong = 10;
const mostCounted = 10_000;

export function createSignIns(users: readonly PageUser[], nowMs: () => number): SignIns {
  const windows = new LRUCache<string, RateWindow>({ max: mostCounted });
  const signedIn = new LRUCache<string, true>({ max: mostCounted });
  return {
    judge({ name, password, sender }) {
      const user = users.find((one) => one.name === name);
      const who = user === undefined ? {} : { who: name };
      // Digests, for both are as long as who guesses likes.
      const ofName = keyOf(`name ${name}`);
      const ofSender = keyOf(`sender ${sender}`);
      const ofBoth = keyOf(`${ofName} ${ofSender}`);
      const counted = signedIn.has(ofBoth) ? [ofSender] : [ofName, ofSender];
      for (const key of counted) {
        const seconds = secondsUntilFree(windows.get(key), mostWrong, nowMs());
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

/** Whether somebody's session continues with these users: one of a link does, another with the same password and role. */
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
