/**
 * signal: Signal through the daemon of signal-cli, over JSON-RPC on loopback. Errors have HTTP status 200. A text over
 * the platform's limit would become an attachment, so it is split.
 * @see [signal-cli-jsonrpc(5)](https://github.com/AsamK/signal-cli/blob/master/man/signal-cli-jsonrpc.5.adoc)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type JsonObject, lookUp } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { deliveredAs, refused, type SendOutcome, type VerifyOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  optionOf,
  type PlatformTarget,
  rateLimited,
  readCode,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
  verifiedAs,
  wrongPlace,
} from './platform-target.ts';

/** The default address of `signal-cli daemon --http`. */
const defaultBase = 'http://localhost:8080';
const rpcPath = '/api/v1/rpc';
const number = /^\+[1-9]\d{5,14}$/;
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const username = /^u:[\w.]{3,48}$/;
/** 32 bytes in base64, or 16 for an old group. */
const group = /^(?:group:)?([A-Za-z\d+/]{43}=|[A-Za-z\d+/]{22}==)$/;
const chatForm = 'a number such as +15551234567, an account’s UUID, u: and a username, or a group’s id in base64';
const untrusted = 'the recipient’s safety number has changed; trust it with signal-cli';

/** Codes of SignalJsonRpcCommandHandler and of JSON-RPC. */
const meanings: Readonly<Record<string, CodeMeaning>> = {
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
};

export function createSignal(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  const account = optionOf(settings, 'account');

  const rpc = <Outcome>(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    read: (result: JsonObject | readonly unknown[], answer: HttpAnswer) => Outcome,
  ) =>
    client.ask(
      { method: 'POST', path: rpcPath, json: { jsonrpc: '2.0', id: 1, method, params } },
      signal,
      (answer): Outcome | SendOutcome => {
        const { json, status } = answer;
        if (status === 421)
          return refused('permanent', `the daemon does not take this host name (${saying(status)}); check api_base`);
        if (status !== 200 || !isJsonObject(json)) return readStatus(answer, { nowMs: ports.now() });
        if (isJsonObject(json.error)) return readError(answer, json.error, ports.now());
        if (typeof json.result !== 'object' || json.result === null) return readStatus(answer, { nowMs: ports.now() });
        return read(json.result, answer);
      },
    );

  return createPieceTarget(
    {
      name: 'signal',
      limit: { most: 2_000, unit: 'utf8Bytes' },
      maxPieces: 20,
      placeProblem: (chat) =>
        [number, uuid, username, group].some((form) => form.test(chat)) ? undefined : wrongPlace(chat, chatForm),
      send({ chat, text }, signal) {
        const [, groupId] = group.exec(chat) ?? [];
        const params = {
          ...(account === undefined ? {} : { account }),
          ...(groupId === undefined ? { recipient: [chat] } : { groupId }),
          message: text,
        };
        return rpc('send', params, signal, (result, answer): SendOutcome => {
          const sent = isJsonObject(result) ? result : {};
          // For the daemon, a group message that reached no member is a success.
          const results = resultsOf(sent.results);
          if (results.length > 0 && !results.some(({ type }) => type === 'SUCCESS'))
            return readResults(answer, results, saying(200), ports.now()) ?? refusedAs('permanent', saying(200));
          return deliveredAs(sent.timestamp);
        });
      },
      verify: async (signal) => {
        const outcome = await client.ask({ method: 'GET', path: '/api/v1/check' }, signal, (answer) =>
          answer.status === 200 ? undefined : readStatus(answer, { nowMs: ports.now() }),
        );
        if (outcome !== undefined) return outcome;
        if (account === undefined) return { kind: 'verified' };
        const listed = await rpc('listAccounts', {}, signal, (result): VerifyOutcome => {
          const known = Array.isArray(result) && result.some((one) => isJsonObject(one) && one.number === account);
          return known
            ? verifiedAs(account)
            : (refusedAs('auth', 'the account is not registered there') as VerifyOutcome);
        });
        // A daemon with a single account has no such method and does not need it.
        return listed.kind === 'refused' && listed.reason.includes('-32601') ? { kind: 'verified' } : listed;
      },
    },
    settings,
    ports,
  );
}

function readError(answer: HttpAnswer, error: JsonObject, nowMs: number): SendOutcome {
  const { code } = error;
  const results = resultsOf(lookUp(error, 'data.response.results'));
  const said = saying(answer.status, code);
  if (code === -1 || code === -5) {
    const outcome = readResults(answer, results, said, nowMs);
    if (outcome !== undefined) return outcome;
  }
  return readCode(answer, { code, meanings, nowMs, otherwiseMs: 60_000 });
}

/** The outcomes per recipient, if the daemon reports them: the first that explains the failure. */
function readResults(
  answer: HttpAnswer,
  results: readonly JsonObject[],
  said: string,
  nowMs: number,
): SendOutcome | undefined {
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
  if (of('NETWORK_FAILURE').length > 0) return readCode(answer, { code: -3, meanings, nowMs });
  if (of('IDENTITY_FAILURE').length > 0) return refused('forbidden', `${untrusted} (${said})`);
  return of('UNREGISTERED_FAILURE').length > 0 ? refusedAs('notFound', said) : undefined;
}

function resultsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
