/** Gathers the routes of every profile: those of its configuration and its subscriptions file. */

import type { LoadedHome } from '../actors/config/load-config.ts';
import { checkFilters } from '../actors/config/load-config.ts';
import type { Logger } from '../actors/ports.ts';
import { createSubscriptionsStore, type SubscriptionsStore } from '../actors/webhook/subscriptions.store.ts';
import type { ProfileName } from '../machines/base/names.ts';
import { readSubscriptions, type SubscriptionContext } from '../machines/config/subscription.ts';
import type { RouteSources } from './route-desk.ts';

export function routeSourcesOf(home: LoadedHome, log: Logger): RouteSources {
  return {
    multiplexProfiles: home.main.settings.gateway.multiplexProfiles,
    configured: [...home.profiles.values()].flatMap(({ settings }) => settings.webhook.routes),
    subscriptions: new Map([...home.profiles.keys()].map((name) => [name, subscriptionsOf(home, name, log)])),
  };
}

/** What a profile's dynamic routes are held against. */
export function subscriptionContext(home: LoadedHome, profile: ProfileName): SubscriptionContext {
  const { host, secret } = home.main.settings.webhook;
  return { profile, host, checkFilters, ...(secret === undefined ? {} : { secret }) };
}

function subscriptionsOf(home: LoadedHome, profile: ProfileName, log: Logger): SubscriptionsStore {
  const path = home.profiles.get(profile)?.paths.subscriptions ?? home.main.paths.subscriptions;
  const context = subscriptionContext(home, profile);
  return createSubscriptionsStore({
    path,
    read: (text) => {
      const read = readSubscriptions(text, context);
      if (!read.ok) log.log('error', read.fault.message, { code: read.fault.code, profile });
      else
        for (const { name, message, code } of read.problems)
          log.log('warn', `subscription "${name}" skipped: ${message}`, { code, profile });
      return read;
    },
  });
}
