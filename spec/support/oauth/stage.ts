/** A daemon with one server `hub` that asks for OAuth, its authorization server, and a person who logs in. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { makeHome, type TestHome } from '../home.ts';
import { type Gateway, startGateway } from '../mcp/gateway.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { createBrowser } from './browser.ts';
import { type ControlLogin, loginByControl } from './control-login.ts';
import type { SeenByServer } from './http.ts';
import { installBrowser, type RunningCli, type SpecBrowser, startCli } from './login-cli.ts';
import { type ProtectedServer, startProtectedServer } from './protected-server.ts';
import type { ScriptedServer } from './scripted-server.ts';

export interface OauthStage<Authority> {
  readonly home: TestHome;
  readonly gateway: Gateway;
  readonly authority: Authority;
  readonly peer: ProtectedServer;
  readonly browser: SpecBrowser;
  /** `agent mcp login hub …`. */
  login(...more: readonly string[]): RunningCli;
  /** A whole login by the control socket, with a browser that follows at once. */
  logIn(): Promise<ControlLogin>;
  /** The path of a file of the credentials. */
  file(ending: string): string;
  /** Every file of the credentials by name, as it is; a lock of whoever renews them is none. */
  standing(): Readonly<Record<string, string>>;
}

export async function oauthStage<Authority extends AuthorizationServer | ScriptedServer>(
  t: Test,
  authority: Authority,
  oauth: Readonly<Record<string, unknown>> = {},
  {
    authorizationServers = [authority.issuer],
    entry = {},
    timePasses = false,
  }: {
    readonly authorizationServers?: readonly string[];
    readonly entry?: Readonly<Record<string, unknown>>;
    readonly timePasses?: boolean;
  } = {},
): Promise<OauthStage<Authority>> {
  const peer = await startProtectedServer(t, {
    authorizationServers,
    accepts: authority.accepts,
    scopes: ['mcp:tools'],
  });
  const home = makeHome(t);
  const browser = installBrowser(home);
  const gateway = await startGateway(
    t,
    { hub: { url: peer.url, auth: 'oauth', oauth, ...entry } },
    { home, timePasses },
  );
  const folder = join(home.path, 'mcp-tokens');
  return {
    ...{ home, gateway, authority, peer, browser },
    login: (...more) => startCli(t, home, ['mcp', 'login', 'hub', ...more], browser.env),
    logIn: () => loginByControl(t, home, 'hub', {}, follow),
    file: (ending) => join(folder, `hub${ending}`),
    standing: () =>
      Object.fromEntries(
        (existsSync(folder) ? readdirSync(folder) : [])
          .filter((name) => !name.endsWith('.lock'))
          .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
      ),
  };
}

/** A browser that goes where a login sends it. */
export function follow({ url }: { readonly [key: string]: unknown }): void {
  createBrowser()
    .visit(String(url))
    .catch(() => {});
}

/** A stage for device logins: what they must leave alone, and what they ask again and again, as time passes. */
export async function deviceStage<Authority extends AuthorizationServer | ScriptedServer>(
  t: Test,
  authority: Authority,
  oauth: Readonly<Record<string, unknown>> = {},
  authorizationServers: readonly string[] = [authority.issuer],
) {
  const stage = await oauthStage(t, authority, oauth, { authorizationServers, timePasses: true });
  return { ...stage, opened: stage.browser.opened, tokens: () => stage.standing()['hub.json'] };
}

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** The polls that an authorization server has seen. */
export function pollsOf(authority: ScriptedServer): readonly SeenByServer[] {
  return authority.at('/token').filter(({ form }) => form.get('grant_type') === deviceGrant);
}
