/**
 * The two requests of a device grant: one for the codes, and one that polls whether a person has approved.
 * @see DEV-1, DEV-3 and DEV-4 in docs/specification.md
 * @see [RFC 8628 §3.1 to §3.5](https://www.rfc-editor.org/rfc/rfc8628.html#section-3.1)
 */

import * as oauth from 'oauth4webapi';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { isLoopback } from '../../machines/base/loopback.ts';
import { retryAfterMs } from '../../machines/dispatch/retry-after.ts';
import {
  type DeviceCode,
  defaultIntervalMs,
  type PollVerdict,
  readPollError,
} from '../../machines/oauth/device-grant.ts';
import { insecureWords, isSecureEndpoint, isWebAddress } from '../../machines/oauth/secure-endpoint.ts';
import { recordOf, type TokenRecord } from '../../machines/oauth/token-record.ts';
import { isTroubled } from '../../machines/oauth/token-refusal.ts';
import { clientSecrets, withoutSecrets } from '../../machines/oauth/without-secrets.ts';
import { HopFailure } from '../mcp/private-hop.ts';
import type { OauthFetch } from './oauth-fetch.ts';
import { plainFetch } from './plain-fetch.ts';
import { authenticate, type TokenEndpoint } from './token-request.ts';

export interface IssuedCode extends DeviceCode {
  /** Secret: it can be exchanged for the tokens. */
  readonly deviceCode: string;
}

type CodeAnswer =
  | { readonly kind: 'issued'; readonly code: IssuedCode }
  /** `errorCode`: of an OAuth error answer. */
  | { readonly kind: 'failed'; readonly why: string; readonly errorCode?: string };

/** A server that asks for an interval of 0 would be polled without pause. */
const shortestIntervalMs = 1_000;
/** Of a `Retry-After`: the person who has approved waits for the next poll. */
const maxAskedMs = 60_000;

type PollAnswer = PollVerdict | { readonly kind: 'approved'; readonly record: TokenRecord };

/** Never rejects. */
export async function requestDeviceCode(endpoint: TokenEndpoint, scope: string | undefined): Promise<CodeAnswer> {
  const { server, client, authentication } = partsOf(endpoint);
  const { device_authorization_endpoint: device, token_endpoint: token } = endpoint.metadata;
  // A person would approve in vain where no tokens can be requested.
  for (const [what, address] of [
    ['the device endpoint', String(device)],
    ['the token endpoint', String(token)],
  ] as const)
    if (!isSecureEndpoint(address)) return { kind: 'failed', why: insecureWords(what, address) };
  try {
    const params = new URLSearchParams();
    if (scope !== undefined) params.set('scope', scope);
    if (endpoint.resource !== undefined) params.set('resource', endpoint.resource);
    const response = await oauth.deviceAuthorizationRequest(server, client, authentication, params, {
      ...insecure(endpoint),
      [oauth.customFetch]: plainFetch(endpoint.oauth.fetch) as never,
    });
    const answer = await oauth.processDeviceAuthorizationResponse(server, client, response);
    const { verification_uri_complete: complete } = answer;
    // A person opens it with a click, so only http and https are accepted.
    if (!isWebAddress(answer.verification_uri))
      return { kind: 'failed', why: 'the address where the code is to be entered is no web address' };
    return {
      kind: 'issued',
      code: {
        deviceCode: answer.device_code,
        userCode: answer.user_code,
        verificationUri: answer.verification_uri,
        ...(complete === undefined || !isWebAddress(complete) ? {} : { verificationUriComplete: complete }),
        expiresInMs: answer.expires_in * 1_000,
        intervalMs:
          answer.interval === undefined ? defaultIntervalMs : Math.max(shortestIntervalMs, answer.interval * 1_000),
      },
    };
  } catch (thrown) {
    const secrets = clientSecrets(endpoint.client);
    const why = `the authorization server gave no device code: ${reasonOf(thrown, secrets)}`;
    if (!(thrown instanceof oauth.ResponseBodyError)) return { kind: 'failed', why };
    return { kind: 'failed', why, errorCode: withoutSecrets(thrown.error, secrets) };
  }
}

