/**
 * Resolves a short id to a record's key: the newest for `latest`, else the only one whose key begins with the id.
 * @see CLI-6 in docs/specification.md
 */

import type { JournalReader, MarkedCollection } from '../../actors/store/journal.ts';
import { runKeyOf } from '../../machines/webhook/responses.ts';
import { Refusal } from '../control/contract/refusal.ts';

export const latest = 'latest';

/** Candidates in a refusal. */
export const maxCandidates = 20;

/** Shorter prefixes would match by chance. */
export const shortestPrefix = 4;

/** Returns the full key; undefined if no key matches. @throws Refusal `id-ambiguous` if several keys match */
export async function meantKey(
  journal: JournalReader | undefined,
  collection: MarkedCollection,
  id: string,
): Promise<string | undefined> {
  if (id === latest) return (await journal?.list(collection, { limit: 1, order: 'newest' }))?.[0]?.key;
  if ((await journal?.get(collection, id)) !== undefined) return id;
  const keys = await keysOfPrefix(journal, collection, id);
  const [first] = keys;
  // The deliveries of one run begin with its key, and the shortest sorts first.
  if (keys.some((key) => runKeyOf(key) !== first)) throw ambiguous(id, keys);
  return first;
}

/** The keys that begin with the prefix, oldest first; at most one more than a refusal lists. */
export async function keysOfPrefix(
  journal: JournalReader | undefined,
  collection: MarkedCollection,
  prefix: string,
): Promise<readonly string[]> {
  if (prefix.length < shortestPrefix) return [];
  const rows = (await journal?.list(collection, { limit: maxCandidates + 1, order: 'oldest', from: prefix })) ?? [];
  return rows.map(({ key }) => key).filter((key) => key.startsWith(prefix));
}

export function ambiguous(id: string, candidates: readonly string[]): Refusal {
  const listed = candidates.slice(0, maxCandidates).map((one) => `\n  ${one}`);
  const more = candidates.length > maxCandidates ? '\n  and more' : '';
  return new Refusal('id-ambiguous', `several ids begin with "${id}":${listed.join('')}${more}\ngive more of the id`);
}
