/**
 * Assembles logins to servers: each profile's credentials, the table of logins in progress, and the pools of the two
 * login charts. Decides nothing.
 * @see OAU-2, OAU-8 and INS-1 in docs/specification.md
 */

import type { AnyActorLogic } from 'xstate';
import type { Documents } from '../../actors/documents.ts';
import { type Credentials, createCredentials } from '../../actors/oauth/credentials.store.ts';
import type { Logger } from '../../actors/ports.ts';
import type { CompileOptions } from '../../machines/base/compile.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { browserLoginMachine } from '../../machines/oauth/browser-login.machine.ts';
import type { deviceLoginMachine } from '../../machines/oauth/device-login.machine.ts';
import type { LoginEnd, LoginInput } from '../../machines/oauth/login-step.ts';
import type { Redactor } from '../observe/redact.ts';
import { createChartPool } from '../system/pools.ts';
import { wireBrowserLogin } from './browser-login.ts';
import { wireDeviceLogin } from './device-login.ts';
import { learntCredentials } from './learnt-credentials.ts';
import { noteScopeRefusal } from './login-steps.ts';
import { createLogins, type Logins } from './logins.ts';

interface LoginHalfPorts {
  readonly home: string;
  readonly documents: () => Documents;
  readonly browser: () => ChartPool<typeof browserLoginMachine>;
  readonly device: () => ChartPool<typeof deviceLoginMachine>;
  readonly compiling: CompileOptions;
  readonly redactor: Pick<Redactor, 'learnNext'>;
  readonly changed: (profile: string, server: string) => void;
  readonly nowMs: () => number;
  readonly log: Logger;
}

interface LoginHalf {
  readonly logins: Logins;
  readonly credentials: (profile: string) => Credentials;
  /** Writes renewed tokens whose write failed; on another failure the next call retries. */
  readonly storeTokens: () => Promise<void>;
  readonly browserLogins: AnyActorLogic;
  readonly deviceLogins: AnyActorLogic;
}

export function assembleLogins({ home, redactor, nowMs, log, ...ports }: LoginHalfPorts): LoginHalf {
  const stores = new Map<string, Credentials>();

  /** By name alone: a profile that is not loaded must never fall back to the tokens of another. */
  function credentials(profile: string): Credentials {
    return getOrMake(stores, profile, () => {
      const { tokens } = profilePaths(home, profile as ProfileName);
      const learn = (place: string, secret: string): void => redactor.learnNext(`${profile}/${place}`, secret);
      return learntCredentials(createCredentials(tokens, ports.documents(), log), learn);
    });
  }

  const logins = createLogins({ browser: ports.browser, device: ports.device });
  const wiring = { logins, credentials, nowMs, log };
  const pools = { compiling: ports.compiling, log };
  const ends = {
    onDone(key: string, end: LoginInput & LoginEnd): void {
      const { profile, server, why } = end;
      if (why !== null) {
        noteScopeRefusal(wiring, end);
        logins.ended(key, { kind: 'stopped', why });
        return;
      }
      logins.ended(key, { kind: 'loggedIn' });
      ports.changed(profile, server);
    },
    onCrashed(key: string): void {
      logins.ended(key, { kind: 'stopped', why: 'the login crashed in the gateway; see the log' });
    },
  };
  let isStoring = false;
  async function storeTokens(): Promise<void> {
    if (isStoring) return;
    isStoring = true;
    for (const store of stores.values()) await store.storeUnwritten().catch(() => {});
    isStoring = false;
  }

  return {
    logins,
    credentials,
    storeTokens,
    browserLogins: createChartPool(pools, { name: 'browserLogins', machine: wireBrowserLogin(wiring), ...ends }),
    deviceLogins: createChartPool(pools, { name: 'deviceLogins', machine: wireDeviceLogin(wiring), ...ends }),
  };
}
