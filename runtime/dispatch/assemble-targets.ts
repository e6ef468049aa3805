/**
 * Assembles the delivery side: the targets of every profile, the pool of their connections, and the interface for
 * deliveries and commands. Decides nothing.
 * @see DLV-1 in docs/specification.md
 */

import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyActorLogic, AnyActorRef } from 'xstate';
import type { LoadedHome } from '../../actors/config/load-config.ts';
import { createMailTransport } from '../../actors/dispatch/mail-transport.ts';
import type { Logger } from '../../actors/ports.ts';
import { type CompileOptions, compile } from '../../machines/base/compile.ts';
import { createWard, type WardHandle, wardHandle } from '../../machines/base/ward.ts';
import type { PlatformInput } from '../../machines/dispatch/platform-connection.machine.ts';
import { wake } from '../system/wake.ts';
import { wirePlatform } from './platform-connections.ts';
import { createPlatforms, type Platforms, type PlatformsPorts } from './platforms.ts';

export interface PlatformsHalfPorts {
  readonly root: () => AnyActorRef;
  readonly home: () => LoadedHome;
  readonly runOf: PlatformsPorts['runOf'];
  readonly ending: AbortSignal;
  readonly compiling: CompileOptions;
  readonly nowMs: () => number;
  readonly steadyMs: () => number;
  readonly log: Logger;
}

export interface PlatformsHalf {
  /** The gateway chart keeps it under the system id `platforms`. */
  readonly ward: AnyActorLogic;
  readonly platforms: Platforms;
}

/** A whole number below 2³². */
const random32 = (): number => randomInt(2 ** 32);

export function assemblePlatforms({
  root,
  home,
  runOf,
  ending,
  compiling,
  nowMs,
  steadyMs,
  log,
}: PlatformsHalfPorts): PlatformsHalf {
  const platforms = createPlatforms({
    home,
    runOf,
    ending,
    ward: (): WardHandle<PlatformInput> | undefined => {
      const ref: AnyActorRef | undefined = root().system.get('platforms');
      return ref && wardHandle(ref);
    },
    owner: {
      log,
      ports: {
        now: nowMs,
        wait: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
        random: random32,
        createMailTransport,
      },
    },
    wake,
    nowMs,
    steadyMs,
    random: Math.random,
    log,
  });
  return {
    platforms,
    ward: createWard({
      name: 'platforms',
      logic: compile(wirePlatform({ platforms: () => platforms, log }), compiling),
      onDone: (key) => platforms.ended(key),
      onCrashed: (key, error) => {
        log.log('error', `platforms/${key} crashed`, { actor: `platforms/${key}`, error: String(error) });
        platforms.crashed(key, error);
      },
    }),
  };
}
