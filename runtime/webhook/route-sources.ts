/**
 * Collects the routes of every profile: those of its configuration and of its subscriptions file. The stores of the files
 * survive reloads, so that the last valid subscriptions stay in force when the configuration changes.
 * @see SUB-2 in docs/specification.md
 */

import { existsSync, lstatSync } from 'node:fs';
import type { LoadedHome } from '../../actors/config/load-config.ts';
import { filterChecker } from '../../actors/config/load-config.ts';
import type { Logger } from '../../actors/ports.ts';
import { createSubscriptionsStore, type SubscriptionsStore } from '../../actors/webhook/subscriptions.store.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { textsOfSecret } from '../../machines/config/route.ts';
import { readingSubscriptions, type SubscriptionContext } from '../../machines/config/subscription.ts';
import type { RouteSources } from './route-table.ts';

interface SourceReaderPorts {
  readonly log: Logger;
  /** Registers each secret of a subscription with the redactor. */
  readonly learn: (secret: string) => void;
}

export function createSourceReader(ports: SourceReaderPorts) {
  let stores: ReadonlyMap<ProfileName, SubscriptionsStore> = new Map();
  let current: LoadedHome | undefined;
  const look = (): void => {
    for (const store of stores.values()) store.current();
  };
  return {
    /** Reads the subscriptions that have changed: their secrets may be in events that other commands and gateways show. */
    look,
    /** The sources of the current home. Profiles that stay keep their stores, which then use the new home's rules. */
    read(home: LoadedHome): RouteSources {
      const last = current ?? home;
      current = home;
      const standing = stores;
      stores = new Map(
        [...home.profiles.values()].map(({ name }) => [
          name,
          standing.get(name) ?? subscriptionsOf(home, name, () => subscriptionContext(current ?? home, name), ports),
        ]),
      );
      for (const [name, store] of standing) {
        const before = last.profiles.has(name) ? rulesOf(last, name) : undefined;
        if (before !== rulesOf(home, name)) store.reconsider();
      }
      look();
      return {
        multiplexProfiles: home.main.settings.gateway.multiplexProfiles,
        configured: [...home.profiles.values()].flatMap(({ settings }) => settings.webhook.routes),
        subscriptions: stores,
      };
    },
  };
}

/** The settings of a home that affect how a profile's subscriptions are read, as a text to compare. */
function rulesOf(home: LoadedHome, profile: ProfileName): string {
  const { host, secret, allowWeakSecrets, publicUrl, profiles } = subscriptionContext(home, profile);
  return JSON.stringify([host, secret, allowWeakSecrets, publicUrl, profiles === undefined ? null : [...profiles]]);
}

/** The settings by which a profile's dynamic routes are checked. */
export function subscriptionContext(home: LoadedHome, profile: ProfileName): SubscriptionContext {
  const { main, existing } = home;
  const { host, allowWeakSecrets, publicUrl } = main.settings.webhook;
  const { secret } = (home.profiles.get(profile) ?? main).settings.webhook;
  return {
    profile,
    host,
    allowWeakSecrets,
    publicUrl,
    checkFilters: filterChecker(main.paths.home),
    ...(secret === undefined ? {} : { secret }),
    ...(main.settings.gateway.multiplexProfiles ? { profiles: existing } : {}),
  };
}

function subscriptionsOf(
  home: LoadedHome,
  profile: ProfileName,
  context: () => SubscriptionContext,
  { log, learn }: SourceReaderPorts,
): SubscriptionsStore {
  const { home: folder, subscriptions } = (home.profiles.get(profile) ?? home.main).paths;
  const document = home.documents.at(subscriptions);
  /** Whether there has been a home; before `agent gateway setup` there may be none. */
  let isMade = false;
  /** While the disk of the folder, or that of a link's end, is away, its file cannot be read; it was not removed. */
  const missing = (): string | undefined => {
    if (home.documents.isShared) return undefined;
    const isThere = existsSync(folder);
    isMade ||= isThere || lstatSync(folder, { throwIfNoEntry: false }) !== undefined;
    return isMade && !isThere ? 'away' : undefined;
  };
  const stamp = (): string | undefined => {
    const read = document.stamp();
    isMade ||= read !== undefined;
    return read ?? missing();
  };
  return createSubscriptionsStore({
    document: { ...document, stamp },
    *read(text, known) {
      const read = yield* readingSubscriptions(text, context(), known);
      if (!read.ok) {
        log.log('error', read.fault.message, { code: read.fault.code, profile });
        return read;
      }
      for (const { secret } of read.fresh) {
        textsOfSecret(secret).forEach(learn);
        if (secret.kind === 'shared' && secret.verifyToken !== undefined) learn(secret.verifyToken);
      }
      for (const { name, message, code } of read.problems) {
        log.log('warn', `subscription "${name}" skipped: ${message}`, { code, profile });
      }
      return read;
    },
  });
}
