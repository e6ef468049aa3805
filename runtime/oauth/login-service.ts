/**
 * Begins logins: finds the server's settings, chooses the flow, provides a fetch with the server's TLS, and waits for the
 * outcome. A logout deletes what they stored. A login clears an earlier refusal of the client metadata document, except when it repeats a login (`again`).
 * @see OAU-4, OAU-8 and DEV-5 in docs/specification.md
 */

import type { ServerFetch } from '../../actors/mcp/http-fetch.ts';
import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import { createOauthFetch } from '../../actors/oauth/oauth-fetch.ts';
import { openServerConnections } from '../../actors/oauth/server-connections.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { oauthPlanOf, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import { loginCommand } from '../../machines/oauth/login-hint.ts';
import { pastedQuery } from '../../machines/oauth/redirect-answer.ts';
import type { LoginOutcome, LoginProgress, Logins } from './logins.ts';

export interface LoginRequest {
  readonly profile: string;
  readonly server: string;
  /** Undefined: the flow of the entry. */
  readonly flow?: 'browser' | 'device';
  readonly startedFrom: 'terminal' | 'page';
  /** Repeats a login: a document that was refused is not offered again. */
  readonly again?: boolean;
  readonly signal: AbortSignal;
  readonly report: (progress: LoginProgress) => void;
}

interface Refused {
  readonly kind: 'refused';
  readonly code: 'server-unknown' | 'login-not-oauth' | 'login-under-way' | 'login-terminal-only';
  readonly message: string;
}

export type LoginVerdict = LoginOutcome | Refused;

type LogoutVerdict =
  | { readonly kind: 'loggedOut'; readonly wasLoggedIn: boolean }
  | { readonly kind: 'stopped'; readonly why: string }
  | Refused;

export interface LoginService {
  login(request: LoginRequest): Promise<LoginVerdict>;
  /** Deletes what is stored of the logins to a server, also of one that is not configured any more. */
  logout(profile: string, server: string): Promise<LogoutVerdict>;
  /** Passes a pasted redirect URL to the waiting login; false if none waits, or the text is not a URL with an answer. */
  paste(profile: string, server: string, text: string): boolean;
}

interface LoginServicePorts {
  readonly logins: Logins;
  readonly credentials: (profile: string) => Credentials;
  readonly settings: (profile: string, server: string) => ServerSettings | undefined;
  readonly changed: (profile: string, server: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

export function createLoginService(ports: LoginServicePorts): LoginService {
  const { logins, credentials, settings, changed, env, version } = ports;
  return {
    async login({ profile, server, flow: asked, startedFrom, again = false, signal, report }) {
      const found = settings(profile, server);
      if (found === undefined) return unknown(server);
      const plan = oauthPlanOf(found.transport);
      if (plan === undefined) {
        const message = `mcp server "${server}" does not log in by OAuth; set auth: oauth on a server with a url`;
        return { kind: 'refused', code: 'login-not-oauth', message };
      }
      const flow = asked ?? plan.oauth.flow;
      if (flow === 'device' && startedFrom === 'page') {
        const message = `a device login is begun from a terminal: \`${loginCommand(server, profile)} --flow device\``;
        return { kind: 'refused', code: 'login-terminal-only', message };
      }
      if (logins.isUnderWay(profile, server)) return underWay(server);
      let connections: ServerFetch;
      try {
        // What cannot be written ends the login in its first step, with the reason and the fix.
        if (!again)
          await credentials(profile)
            .clearRefusal(server)
            .catch(() => {});
        connections = await openServerConnections({ server, plan, env, userHome: userHomeFolder(), version });
      } catch (thrown) {
        return { kind: 'stopped', why: causeOf(thrown) };
      }
      const { fetch } = connections;
      const oauth = createOauthFetch({ fetch, version, userAgent: plan.oauth.userAgent, url: plan.url, signal });
      const close = (): void => void connections.close();
      const outcome = logins.start(
        { profile, server, startedFrom, flow },
        { settings: plan.oauth, url: plan.url, oauth, report, close },
        signal,
      );
      if (outcome !== undefined) return outcome;
      close();
      return underWay(server);
    },
    async logout(profile, server) {
      if (logins.isUnderWay(profile, server)) return underWay(server);
      const store = credentials(profile);
      try {
        const wasLoggedIn = await store.forget(server);
        if (wasLoggedIn) changed(profile, server);
        else if (settings(profile, server) === undefined) return unknown(server);
        return { kind: 'loggedOut', wasLoggedIn };
      } catch (thrown) {
        // The tokens, which are the first, may be gone.
        changed(profile, server);
        return { kind: 'stopped', why: `the login cannot be deleted: ${causeOf(thrown)}; ${store.writeCure(server)}` };
      }
    },
    paste(profile, server, text) {
      const query = pastedQuery(text);
      return query !== undefined && logins.paste(profile, server, query);
    },
  };
}

function unknown(server: string): Refused {
  const message = `no mcp server is named "${server}"; \`agent mcp list\` lists them`;
  return { kind: 'refused', code: 'server-unknown', message };
}

function underWay(server: string): Refused {
  const message = `a login to "${server}" is under way already; finish or cancel it first`;
  return { kind: 'refused', code: 'login-under-way', message };
}
