/**
 * Changes keys of a subscription's record, which is checked by the rules of routes before it is written.
 * @see SUB-1, SUB-2 and SRC-3 in docs/specification.md
 */

import type { LoadedHome } from '../../actors/config/load-config.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { Route } from '../../machines/config/route.ts';
import { editSubscriptions, readSubscription, subscriptionIn } from '../../machines/config/subscription.ts';
import { Refusal } from '../control/refusal.ts';
import { subscriptionContext } from './route-sources.ts';
import type { RouteSources } from './route-table.ts';

/**
 * Resolves with whether the record was changed; rejects with a Refusal if it would break a rule or the file cannot be
 * changed.
 * @param changeOf returns the keys to change, given the record on disk; null removes a key, undefined changes nothing
 */
export async function editSubscription(
  { home, sources }: { readonly home: LoadedHome; readonly sources: RouteSources },
  { name, profile }: Pick<Route, 'name' | 'profile'>,
  changeOf: (record: JsonObject) => JsonObject | undefined,
): Promise<boolean> {
  const store = sources.subscriptions.get(profile);
  if (store === undefined) return false;
  let refused: Refusal | undefined;
  let isChanged = false;
  const updated = await store.update((text) => {
    const record = subscriptionIn(text, name);
    if (!isJsonObject(record)) {
      refused = new Refusal('subscription-unknown', `"${name}" is no subscription of profile "${profile}" any more`);
      return undefined;
    }
    const change = changeOf(record);
    if (change === undefined) return undefined;
    const merged = Object.entries({ ...record, ...change });
    const next: JsonObject = Object.fromEntries(merged.filter(([, value]) => value !== null));
    const read = readSubscription(name, next, subscriptionContext(home, profile));
    if (!read.ok) {
      const [first] = read.problems;
      const words = read.problems.map(({ message }) => message).join('; ');
      refused = Refusal.carrying(first?.code ?? 'subscription-unfit', words);
      return undefined;
    }
    isChanged = true;
    return editSubscriptions(text, name, next);
  });
  if (refused !== undefined) throw refused;
  if (!updated.ok) throw new Refusal(updated.fault.code, updated.fault.message);
  return isChanged;
}
