/** The two login charts, wired to a real authorization server and a real folder of credentials. */

import type { Test } from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import type { Credentials } from '../../../actors/oauth/credentials.store.ts';
import { createOauthFetch } from '../../../actors/oauth/oauth-fetch.ts';
import { compile } from '../../../machines/base/compile.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { createPool, type PoolHandle, poolHandle } from '../../../machines/base/pool.ts';
import type { BrowserLoginContext } from '../../../machines/oauth/browser-login.machine.ts';
import type { LoginInput } from '../../../machines/oauth/login-step.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';
import { wireBrowserLogin } from '../../../runtime/oauth/browser-login.ts';
import { wireDeviceLogin } from '../../../runtime/oauth/device-login.ts';
import { noteScopeRefusal } from '../../../runtime/oauth/login-steps.ts';
import { createLogins, type LoginOutcome, type LoginProgress, type Logins } from '../../../runtime/oauth/logins.ts';
import { eventually } from '../mcp/gateway.ts';
import { startProtectedServer } from './protected-server.ts';
import { startScriptedServer } from './scripted-server.ts';
import { tokenStore } from './token-store.ts';

/** Nobody serves it. */
export const document = 'https://document.invalid/client.json';

export async function loginStage(t: Test, change: (credentials: Credentials) => Credentials = (same) => same) {
  const authority = await startScriptedServer(t);
  const { url } = await startProtectedServer(t, {
    authorizationServers: [authority.issuer],
    accepts: authority.accepts,
    scopes: ['mcp:tools'],
  });
  const { credentials, log, logged } = tokenStore(t);
  const clock = new SimulatedClock();
  const pools = new Map<string, PoolHandle<LoginInput>>();
  const logins: Logins = createLogins({
    browser: () => pools.get('browser') as PoolHandle<LoginInput>,
    device: () => pools.get('device') as PoolHandle<LoginInput>,
  });
  const ports = { logins, credentials: () => change(credentials), nowMs: () => 1_000, log };
  const onDone = (key: string, end: BrowserLoginContext): void => {
    const { why } = end;
    noteScopeRefusal(ports, end);
    // The table would close what a chart has forgotten to close.
    delete logins.get(key)?.listener;
    logins.ended(key, why === null ? { kind: 'loggedIn' } : { kind: 'stopped', why });
  };
  const logics = { browser: compile(wireBrowserLogin(ports)), device: compile(wireDeviceLogin(ports)) };
  for (const [name, logic] of Object.entries(logics)) {
    const actor = createActor(createPool({ name, logic: logic as never, onDone }), { clock }).start();
    t.teardown(() => actor.stop());
    pools.set(name, poolHandle(actor as never) as unknown as PoolHandle<LoginInput>);
  }

  /** Begins a login of `hub`; what it reports, and what comes of it. */
  function begin(flow: 'browser' | 'device' = 'browser', entry: JsonObject = {}) {
    const told: LoginProgress[] = [];
    const person = new AbortController();
    const { signal } = person;
    const outcome = logins.start(
      { profile: 'default', server: 'hub', startedFrom: 'terminal', flow },
      {
        // A name of its own is no client of the document's ports: any free port will do.
        settings: readOauthSettings({ oauth: { client_name: 'spec', ...entry } }),
        url,
        oauth: createOauthFetch({
          fetch: (to, init) =>
            String(to) === document ? Promise.resolve(new Response('gone', { status: 404 })) : fetch(to, init),
          version: '0',
          userAgent: undefined,
          signal,
        }),
        report: (progress) => void told.push(progress),
        close: () => {},
      },
      signal,
    ) as Promise<LoginOutcome>;
    const urls = (): string[] => told.flatMap((one) => (one.kind === 'url' ? [one.url] : []));
    return {
      told,
      outcome,
      urls,
      cancel: () => person.abort(),
      /** The address of the authorization server, as the n-th was told. */
      url: (nth = 0) => eventually(async () => urls()[nth]),
      code: () => eventually(async () => told.find(({ kind }) => kind === 'code')),
    };
  }
  const inState = (pool: string, state: string) =>
    eventually(async () => pools.get(pool)?.get('hub')?.getSnapshot().value === state || undefined);
  return { authority, begin, clock, credentials, inState, logged, logins, serverUrl: url };
}
