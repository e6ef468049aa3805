/** Reads the texts of a home's files at once: a `config.yaml` of a home that has a secret to keep, and subscriptions. */

import { filterChecker } from '../../actors/config/load-config.ts';
import { defaultProfile } from '../../machines/base/names.ts';
import { type ConfigRead, readConfig } from '../../machines/config/read-config.ts';
import {
  readingSubscriptions,
  type SubscriptionContext,
  type SubscriptionsRead,
} from '../../machines/config/subscription.ts';

/** What `${SECRET}` stands for. */
export const keptSecret = 'never-to-be-printed';

export function readText(text: string, env: Readonly<Record<string, string>> = {}): ConfigRead {
  return readConfig({
    file: 'config.yaml',
    text,
    profile: defaultProfile,
    profiles: new Set(['default']),
    scope: {
      secrets: new Map([['SECRET', keptSecret]]),
      env,
      userHome: '/home/me',
      pathSeparator: '/',
    },
    checkFilters: filterChecker('/home/of/nobody'),
    isFolder: (path) => path.startsWith('/'),
  });
}

export function readSubscriptions(text: string, context: SubscriptionContext): SubscriptionsRead {
  const reading = readingSubscriptions(text, context);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}
