/**
 * The live data of the logins in progress, one row each: settings, listener, client, codes, tokens and the progress
 * listener. One login per server at a time.
 * @see OAU-8 and DEV-5 in docs/specification.md
 */

import type { CallbackListener } from '../../actors/oauth/callback-listener.ts';
import type { IssuedCode } from '../../actors/oauth/device-authorization.ts';
import type { Discovery } from '../../actors/oauth/discover.ts';
import type { OauthFetch } from '../../actors/oauth/oauth-fetch.ts';
import { inProfile } from '../../machines/base/names.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import type { browserLoginMachine } from '../../machines/oauth/browser-login.machine.ts';
import type { OauthClient, StoredClient } from '../../machines/oauth/client-identity.ts';
import type { deviceLoginMachine } from '../../machines/oauth/device-login.machine.ts';
import type { LoginInput } from '../../machines/oauth/login-step.ts';
import type { OauthSettings } from '../../machines/oauth/oauth-settings.ts';
import type { TokenRecord } from '../../machines/oauth/token-record.ts';

export type LoginProgress =
  | { readonly kind: 'url'; readonly url: string; readonly expires_in_seconds: number }
  | {
      readonly kind: 'code';
      readonly verification_uri: string;
      readonly verification_uri_complete?: string;
      readonly user_code: string;
      readonly expires_in_seconds: number;
    }
  /** A finding that may make the login fail. */
  | { readonly kind: 'warning'; readonly code: string; readonly message: string };

export interface LiveLogin {
  readonly settings: OauthSettings;
  readonly url: string;
  readonly oauth: OauthFetch;
  readonly report: (progress: LoginProgress) => void;
  discovery?: Discovery;
  /** The fix if the authorization server refuses the requested scope. */
  scopeCure?: string;
  listener?: CallbackListener;
  redirectUri?: string;
  client?: OauthClient;
  /** A registration made for this login. */
  registration?: StoredClient;
  state?: string;
  codeVerifier?: string;
  code?: string;
  iss?: string | undefined;
  authorizationUrl?: string;
  /** Accepts the query of a pasted redirect URL; false if it does not belong to this login. */
  paste?: (query: string) => boolean;
  device?: IssuedCode;
  tokens?: TokenRecord;
  readonly close: () => void;
}

export type LoginOutcome = { readonly kind: 'loggedIn' } | { readonly kind: 'stopped'; readonly why: string };

export interface Logins {
  /** Undefined if a login to the server is already in progress. */
  start(
    input: Omit<LoginInput, 'id'> & { readonly flow: 'browser' | 'device' },
    live: LiveLogin,
    signal: AbortSignal,
  ): Promise<LoginOutcome> | undefined;
  isUnderWay(profile: string, server: string): boolean;
  get(id: string): LiveLogin | undefined;
  /** Passes a pasted redirect to the login of a server; false if none waits for it. */
  paste(profile: string, server: string, query: string): boolean;
  ended(id: string, outcome: LoginOutcome): void;
  /**
   * Ends all logins in progress, which releases their ports; no login begins after it. Resolves when none is left: one that
   * stores its tokens is too late to cancel.
   */
  stop(): Promise<void>;
}

interface Row {
  readonly live: LiveLogin;
  readonly stop: (why: string) => void;
  readonly resolve: (outcome: LoginOutcome) => void;
}

export function createLogins(pools: {
  readonly browser: () => ChartPool<typeof browserLoginMachine>;
  readonly device: () => ChartPool<typeof deviceLoginMachine>;
}): Logins {
  const rows = new Map<string, Row>();
  const ending = 'the gateway stops';
  let stopped = false;
  let noneLeft = (): void => {};

  function ended(id: string, outcome: LoginOutcome): void {
    const row = rows.get(id);
    if (row === undefined) return;
    row.live.close();
    // A chart that crashed has not released its port.
    row.live.listener?.close();
    rows.delete(id);
    row.resolve(outcome);
    if (rows.size === 0) noneLeft();
  }

  return {
    start({ flow, ...input }, live, signal) {
      const id = keyOf(input.profile, input.server);
      if (rows.has(id)) return undefined;
      if (stopped) {
        live.close();
        return Promise.resolve({ kind: 'stopped', why: ending });
      }
      const pool = flow === 'device' ? pools.device() : pools.browser();
      const stop = (why?: string): void =>
        void pool.get(id)?.send({ type: 'login.cancel', ...(why === undefined ? {} : { why }) });
      const cancel = (): void => stop();
      return new Promise((resolve) => {
        const answer = (outcome: LoginOutcome): void => {
          signal.removeEventListener('abort', cancel);
          resolve(outcome);
        };
        rows.set(id, { live, stop, resolve: answer });
        if (pool.spawn(id, { ...input, id }) === undefined) {
          ended(id, { kind: 'stopped', why: ending });
          return;
        }
        signal.addEventListener('abort', cancel, { once: true });
        if (signal.aborted) cancel();
      });
    },
    isUnderWay: (profile, server) => rows.has(keyOf(profile, server)),
    get: (id) => rows.get(id)?.live,
    paste: (profile, server, query) => rows.get(keyOf(profile, server))?.live.paste?.(query) ?? false,
    ended,
    stop() {
      stopped = true;
      for (const row of [...rows.values()]) row.stop(ending);
      return new Promise((resolve) => {
        noneLeft = resolve;
        if (rows.size === 0) resolve();
      });
    },
  };
}

function keyOf(profile: string, server: string): string {
  return inProfile(server, profile);
}