/** Never rejects; a missing answer is requested again after the interval. */
export async function pollForTokens(
  endpoint: TokenEndpoint,
  deviceCode: string,
  { intervalMs, nowMs }: { readonly intervalMs: number; readonly nowMs: number },
): Promise<PollAnswer> {
  const { server, client, authentication } = partsOf(endpoint);
  let status: number | undefined;
  let asked: { readonly onceMs?: number } = {};
  const noting: OauthFetch['tokenFetch'] = async (to, init) => {
    const answer = await endpoint.oauth.tokenFetch(to, init);
    status = answer.status;
    const askedMs = retryAfterMs({ header: answer.headers.get('retry-after') }, nowMs);
    asked = askedMs === undefined ? {} : { onceMs: Math.min(maxAskedMs, askedMs) };
    return answer;
  };
  try {
    const params = endpoint.resource === undefined ? {} : { resource: endpoint.resource };
    const response = await oauth.deviceCodeGrantRequest(server, client, authentication, deviceCode, {
      ...insecure(endpoint),
      additionalParameters: params,
      [oauth.customFetch]: plainFetch(noting) as never,
    });
    const answer = (await oauth.processDeviceCodeResponse(server, client, response)) as JsonObject;
    const { issuer, url } = endpoint;
    const owner = { issuer, clientId: endpoint.client.clientId, ...(url === undefined ? {} : { url }) };
    const record = recordOf(answer, owner, nowMs);
    return record === undefined
      ? { kind: 'stop', why: 'the token endpoint answered without an access token that a header can carry' }
      : { kind: 'approved', record };
  } catch (thrown) {
    // Nothing was sent, and nothing ever will be.
    if (thrown instanceof HopFailure) return { kind: 'stop', why: `the token endpoint: ${thrown.message}` };
    const secrets = [deviceCode, ...clientSecrets(endpoint.client)];
    // A proxy's error page during a restart of the server, or its rate limit, counts as no answer.
    const isTrouble = isTroubled(status);
    if (thrown instanceof oauth.ResponseBodyError) {
      const verdict = readPollError(withoutSecrets(thrown.error, secrets), intervalMs);
      if (verdict.kind === 'wait') return { ...verdict, ...asked };
      const said = reasonOf(thrown, secrets);
      const isSaid = verdict.errorCode === undefined || said === verdict.errorCode;
      if (!isTrouble) return isSaid ? verdict : { ...verdict, why: `${verdict.why} (${said})` };
    }
    const isFinal =
      thrown instanceof oauth.OperationProcessingError || thrown instanceof oauth.WWWAuthenticateChallengeError;
    if (isFinal && !isTrouble) {
      const reason = reasonOf(thrown, secrets);
      return { kind: 'stop', why: `the token endpoint answered something else: ${reason}` };
    }
    // RFC 8628 §3.5: after a timeout or a broken connection, polling continues less often.
    return { kind: 'wait', intervalMs: intervalMs * 2, ...asked };
  }
}

function partsOf(endpoint: TokenEndpoint) {
  const { metadata, issuer, client } = endpoint;
  const server = { ...metadata, issuer } as oauth.AuthorizationServer;
  const authentication: oauth.ClientAuth = (_server, _client, body, headers) => authenticate(endpoint, headers, body);
  return { server, client: { client_id: client.clientId }, authentication };
}

/** Allows plain HTTP for loopback; the library refuses it elsewhere. */
function insecure({ authorizationServerUrl }: TokenEndpoint): { [oauth.allowInsecureRequests]?: boolean } {
  const { protocol, hostname } = new URL(authorizationServerUrl);
  return protocol === 'http:' && isLoopback(hostname) ? { [oauth.allowInsecureRequests]: true } : {};
}

function reasonOf(thrown: unknown, secrets: readonly (string | undefined)[]): string {
  if (!(thrown instanceof oauth.ResponseBodyError)) return withoutSecrets(causeOf(thrown), secrets);
  // The library does not check the type of this field.
  const said: unknown = thrown.error_description;
  return withoutSecrets(typeof said === 'string' ? said : thrown.error, secrets);
}
