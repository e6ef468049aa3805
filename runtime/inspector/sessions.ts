/**
 * The page's sessions: a link that opens one and works once, and the ids that cookies carry. Links are forgotten
 * with the process, sessions are kept for the next one; what is kept of either is its digest, so that looking one up takes
 * the same time whatever is asked.
 * @see INS-2 in docs/specification.md
 */

import { createHash, randomBytes } from 'node:crypto';

export interface PageSessions {
  /** Makes the token of a one-time link. */
  invite(): string;
  /** Takes a token for a session's id; undefined for one that is unknown, used or old. */
  open(token: string): string | undefined;
  knows(id: string): boolean;
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
const tokenBytes = 32;

export function createPageSessions(nowMs: () => number, keep: SessionKeep): PageSessions {
  const invites = new Map<string, number>();
  let known: Map<string, number> | undefined;
  /** Read when a page first asks. */
  const sessions = (): Map<string, number> => {
    known ??= new Map(keep.load());
    return known;
  };

  function issue(table: Map<string, number>, lifeMs: number, most: number): string {
    const token = randomBytes(tokenBytes).toString('base64url');
    for (const [digest, endsAtMs] of table) if (endsAtMs <= nowMs()) table.delete(digest);
    for (const oldest of table.keys()) {
      if (table.size < most) break;
      table.delete(oldest);
    }
    table.set(digestOf(token), nowMs() + lifeMs);
    return token;
  }

  return {
    invite: () => issue(invites, inviteLifeMs, mostInvites),
    open(token) {
      const digest = digestOf(token);
      const endsAtMs = invites.get(digest);
      invites.delete(digest);
      if (endsAtMs === undefined || endsAtMs <= nowMs()) return undefined;
      const id = issue(sessions(), sessionLifeMs, mostSessions);
      keep.save(sessions());
      return id;
    },
    knows: (id) => (sessions().get(digestOf(id)) ?? 0) > nowMs(),
  };
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
