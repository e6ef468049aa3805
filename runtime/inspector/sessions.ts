/**
 * The page's sessions: a link opens one and works once. A session is a cookie with its id and a key, which the page never
 * sends: page and daemon prove to each other that they hold it by HMACs over a nonce of this process. Links end with the
 * process, sessions do not. Ids and link tokens are kept as digests, so that a lookup takes the same time for any of them.
 * @see INS-2 and SEC-1 in docs/specification.md
 * @see [RFC 2104](https://www.rfc-editor.org/rfc/rfc2104.html)
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { defined } from '../../machines/base/json.ts';
import { daemonProofText, type Introduction, pageProofText } from '../../machines/base/page-proof.ts';

export interface PageSession {
  /** The value of the cookie; enough for the page's files. */
  readonly id: string;
  /** Sent to the page once, when the session opens. */
  readonly key: string;
}

/** The session that a request names. */
export interface SessionClaim {
  readonly id: string;
  /** The origin at which the request arrived. */
  readonly origin: string;
}

/** The person that a session belongs to, and what it may do. */
export interface PageGuest {
  /** The person's name in the audit log. */
  readonly who: string;
  /** Absent: everything that the page offers. */
  readonly role?: 'reader';
  /** A digest of the password that the guest signed in with; absent for a link. */
  readonly signedBy?: string;
}

export interface PageSessions {
  /** Makes the token of a one-time link; `onUsed` is called when it opens a session. */
  invite(onUsed?: () => void, guest?: PageGuest): string;
  /** Returns whether a token would open a session, without using it up. */
  invites(token: string): boolean;
  /** Exchanges a token for a session at an origin; undefined if the token is unknown, used or old. */
  open(token: string, origin: string): PageSession | undefined;
  /** Opens a session at an origin for a guest who has signed in. */
  admit(guest: PageGuest, origin: string): PageSession;
  endGuests(mayStay: (guest: PageGuest) => boolean): void;
  knows(claim: SessionClaim): boolean;
  guest(claim: SessionClaim): PageGuest | undefined;
  /** Returns the daemon's answer to a page's challenge; undefined if there is no such session. */
  introduce(claim: SessionClaim, challenge: string): Introduction | undefined;
  /** Returns whether the proof is the page's HMAC over this process's nonce. */
  proves(claim: SessionClaim, proof: string): boolean;
  /** Returns whether the session was opened less than `freshMs` ago. */
  isFresh(claim: SessionClaim): boolean;
  /** Calls back when the session ends, until the returned function is called. */
  onEnd(claim: SessionClaim, end: () => void): () => void;
  /** Ends a session and its open responses. Resolves with whether the sessions' file was written. */
  end(claim: SessionClaim): Promise<boolean>;
  endAll(): Promise<EndedSessions>;
}

export interface EndedSessions {
  readonly count: number;
  /** False if the sessions' file could not be written: a restart would restore them. */
  readonly isKept: boolean;
}

/** A session in the file. */
export interface KeptSession extends PageGuest {
  readonly key: string;
  readonly origin: string;
  /** Unix milliseconds. */
  readonly openedMs: number;
}

export interface SessionKeep {
  /** Sessions by the digest of their id. */
  load(): Iterable<readonly [string, KeptSession]>;
  /** Resolves with whether they were written. */
  save(sessions: Iterable<readonly [string, KeptSession]>): Promise<boolean>;
}

/** The guest of a link that was made without a name. */
const owner: PageGuest = { who: 'owner' };

/** A person opens the link immediately; over ssh it is copied by hand. */
const inviteLifeMs = 300_000;
/** SEC-1. */
export const sessionLifeMs = 12 * 3_600_000;
/** Older sessions need another link to start a program or set a prompt. */
export const freshMs = 600_000;
/** A clock may be set back this far without ending sessions and links. */
const maxAheadMs = 60_000;
const maxInvites = 16;
const maxSessions = 64;
/** Sessions of one guest with a password, so that repeated sign-ins do not end the sessions of others. */
const maxOfGuest = 8;
const secretBytes = 32;

interface Invite {
  readonly guest: PageGuest;
  readonly madeMs: number;
  readonly onUsed: () => void;
}

