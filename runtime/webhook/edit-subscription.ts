/**
 * Changes keys of a subscription's record, which is checked by the rules of routes before it is written: for a person, and
 * for a handshake that brings the secret.
 * @see SUB-1, SUB-2 and SRC-3 in docs/specification.md
 */

import type { LoadedHome } from '../../actors/config/load-config.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import { hasPublicSecret } from '../../machines/config/read-signature.ts';
import type { Route } from '../../machines/config/route.ts';
import { editSubscriptions, readSubscription } from '../../machines/config/subscription.ts';
import { handshakeCode } from '../../machines/webhook/handshake.ts';
import { Refusal } from '../control/contract/refusal.ts';
import type { RequestPorts } from './requests.ts';
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
  const updated = await store.update((text, records) => {
    const record = readJson(records.get(name)?.text ?? '');
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
    // A public key is no secret, and a secret no public key.
    const before = readSubscription(name, record, subscriptionContext(home, profile));
    const isPublic = hasPublicSecret(read.value.route);
    const isKept = change.secret === undefined || Array.isArray(change.secret);
    if (before.ok && isKept && hasPublicSecret(before.value.route) !== isPublic) {
      const why = isPublic
        ? 'the new sender is verified by its public key; give that alone with --secret -'
        : 'the subscription has a public key, by which anybody could sign as the new sender; give another secret alone with --secret';
      refused = new Refusal('secret-needed', why);
      return undefined;
    }
    isChanged = true;
    return editSubscriptions(text, name, next);
  });
  if (refused !== undefined) throw refused;
  if (!updated.ok) throw new Refusal(updated.fault.code, updated.fault.message);
  return isChanged;
}

interface LearnKeyPorts {
  readonly home: () => LoadedHome;
  readonly sources: () => RouteSources;
  readonly log: Logger;
}

/** Makes the key that a handshake brought the secret of its subscription, if it also brought the code that is expected. */
export function createLearnKey({ home, sources, log }: LearnKeyPorts): RequestPorts['learnKey'] {
  return async (route, { key, query }) => {
    const code = new URLSearchParams(query ?? '').get(handshakeCode);
    try {
      // The code on disk may have changed or been removed meanwhile: then the subscription has its secret.
      const isLearnt = await editSubscription(
        { home: home(), sources: sources() },
        route,
        ({ verify_token: wanted }) => (wanted === code ? { secret: key, verify_token: null } : undefined),
      );
      if (isLearnt) log.log('info', `route "${route.name}" has the secret that its sender sent`, { route: route.name });
      return isLearnt;
    } catch (thrown) {
      log.log('error', `the secret of route "${route.name}" was not taken: ${causeOf(thrown)}`, { route: route.name });
      return false;
    }
  };
}
