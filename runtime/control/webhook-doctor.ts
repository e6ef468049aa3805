/**
 * Explains the last refused requests of a route, from what the daemon kept of them and the route as it is now.
 * @see SRC-5 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import type { RouteWithSecret } from '../../machines/config/route.ts';
import { diagnoseRefusal, type RefusedRequest } from '../../machines/webhook/diagnose-refusal.ts';
import { type CommandHost, daemonOf } from './command.ts';
import type { Diagnosis } from './contract/events.ts';
import type { Result } from './contract.ts';
import { askedRoute } from './event-choice.ts';
import { askedRouteOf, knownRouteOf, profileOf, routedHomeOf } from './home-view.ts';

export async function examineRoute(host: CommandHost, params: JsonObject): Promise<Result<'webhook.doctor'>> {
  const definition = askedRouteOf(routedHomeOf(host), askedRoute(params));
  const { route } = definition;
  const refusals = daemonOf(host).refusals(route.profile, route.name);
  return {
    name: route.name,
    profile: route.profile,
    refusals: refusals.map((refused) => ({
      key: refused.key,
      received_at: new Date(refused.receivedAtMs).toISOString(),
      outcome: refused.kind,
      findings: shown(refused, definition),
    })),
  };
}

/** The findings of one request; empty if nothing was kept of it or its route was removed. */
export function findingsOf(
  { key, route, profile }: { readonly key: string; readonly route: string; readonly profile: string },
  host: CommandHost,
): Diagnosis['findings'] {
  const refused = daemonOf(host)
    .refusals(profile, route)
    .find((one) => one.key === key);
  const definition = refused && knownRouteOf(routedHomeOf(host), { name: route, profile: profileOf(profile) });
  return definition === undefined || refused === undefined ? [] : shown(refused, definition);
}

function shown(refused: RefusedRequest, definition: RouteWithSecret): Diagnosis['findings'] {
  return diagnoseRefusal(refused, definition).map(({ code, text }) => ({ code, text }));
}