export function createPageSessions(nowMs: () => number, keep: SessionKeep): PageSessions {
  const nonce = freshSecret();
  const invited = new Map<string, Invite>();
  /** What each session holds open, and the timer of its end. */
  const held = new Map<string, { readonly ends: Set<() => void>; readonly timer: NodeJS.Timeout }>();
  let known: Map<string, KeptSession> | undefined;
  /** Loaded on first use. */
  const sessions = (): Map<string, KeptSession> => {
    known ??= new Map(keep.load());
    return known;
  };

  /** A start that is further ahead than a correction of the clock means that the clock was set back. */
  const isWithin = (startMs: number, lifeMs: number): boolean => {
    const ageMs = nowMs() - startMs;
    return ageMs >= -maxAheadMs && ageMs < lifeMs;
  };
  const isAlive = ({ openedMs }: KeptSession): boolean => isWithin(openedMs, sessionLifeMs);
  const invites = (token: string): boolean => {
    const invite = invited.get(digestOf(token));
    return invite !== undefined && isWithin(invite.madeMs, inviteLifeMs);
  };

  function find({ id, origin }: SessionClaim): KeptSession | undefined {
    const digest = digestOf(id);
    const session = sessions().get(digest);
    if (session === undefined || session.origin !== origin) return undefined;
    if (isAlive(session)) return session;
    // Removed, so that a clock that is set forward again does not restore it.
    drop(digest);
    void keep.save(sessions());
    return undefined;
  }

  function drop(digest: string): void {
    sessions().delete(digest);
    endHeld(digest);
  }

  function endHeld(digest: string): void {
    const { ends = [], timer } = held.get(digest) ?? {};
    clearTimeout(timer);
    for (const end of [...ends]) end();
    held.delete(digest);
  }

  // One timer per session: of each duration that was cleared, Node keeps a list until that time is over.
  function holding(digest: string, session: KeptSession | undefined) {
    const leftMs = session === undefined ? 0 : session.openedMs + sessionLifeMs - nowMs();
    const timer = setTimeout(() => endHeld(digest), Math.min(leftMs, sessionLifeMs)).unref();
    const holds = { ends: new Set<() => void>(), timer };
    held.set(digest, holds);
    return holds;
  }

  function admit(guest: PageGuest, origin: string): PageSession {
    for (const [digest, session] of sessions()) if (!isAlive(session)) drop(digest);
    const own = [...sessions()].filter(([, { who, signedBy }]) => signedBy !== undefined && who === guest.who);
    if (guest.signedBy !== undefined) for (const [digest] of own.slice(0, 1 - maxOfGuest)) drop(digest);
    for (const oldest of sessions().keys()) {
      if (sessions().size < maxSessions) break;
      drop(oldest);
    }
    const session = { id: freshSecret(), key: freshSecret() };
    sessions().set(digestOf(session.id), { ...guest, key: session.key, origin, openedMs: nowMs() });
    void keep.save(sessions());
    return session;
  }

  return {
    invite(onUsed = () => {}, guest = owner) {
      for (const [digest, { madeMs }] of invited) if (!isWithin(madeMs, inviteLifeMs)) invited.delete(digest);
      for (const oldest of invited.keys()) {
        if (invited.size < maxInvites) break;
        invited.delete(oldest);
      }
      const token = freshSecret();
      invited.set(digestOf(token), { guest, madeMs: nowMs(), onUsed });
      return token;
    },
    invites,
    open(token, origin) {
      const invite = invites(token) ? invited.get(digestOf(token)) : undefined;
      invited.delete(digestOf(token));
      if (invite === undefined) return undefined;
      const session = admit(invite.guest, origin);
      invite.onUsed();
      return session;
    },
    admit,
    endGuests(mayStay) {
      const gone = [...sessions()].filter(([, session]) => !mayStay(session));
      for (const [digest] of gone) drop(digest);
      if (gone.length > 0) void keep.save(sessions());
    },
    knows: (claim) => find(claim) !== undefined,
    guest(claim) {
      const session = find(claim);
      if (session === undefined) return undefined;
      const { who, role, signedBy } = session;
      return defined({ who, role, signedBy });
    },
    introduce(claim, challenge) {
      const session = find(claim);
      if (session === undefined) return undefined;
      const words = daemonProofText({ ...claim, nonce }, challenge);
      const { who, role, signedBy } = session;
      const proof = hmacOf(session.key, words).toString('base64url');
      return defined({ nonce, proof, who, role, isByPassword: signedBy === undefined ? undefined : (true as const) });
    },
    proves(claim, proof) {
      const session = find(claim);
      if (session === undefined) return false;
      const right = hmacOf(session.key, pageProofText({ ...claim, nonce }));
      const given = Buffer.from(proof, 'base64url');
      return given.length === right.length && timingSafeEqual(given, right);
    },
    isFresh(claim) {
      const session = find(claim);
      return session !== undefined && isWithin(session.openedMs, freshMs);
    },
    onEnd(claim, end) {
      const session = find(claim);
      const digest = digestOf(claim.id);
      const { ends } = held.get(digest) ?? holding(digest, session);
      ends.add(end);
      return () => void ends.delete(end);
    },
    end({ id }) {
      drop(digestOf(id));
      return keep.save(sessions());
    },
    async endAll() {
      invited.clear();
      const count = [...sessions().values()].filter(isAlive).length;
      for (const digest of [...sessions().keys()]) drop(digest);
      return { count, isKept: await keep.save([]) };
    },
  };
}

function freshSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

function hmacOf(key: string, text: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(text).digest();
}
