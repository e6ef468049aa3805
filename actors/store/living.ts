/**
 * The live sessions of a journal, as last read: their owners, this gateway's place among them, and whether another gateway
 * has its name.
 * @see SCA-1 in docs/specification.md
 */

import { LRUCache } from 'lru-cache';
import type { Journal, SessionId } from './journal.ts';

export interface OwnSession {
  /** The name of the gateway that owns the session: the same after a crash, so that its old session ends at once. */
  readonly owner: string;
  readonly sessionTtlMs: number;
  /** Called while a session of another live gateway with the same owner is seen. */
  readonly namesake?: () => void;
}

const maxOwners = 1_000;

export function createLiving(
  { owner: own, sessionTtlMs, namesake }: OwnSession,
  session: () => SessionId | undefined,
  steadyMs: () => number,
) {
  let living: ReadonlySet<SessionId> = new Set();
  /** The owners of the latest sessions, including ended ones. */
  const owners = new LRUCache<SessionId, string>({ max: maxOwners });
  /** Another session of the same owner, and when it was first seen: that of a lost machine ends in the meantime. */
  let other: { readonly id: SessionId; readonly seenAtMs: number } | undefined;

  return {
    async learn(opened: Journal): Promise<void> {
      const found = await opened.living();
      if (!found.ok) return;
      const seen = found.value.find(({ id, owner }) => owner === own && id !== session());
      if (seen?.id !== other?.id) other = seen && { id: seen.id, seenAtMs: steadyMs() };
      else if (other !== undefined && steadyMs() - other.seenAtMs > sessionTtlMs) namesake?.();
      living = new Set(found.value.map(({ id }) => id));
      for (const { id, owner } of found.value) owners.set(id, owner);
    },
    has: (id: SessionId): boolean => living.has(id),
    hasEnded(ended: SessionId): void {
      living = new Set([...living].filter((one) => one !== ended));
    },
    ownerOf: (id: SessionId): string | undefined => owners.get(id),
    place(): { readonly of: number; readonly at: number } {
      const all = [...living].sort();
      return { of: Math.max(1, all.length), at: Math.max(0, all.indexOf(session() ?? '')) };
    },
  };
}
