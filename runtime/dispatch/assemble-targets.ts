/**
 * Assembles the delivery side: the targets of every profile, the pool of their connections, and the interface for
 * deliveries and commands.
 * @see DLV-1 in docs/specification.md
 */

import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AnyActorRef, fromPromise } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import type { CompileOptions } from '../../machines/base/compile.ts';
import {
  type PlatformContext,
  platformConnectionMachine,
  type VerifyResult,
} from '../../machines/dispatch/platform-connection.machine.ts';
import { createChartPool, poolUnder } from '../system/pools.ts';
import { wake } from '../system/ticks.ts';
import { platformKey } from './live-targets.ts';
import { createPlatforms, type Platforms, type PlatformsPorts } from './platforms.ts';

interface PlatformsHalfPorts
  extends Pick<PlatformsPorts, 'home' | 'runOf' | 'ending' | 'node' | 'nowMs' | 'steadyMs' | 'log'> {
  readonly root: () => AnyActorRef;
  readonly compiling: CompileOptions;
}

export function assemblePlatforms(ports: PlatformsHalfPorts) {
  const { root, nowMs, log } = ports;
  const platforms = createPlatforms({
    ...ports,
    pool: () => poolUnder(root(), 'platforms'),
    targetPorts: {
      now: nowMs,
      wait: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
      random: () => randomInt(2 ** 32),
    },
    wake,
    random: Math.random,
  });
  return {
    platforms,
    /** The gateway chart keeps it under the system id `platforms`. */
    pool: createChartPool(ports, {
      name: 'platforms',
      machine: wirePlatform({ platforms: () => platforms, log }),
      onDone: platforms.ended,
      onCrashed: platforms.crashed,
    }),
  };
}

/** Provides the effects of the connection chart: the check, its end for those that wait, and the log lines. */
export function wirePlatform({ platforms, log }: { readonly platforms: () => Platforms; readonly log: Logger }) {
  /** The last logged reason of each, so that a lasting outage is one line and not one every quarter of an hour. */
  const said = new Map<string, string>();
  const keyOf = ({ profile, name }: PlatformContext): string => platformKey(profile, name);

  return platformConnectionMachine.provide({
    actors: {
      verify: fromPromise<VerifyResult, PlatformContext>(({ input, signal }) => platforms().verify(input, signal)),
    },
    actions: {
      reportChecked: ({ context }) => {
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
