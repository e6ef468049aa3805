/**
 * Reads what came of a call from what the SDK threw: an answer, a time that ran out, a session that ran out, a connection
 * that broke under it. What follows is decided elsewhere.
 * @see TRU-2, LIF-3 and LIF-8 in docs/specification.md
 */

import { InsufficientScopeError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import { isSessionExpiry } from '../../machines/mcp/connect-failure.ts';
import { strangersWords } from '../../machines/mcp/strangers-words.ts';
import { streamEndedCode, streamEndedWords } from './adapt-transport.ts';
import { readConnectError } from './connect-errors.ts';

export type CallOutcome =
  | { readonly kind: 'result'; readonly result: Json }
  /** The server said no: an error of JSON-RPC, or of HTTP below 500 but those that say that the request was cut off. */
  | { readonly kind: 'refused'; readonly message: string }
  /** It answered with a result, and that is none that can be given on: the tool has most likely run. */
  | { readonly kind: 'unusable'; readonly why: string }
  | { readonly kind: 'timedOut'; readonly afterMs: number }
  | { readonly kind: 'cancelled' }
  /** The credentials are refused, and could not be renewed. */
  | { readonly kind: 'unauthorized' }
  /** The token does not reach this far: only a login for more can help. */
  | { readonly kind: 'needsScope'; readonly scope: string | undefined }
  /** The server has forgotten the session. */
  | { readonly kind: 'expired' }
  /**
   * The server answered, and the answer leaves open whether the tool ran; the session is as it was. `behind` where what
   * stands before the server says that it is not there.
   */
  | { readonly kind: 'unclear'; readonly why: string; readonly behind: boolean }
  /**
   * The connection broke; `dispatched` where any part of the call may have reached the server, `closedHere` where the
   * session was closed from here and nothing failed.
   */
  | { readonly kind: 'lost'; readonly dispatched: boolean; readonly why: string; readonly closedHere?: true };

export interface CallCircumstances {
  readonly timeoutMs: number;
  readonly hadSession: boolean;
  readonly exitStatus: number | string | null | undefined;
  readonly whyClosed: string | undefined;
}

/** The system refused the connection itself: not a byte was sent. A host may also become unreachable on a connection. */
const neverConnected: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const neverConnectedWords = /\b(connect (ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)|getaddrinfo (ENOTFOUND|EAI_AGAIN))\b/;
/** The server answered, and the connection is well; the answer is of no use. */
const badResults: ReadonlySet<string> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
]);
/** What the SDK does not send. */
const unsupported: ReadonlySet<string> = new Set([
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);
/** The request was cut off, by who waited for it or by what stood between; who answers so says nothing of the tool. */
const cutOffStatuses: ReadonlySet<number> = new Set([408, 499]);
/** What a proxy answers for a server that it does not reach. */
const proxyStatuses: ReadonlySet<number> = new Set([502, 503, 504]);
const unsentCodes: ReadonlySet<string> = new Set([SdkErrorCode.NotConnected, SdkErrorCode.SendFailed]);

/** Never throws, whatever was thrown. */
export function readCallError(thrown: unknown, circumstances: CallCircumstances): CallOutcome {
  const { timeoutMs, hadSession, exitStatus, whyClosed } = circumstances;
  if (thrown instanceof InsufficientScopeError) return { kind: 'needsScope', scope: thrown.requiredScope };
  if (thrown instanceof SdkError && badResults.has(thrown.code)) return unusable(causeOf(thrown));
  if (thrown instanceof SdkError && unsupported.has(thrown.code)) {
    return { kind: 'refused', message: clean(causeOf(thrown)) };
  }
  // Of a body that is no JSON. The words quote it, and it may be long.
  if (thrown instanceof SyntaxError) return unclear(`it answered what is no JSON: ${thrown.message}`);
  const failure = readConnectError(thrown, { timeoutMs, exitStatus });
  switch (failure.kind) {
    case 'timeout':
      return { kind: 'timedOut', afterMs: failure.afterMs };
    case 'rpc':
      if (failure.code === streamEndedCode) return lost(true, streamEndedWords);
      return { kind: 'refused', message: `error ${failure.code}: ${clean(failure.message)}` };
    case 'http':
      if (isSessionExpiry(failure, hadSession)) return { kind: 'expired' };
      if (failure.status === 401) return { kind: 'unauthorized' };
      if (failure.status >= 500 || cutOffStatuses.has(failure.status)) {
        return unclear(`it answered HTTP ${failure.status} ${failure.message}`, proxyStatuses.has(failure.status));
      }
      return { kind: 'refused', message: `HTTP ${failure.status} ${clean(failure.message)}` };
    case 'exited':
      return lost(!isUnsent(thrown), whyClosed ?? 'its command ended');
    case 'notMcp':
      return unclear(`it answered ${failure.contentType}`);
    case 'network':
    case 'redirect':
    case 'tls':
      return lost(!isUnsent(thrown), whyClosed ?? failure.message);
    case 'malformed':
      return unusable(failure.message);
    case 'oversized':
      return { kind: 'unusable', why: clean(failure.message) };
    case 'setting':
    case 'revision':
    case 'spawn':
    case 'store':
    case 'tlsFile':
      return lost(false, causeOf(thrown));
  }
}

function unclear(why: string, behind = false): CallOutcome {
  return { kind: 'unclear', why: clean(why), behind };
}

function unusable(why: string): CallOutcome {
  return { kind: 'unusable', why: `its answer is not one of the protocol: ${clean(why)}` };
}

function lost(dispatched: boolean, why: string): CallOutcome {
  return { kind: 'lost', dispatched, why: clean(why) };
}

function isUnsent(thrown: unknown): boolean {
  if (thrown instanceof SdkError && unsentCodes.has(thrown.code)) return true;
  for (let error: unknown = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth += 1) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (neverConnected.has(code) || neverConnectedWords.test(message)) return true;
    // One error for each address that was tried.
    if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isUnsent);
  }
  return false;
}

function clean(text: string): string {
  return strangersWords(text, 500);
}
