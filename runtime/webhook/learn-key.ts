/** Makes the key that a handshake brought the secret of its subscription, if it also brought the code that is expected. */

import type { LoadedHome } from '../../actors/config/load-config.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { handshakeCode } from '../../machines/webhook/handshake.ts';
import { editSubscription } from './edit-subscription.ts';
import type { RequestPorts } from './requests.ts';
import type { RouteSources } from './route-table.ts';

interface LearnKeyPorts {
  readonly home: () => LoadedHome;
  readonly sources: () => RouteSources;
  readonly log: Logger;
}

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
