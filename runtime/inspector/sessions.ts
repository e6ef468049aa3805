/**
 * The page's sessions: a link that opens one and works once, the id that a cookie carries, and the key that the page alone
 * holds. A browser sends its cookies to every port of this machine, so the id opens nothing by itself: it is the digest of
 * the key, and nobody finds the key from it. Links are forgotten with the process, sessions are kept for the next one; what
 * is kept of either is its digest, so that looking one up takes the same time whatever is asked.
 * @see INS-2 in docs/specification.md
 */

import { createHash, randomBytes } from 'node:crypto';

export interface PageSession {
  /** What the cookie carries: enough for the page's files. */
  readonly id: string;
  /** What the page sends beside it with everything that it asks. */
  readonly key: string;
}

export interface PageSessions {
  /** Makes the token of a one-time link. */
  invite(): string;
  /** Tells whether a token would open a session, and leaves it as it is. */
  invites(token: string): boolean;
  /** Takes a token for a session; undefined for one that is unknown, used or old. */
  open(token: string): PageSession | undefined;
  knows(id: string): boolean;
  /** Tells whether the key is that of the session, which must be known. */
  opens(id: string, key: string): boolean;
}

/** Where sessions outlive the process. */
export interface SessionKeep {
  /** Digests with when they end, Unix milliseconds. */
  load(): Iterable<readonly [string, number]>;
  save(sessions: Iterable<readonly [string, number]>): void;
}

/** A person opens the link at once; over ssh it is copied by hand. */
export const inviteLifeMs = 300_000;
export const sessionLifeMs = 7 * 24 * 3_600_000;
const mostInvites = 16;
const mostSessions = 64;
const secretBytes = 32;

export function createPageSessions(nowMs: () => number, keep: SessionKeep): PageSessions {
  const invited = new Map<string, number>();
  let known: Map<string, number> | undefined;
  /** Read when a page first asks. */
  const sessions = (): Map<string, number> => {
    known ??= new Map(keep.load());
    return known;
  };

  function enter(table: Map<string, number>, token: string, lifeMs: number, most: number): void {
    for (const [digest, endsAtMs] of table) if (endsAtMs <= nowMs()) table.delete(digest);
    for (const oldest of table.keys()) {
      if (table.size < most) break;
      table.delete(oldest);
    }
    table.set(digestOf(token), nowMs() + lifeMs);
  }

  const knows = (id: string): boolean => (sessions().get(digestOf(id)) ?? 0) > nowMs();
  const invites = (token: string): boolean => (invited.get(digestOf(token)) ?? 0) > nowMs();

  return {
    invite() {
      const token = freshSecret();
      enter(invited, token, inviteLifeMs, mostInvites);
      return token;
    },
    invites,
    open(token) {
      const isGood = invites(token);
      invited.delete(digestOf(token));
      if (!isGood) return undefined;
      const key = freshSecret();
      const id = idOf(key);
      enter(sessions(), id, sessionLifeMs, mostSessions);
      keep.save(sessions());
      return { id, key };
    },
    knows,
    opens: (id, key) => knows(id) && idOf(key) === id,
  };
}

function freshSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** The id of the session that a key opens. Both sides of a comparison come from the one who asks. */
function idOf(key: string): string {
  return digestOf(`session of ${key}`);
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
