/**
 * signal: Signal through the daemon of signal-cli, over JSON-RPC on loopback. Errors have HTTP status 200. A text over
 * the platform's limit would become an attachment, so it is split.
 * @see [signal-cli-jsonrpc(5)](https://github.com/AsamK/signal-cli/blob/master/man/signal-cli-jsonrpc.5.adoc)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type JsonObject, lookUp, objectAt } from '../../../machines/base/json.ts';
import { refused, type SendOutcome, transient, type VerifyOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { Call, Description } from './described-target.ts';
import { optionOf, rateLimited, refusedAs, saying, verifiedAs, wrongPlace } from './platform-target.ts';

const number = /^\+[1-9]\d{5,14}$/;
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const username = /^u:[\w.]{3,48}$/;
/** 32 bytes in base64, or 16 for an old group. */
const group = /^(?:group:)?([A-Za-z\d+/]{43}=|[A-Za-z\d+/]{22}==)$/;
const untrusted = 'the recipient’s safety number has changed; trust it with signal-cli';

const rpc = (method: string, params: object): Call => ({
  path: '/api/v1/rpc',
  json: { jsonrpc: '2.0', id: 1, method, params },
});

export const signal: Description = {
  name: 'signal',
  // The default address of `signal-cli daemon --http`.
  base: 'http://localhost:8080',
  needs: [],
  limit: { max: 2_000, unit: 'utf8Bytes' },
  maxPieces: 20,
  placeProblem: (chat) =>
    [number, uuid, username, group].some((form) => form.test(chat))
      ? undefined
      : wrongPlace(
          chat,
          'a number such as +15551234567, an account’s UUID, u: and a username, or a group’s id in base64',
        ),
  call({ chat, text }, { settings }) {
    const [, groupId] = group.exec(chat) ?? [];
    const to = groupId === undefined ? { recipient: [chat] } : { groupId };
    return rpc('send', { account: optionOf(settings, 'account'), ...to, message: text });
  },
  accepted({ status }, { error, result }) {
    if (status !== 200 || isJsonObject(error) || typeof result !== 'object' || result === null) return undefined;
    // For the daemon, a group message that reached no member is a success.
    const results = resultsOf(lookUp(result, 'results'));
    if (results.length > 0 && !results.some(({ type }) => type === 'SUCCESS')) return undefined;
    return lookUp(result, 'timestamp') ?? true;
  },
  async verify({ ask, option }) {
    const running = await ask({ method: 'GET', path: '/api/v1/check' }, ({ status }) =>
      status === 200 ? 'yes' : undefined,
    );
    if (running !== 'yes') return running;
    const account = option('account');
    if (account === '') return { kind: 'verified' };
    return ask(rpc('listAccounts', {}), ({ status }, { result, error }): VerifyOutcome | undefined => {
      // A daemon with a single account has no such method and does not need it.
      if (isJsonObject(error) && error.code === -32601) return { kind: 'verified' };
      if (status !== 200 || !Array.isArray(result)) return undefined;
      return result.some((one) => isJsonObject(one) && one.number === account)
        ? verifiedAs(account)
        : (refusedAs('auth', 'the account is not registered there') as VerifyOutcome);
    });
  },
  // An error without a code is one too.
  code: ({ error }, status) => (status === 200 && isJsonObject(error) ? (error.code ?? '') : undefined),
  // Codes of SignalJsonRpcCommandHandler and of JSON-RPC.
  meanings: {
    [-1]: 'permanent',
    [-3]: 'transient',
    [-4]: { refusal: 'forbidden', because: untrusted },
    [-5]: 'rateLimited',
    [-6]: 'auth',
    [-32602]: {
      refusal: 'auth',
      because: 'the daemon does not know the account; check platforms.signal.account',
    },
    // The command failed with an error that the daemon does not handle.
    [-32603]: 'unknown',
  },
  otherwiseMs: 60_000,
  judge({ status }, json, { nowMs }) {
    if (status === 421)
      return refused('permanent', `the daemon does not take this host name (${saying(status)}); check api_base`);
    if (status !== 200) return undefined;
    const { code } = objectAt(json, 'error');
    if (code === -1 || code === -5)
      return readResults(resultsOf(lookUp(json, 'error.data.response.results')), saying(status, code), nowMs());
    const results = resultsOf(lookUp(json, 'result.results'));
    if (results.length === 0) return undefined;
    return readResults(results, saying(status), nowMs()) ?? refusedAs('permanent', saying(status));
  },
};

/** The outcomes per recipient, if the daemon reports them: the first that explains the failure. */
function readResults(results: readonly JsonObject[], said: string, nowMs: number): SendOutcome | undefined {
  const of = (type: string) => results.filter((result) => result.type === type);
  const limited = of('RATE_LIMIT_FAILURE');
  if (limited.length > 0) {
    const seconds = Math.max(0, ...limited.map(({ retryAfterSeconds }) => Number(retryAfterSeconds ?? 0)));
    const outcome = rateLimited(said, seconds > 0 ? { seconds } : {}, nowMs, 60_000);
    if (!limited.some(({ token }) => typeof token === 'string')) return outcome;
    return {
      ...outcome,
      reason: `${outcome.reason}; or solve its captcha with submitRateLimitChallenge of signal-cli`,
    };
  }
  if (of('NETWORK_FAILURE').length > 0) return transient(`the platform failed (${said})`);
  if (of('IDENTITY_FAILURE').length > 0) return refused('forbidden', `${untrusted} (${said})`);
  return of('UNREGISTERED_FAILURE').length > 0 ? refusedAs('notFound', said) : undefined;
}

function resultsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
