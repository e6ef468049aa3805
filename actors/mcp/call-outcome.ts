/**
 * Classifies the error of a call that the SDK threw: an answer, a timeout, an expired session, or a broken connection.
 * @see TRU-2, LIF-3 and LIF-8 in docs/specification.md
 */

import {
  InsufficientScopeError,
  SdkError,
  SdkErrorCode,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type Json } from '../../machines/base/json.ts';
import type { RpcError } from '../../machines/mcp/call-faults.ts';
import { isSessionExpiry, refusesRevision } from '../../machines/mcp/connect-failure.ts';
import { lastWords, untrustedWords } from '../../machines/mcp/untrusted-words.ts';
import { answerCutCode, streamEndedCode, streamEndedWords } from './adapt-transport.ts';
import { LongHeaderFailure, readConnectError } from './connect-errors.ts';

export type CallOutcome =
  | { readonly kind: 'result'; readonly result: Json }
  /**
   * The server refused: a JSON-RPC error, or HTTP below 500 except the statuses for a request that was cut off. `isOutdated`
   * if it refuses every request of this session, because another release of it runs now.
   */
  | { readonly kind: 'refused'; readonly message: string; readonly rpc?: RpcError; readonly isOutdated?: true }
  /** It answered with an invalid result: the tool has most likely run. */
  | { readonly kind: 'unusable'; readonly why: string }
  | { readonly kind: 'timedOut'; readonly afterMs: number }
  | { readonly kind: 'cancelled' }
  /** The credentials were refused and could not be renewed. */
  | {
      readonly kind: 'unauthorized';
      /** The server has named resource metadata (RFC 9728): it logs in by OAuth. */
      readonly namesOauth?: true;
    }
  /** The token lacks a scope: only a login with more scopes helps. */
  | { readonly kind: 'needsScope'; readonly scope: string | undefined }
  /** Not sent, or refused before any work, because the token could not be renewed now; the session continues. */
  | { readonly kind: 'unsent'; readonly why: string }
  /** The server no longer has the session. */
  | { readonly kind: 'expired' }
  /**
   * The server answered, but the answer does not show whether the tool ran; the session continues. `behind` if a proxy
   * reports that the server is unreachable.
   */
  | { readonly kind: 'unclear'; readonly why: string; readonly behind: boolean }
  /**
   * The connection broke. `dispatched` if any part of the call may have reached the server, `closedHere` if this side
   * closed the session and nothing failed.
   */
  | { readonly kind: 'lost'; readonly dispatched: boolean; readonly why: string; readonly closedHere?: true };

export interface CallCircumstances {
  readonly timeoutMs: number;
  readonly hadSession: boolean;
  readonly exitStatus: number | string | null | undefined;
  readonly whyClosed: string | undefined;
  /** Whether a refusal has named resource metadata. */
  readonly namesOauth?: boolean;
}

/**
 * The connection itself failed, so no byte was sent. EHOSTUNREACH and ENETUNREACH also occur on open connections, so only
 * their `connect` errors count.
 */
const neverConnected: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const neverConnectedWords = /\b(connect (ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)|getaddrinfo (ENOTFOUND|EAI_AGAIN))\b/;
/** This side refused the server's certificate, which it checks before it sends anything. */
const badCertificate =
  /^(CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_|INVALID_CA|INVALID_PURPOSE|ERR_TLS_CERT_ALTNAME_INVALID)/;
