/**
 * The OAuth part of a connection: the token on its requests, and the message if a login is needed. Used by live
 * connections and by tests of a server.
 * @see OAU-1 and OAU-8 in docs/specification.md
 */

import type { TransportPorts } from '../../actors/mcp/transports.ts';
import { createAuthorizedFetch } from '../../actors/oauth/authorized-fetch.ts';
import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import { recordFor } from '../../actors/oauth/renewal.ts';
import { openServerConnections } from '../../actors/oauth/server-connections.ts';
import type { Logger } from '../../actors/ports.ts';
import { parseObject } from '../../machines/base/read-json.ts';
import {
  type AfterFailure,
  afterFailures,
  type ConnectFailure,
  describeFailure,
  type FailurePlace,
  lackedScope,
} from '../../machines/mcp/connect-failure.ts';
import { oauthPlanOf, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import { untrustedWords } from '../../machines/mcp/untrusted-words.ts';
import { describeLoginNeed } from '../../machines/oauth/login-hint.ts';
import { lackWords } from '../../machines/oauth/scope.ts';
import { chooseToken } from '../../machines/oauth/token-record.ts';
import { withoutSecrets } from '../../machines/oauth/without-secrets.ts';

interface AccessPorts {
  readonly credentials: Credentials;
  /** Contains the proxies for token renewals. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly version: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** Sends the access token of an OAuth server with its requests, and renews it there. */
export function authorised(
  { name: server, transport }: ServerSettings,
  { credentials, env, userHome, version, nowMs, log }: AccessPorts,
): Pick<TransportPorts, 'wrapFetch'> {
  const plan = oauthPlanOf(transport);
  if (plan === undefined) return {};
  const { url, oauth: settings } = plan;
  const open = () => openServerConnections({ server, plan, env, userHome, version });
  return { wrapFetch: createAuthorizedFetch({ server, url, settings, credentials, open, version, nowMs, log }) };
}

interface TokenPlace {
  readonly server: string;
  readonly url: string;
  readonly credentials: Credentials;
}

interface CallAccessPorts {
  readonly settings: (profile: string, server: string) => ServerSettings | undefined;
  readonly credentials: (profile: string) => Credentials;
  readonly nowMs: () => number;
}

/** The credentials of a server as its calls use them; nothing is known of a server that does not log in by OAuth. */
export function accessOfCalls({ settings, credentials, nowMs }: CallAccessPorts) {
  const placeOf = (profile: string, server: string): TokenPlace | undefined => {
    const transport = settings(profile, server)?.transport;
    const plan = transport && oauthPlanOf(transport);
    return plan && { server, url: plan.url, credentials: credentials(profile) };
  };
  return {
    demandScope(profile: string, server: string, scope: string): void {
      const at = placeOf(profile, server);
      if (at !== undefined) void at.credentials.demandScope(server, at.url, scope);
    },
    loginProblem(profile: string, server: string): string | undefined {
      const at = placeOf(profile, server);
      return at && loginProblem(at, nowMs());
    },
    grantedScope(profile: string, server: string): string | undefined {
      const at = placeOf(profile, server);
      return at && recordFor(at)?.scope;
    },
  };
}

/**
 * Why the stored credentials of a server that refused a request do not work; undefined if there are none.
 * @param failures those of the attempts; of a refusal the error of OAuth or JSON-RPC in its body is quoted
 */
function loginProblem(place: TokenPlace, nowMs: number, failures: readonly ConnectFailure[] = []): string | undefined {
  const record = recordFor(place);
  const problem = place.credentials.problem(place.server);
  if (problem !== undefined || record === undefined) return problem;
  const use = chooseToken(record, nowMs);
  if (use.kind === 'login') return 'its token has expired, and it has none for renewals';
  // Another process has tried the renewal, and knows why it was refused.
  if (use.kind === 'refresh') return undefined;
  const said = failures.map(errorOfRefusal).find((each) => each !== '') ?? '';
  const reason = untrustedWords(withoutSecrets(said, [record.accessToken, record.refreshToken]));
  return `the server refuses its token${reason === '' ? '' : ` (${reason})`}`;
}

/** Of a longer answer nothing is quoted: to read it would hold up the gateway. */
const maxRefusalLength = 65_536;

function errorOfRefusal(failure: ConnectFailure): string {
  if (failure.kind !== 'http' || failure.status !== 401 || failure.message.length > maxRefusalLength) return '';
  if (failure.rpcCode !== undefined) return failure.message;
  const { error, error_description: words } = parseObject(failure.message) ?? {};
  const said = words ?? error;
  return typeof said === 'string' ? said : '';
}

interface FailureFacts extends FailurePlace {
  readonly credentials: Credentials;
  /** Whether a session had these settings: a permanent error may then be an outage. */
  readonly hasConnected: boolean;
  readonly nowMs: () => number;
}

interface FailureVerdict {
  readonly after: AfterFailure;
  readonly why: string;
  /**
   * A server that was connected before refuses a valid token, as where it cannot check tokens for a while; or it redirects
   * where there is no token, as to a page about its maintenance.
   */
  readonly mayPass?: true;
}

/** The next state after failed attempts, and the line with the reason. A demanded scope is recorded for the next login. */
export function readFailures(
  { name: server, transport }: ServerSettings,
  failures: readonly ConnectFailure[],
  { credentials, hasConnected, nowMs, ...place }: FailureFacts,
): FailureVerdict {
  const plan = oauthPlanOf(transport);
  const described = (): string => describeFailure(server, failures, { ...place, transport });
  const read = afterFailures(failures, plan !== undefined);
  const after = read === 'failed' && hasConnected ? 'parked' : read;
  if (plan === undefined) return { after, why: described() };
  // Behind a single sign-on, a request without a token is redirected instead of refused. The message names where to.
  const isLedAway = failures.some(({ kind }) => kind === 'redirect');
  if (isLedAway && recordFor({ server, url: plan.url, credentials }) === undefined)
    return { after: 'needsLogin', why: described(), ...(hasConnected ? { mayPass: true } : {}) };
  if (after !== 'needsLogin') return { after, why: described() };
  const at = { server, url: plan.url, credentials };
  const scope = lackedScope(failures);
  if (scope !== undefined) {
    if (scope !== '') void credentials.demandScope(server, plan.url, scope);
    const lacks = `its token lacks ${lackWords(scope, recordFor(at)?.scope)}`;
    return { after, why: describeLoginNeed(server, place.profile, lacks) };
  }
  const why = describeLoginNeed(server, place.profile, loginProblem(at, nowMs(), failures));
  const isValid = credentials.problem(server) === undefined && chooseToken(recordFor(at), nowMs()).kind === 'use';
  return { after, why, ...(hasConnected && isValid ? { mayPass: true } : {}) };
}
