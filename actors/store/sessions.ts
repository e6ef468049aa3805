/**
 * Keeps the sessions of running gateways: their owners, and when they expire unless renewed. Runs inside a job.
 * @see DUR-1 in docs/specification.md
 */

import { failed, type Result } from '../../machines/base/fault.ts';
import type { LivingSession, SessionId } from './journal.ts';
import { plainRow, type Tables } from './tables.ts';

/**
 * A session that expired this long ago is removed. Until then its owner may renew it, for example after a machine wakes
 * up.
 */
const forgottenAfterMs = 24 * 60 * 60 * 1000;
const allSessions = 100_000;
const counterKey = 'sessions';

/** Begins a session and ends earlier ones of the same owner. Ids are numbered and never reused. */
export function beginSession(tables: Tables, owner: string, ttlMs: number, nowMs: number): SessionId {
  const { sessions, meta } = tables;
  for (const id of sessions.keys({ limit: allSessions })) {
    const session = sessionOf(tables, id);
    if (session === undefined) continue;
    if (session.owner === owner || session.expiresAtMs + forgottenAfterMs <= nowMs) sessions.remove(id);
  }
  const last = Number(meta.read(counterKey)?.value?.last ?? 0);
  meta.write(counterKey, plainRow({ last: last + 1 }));
  const id = `s${last + 1}`;
  sessions.write(id, plainRow({ owner, expiresAtMs: nowMs + ttlMs }));
  return id;
}

/** Renews a session, even one that has expired but not ended. Returns whether the session exists. */
export function prolongSession(tables: Tables, id: SessionId, ttlMs: number, nowMs: number): boolean {
  const session = sessionOf(tables, id);
  if (session === undefined) return false;
  const { owner } = session;
  tables.sessions.write(id, plainRow({ owner, expiresAtMs: nowMs + ttlMs }));
  return true;
}

export function isLiving(tables: Tables, id: SessionId, nowMs: number): boolean {
  return (sessionOf(tables, id)?.expiresAtMs ?? Number.NEGATIVE_INFINITY) > nowMs;
}

export function livingSessions(tables: Tables, nowMs: number): LivingSession[] {
  return tables.sessions.keys({ limit: allSessions }).flatMap((id) => {
    const session = sessionOf(tables, id);
    return session !== undefined && session.expiresAtMs > nowMs ? [{ id, owner: session.owner }] : [];
  });
}

export function removeSession(tables: Tables, id: SessionId): void {
  if (isSessionId(id)) tables.sessions.remove(id);
}

interface Session {
  readonly owner: string;
  readonly expiresAtMs: number;
}

function sessionOf(tables: Tables, id: SessionId): Session | undefined {
  const session = isSessionId(id) ? tables.sessions.read(id)?.value : undefined;
  if (session === undefined) return undefined;
  return { owner: String(session.owner), expiresAtMs: Number(session.expiresAtMs) };
}

/** Any other text was never an id, and may not be a valid key for a lookup. */
function isSessionId(id: string): boolean {
  return /^s\d{1,15}$/.test(id);
}

export function sessionEnded(session: SessionId): Result<never> {
  return failed('journal-session-ended', `journal: session "${session}" has ended; open a new one`);
}