/** The server answered and the connection works, but the answer is unusable. */
const badResults: ReadonlySet<string> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
]);
/** Requests that the SDK refuses to send. */
const unsupported: ReadonlySet<string> = new Set([
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);
/** A client or a proxy cut the request off; such a status does not show whether the tool ran. */
const cutOffStatuses: ReadonlySet<number> = new Set([408, 499]);
/** The statuses of a proxy that does not reach the server. */
const proxyStatuses: ReadonlySet<number> = new Set([502, 503, 504]);
/** An error of the server is its answer: a command's output often ends with what went wrong. */
const maxAnswerLength = 4_000;
const maxAddressLength = 2_000;
const maxAddresses = 3;
const unsentCodes: ReadonlySet<string> = new Set([SdkErrorCode.NotConnected, SdkErrorCode.SendFailed]);

/** Never throws, whatever was thrown. */
export function readCallError(thrown: unknown, circumstances: CallCircumstances): CallOutcome {
  const { timeoutMs, hadSession, exitStatus, whyClosed, namesOauth = false } = circumstances;
  if (thrown instanceof InsufficientScopeError) return { kind: 'needsScope', scope: thrown.requiredScope };
  if (thrown instanceof SdkError && badResults.has(thrown.code)) return unusable(causeOf(thrown));
  const isUnsupported = thrown instanceof SdkError && unsupported.has(thrown.code);
  if (isUnsupported || thrown instanceof LongHeaderFailure) {
    return { kind: 'refused', message: clean(causeOf(thrown)) };
  }
  // A body that is not JSON. The message quotes it and may be long.
  if (thrown instanceof SyntaxError) return unclear(`it answered what is no JSON: ${thrown.message}`);
  const failure = readConnectError(thrown, { timeoutMs, exitStatus });
  switch (failure.kind) {
    case 'timeout':
      return { kind: 'timedOut', afterMs: failure.afterMs };
    case 'rpc':
      if (failure.code === streamEndedCode) return lost(true, streamEndedWords);
      if (failure.code === answerCutCode) return { kind: 'unusable', why: failure.message };
      return {
        ...refusedBy(failure.code, `${untrustedWords(failure.message, maxAnswerLength)}${addressesOf(thrown)}`),
        ...outdated(failure),
      };
    case 'http':
      if (isSessionExpiry(failure, hadSession)) return { kind: 'expired' };
      if (failure.status === 401)
        return namesOauth ? { kind: 'unauthorized', namesOauth: true } : { kind: 'unauthorized' };
      if (failure.status >= 500 || cutOffStatuses.has(failure.status)) {
        return unclear(`it answered HTTP ${failure.status} ${failure.message}`, proxyStatuses.has(failure.status));
      }
      return {
        kind: 'refused',
        message: `HTTP ${failure.status} ${clean(failure.message)}`,
        ...outdated({ ...failure, code: failure.rpcCode }),
      };
    case 'exited':
      return lost(!isUnsent(thrown), whyClosed ?? 'its command ended');
    case 'notMcp':
      return unclear(`it answered ${failure.contentType}`);
    case 'network':
    case 'otherGateway':
    case 'redirect':
    case 'tls':
      return lost(!isUnsent(thrown), whyClosed ?? failure.message);
    case 'token':
      return { kind: 'unsent', why: clean(failure.message) };
    case 'malformed':
      return unusable(failure.message);
    case 'oversized':
      return { kind: 'unusable', why: clean(failure.message) };
    case 'ownTools':
    case 'setting':
    case 'revision':
    case 'notStateless':
    case 'spawn':
    case 'tlsFile':
      return lost(false, causeOf(thrown));
  }
}

/** Only an integer is a code that can be relayed. */
function refusedBy(code: number, message: string): Extract<CallOutcome, { readonly kind: 'refused' }> {
  const words = [Number.isNaN(code) ? 'an error' : `error ${code}`, message].filter((part) => part !== '').join(': ');
  return { kind: 'refused', message: words, ...(Number.isSafeInteger(code) ? { rpc: { code, message } } : {}) };
}

function outdated(failure: { readonly code?: number | undefined; readonly message: string }): { isOutdated?: true } {
  return refusesRevision(failure) ? { isOutdated: true } : {};
}

/** A call that is refused until a person has opened addresses cannot be repeated with success without them. */
function addressesOf(thrown: unknown): string {
  const asked: unknown = thrown instanceof UrlElicitationRequiredError ? thrown.elicitations : undefined;
  if (!Array.isArray(asked)) return '';
  const urls = (asked as readonly Json[]).flatMap((one) => {
    const url = isJsonObject(one) ? one.url : undefined;
    const isWeb = typeof url === 'string' && url.length <= maxAddressLength && /^https?:\/\//i.test(url);
    return isWeb ? [untrustedWords(url, maxAddressLength)] : [];
  });
  const named = urls.slice(0, maxAddresses).join(' and ');
  return named === '' ? '' : `; it asks you to open ${named} in a browser and to call again`;
}

function unclear(why: string, behind = false): CallOutcome {
  return { kind: 'unclear', why: clean(why), behind };
}

function unusable(why: string): CallOutcome {
  return { kind: 'unusable', why: `its answer is not one of the protocol: ${clean(why)}` };
}

function lost(dispatched: boolean, why: string): CallOutcome {
  return { kind: 'lost', dispatched, why: lastWords(why) };
}

function isUnsent(thrown: unknown): boolean {
  if (thrown instanceof SdkError && unsentCodes.has(thrown.code)) return true;
  for (let error: unknown = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth += 1) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (neverConnected.has(code) || neverConnectedWords.test(message) || badCertificate.test(code ?? '')) return true;
    // One error for each address that was tried.
    if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isUnsent);
  }
  return false;
}

function clean(text: string): string {
  return untrustedWords(text, 500);
}
