/** Provides the effects of the platform connection chart: the check, its end for those that wait, and the log lines. */

import { fromPromise } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import {
  type PlatformContext,
  platformConnectionMachine,
  type VerifyResult,
} from '../../machines/dispatch/platform-connection.machine.ts';
import { platformKey } from './live-targets.ts';
import type { Platforms } from './platforms.ts';

export interface PlatformPorts {
  readonly platforms: () => Platforms;
  readonly log: Logger;
}

export function wirePlatform({ platforms, log }: PlatformPorts) {
  /** The last logged reason of each, so that a lasting outage is one line and not one every quarter of an hour. */
  const said = new Map<string, string>();
  const keyOf = ({ profile, name }: PlatformContext): string => platformKey(profile, name);

  return platformConnectionMachine.provide({
    actors: {
      verify: fromPromise<VerifyResult, PlatformContext>(({ input, signal }) => platforms().verify(input, signal)),
    },
    actions: {
      tellChecked: ({ context }) => {
        if (context.why === null && said.delete(keyOf(context)))
          log.log('info', `target ${context.name} is connected again`, { profile: context.profile });
        // After this step, so that the waiting deliveries see the state that it leads to.
        queueMicrotask(() => platforms().checked(keyOf(context)));
      },
      reportFailed: ({ context }) => {
        const { why, name, profile } = context;
        if (why === null || said.get(keyOf(context)) === why) return;
        said.set(keyOf(context), why);
        log.log('warn', `target ${name} is not connected: ${why}`, { profile });
      },
    },
  });
}
