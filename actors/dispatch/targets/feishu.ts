/**
 * feishu: an app's bot in Feishu, or Lark outside China (`api_base: https://open.larksuite.com`). The platform
 * deduplicates a message by its `uuid` for an hour.
 * @see [Send a message](https://open.feishu.cn/document/server-docs/im-v1/message/create)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, lookUp } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withoutTags } from '../../../machines/dispatch/inert-text.ts';
import { deliveredAs, type SendOutcome, type VerifyOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { createAccessToken, lifetimeOf, tokenRefused } from './access-token.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  readCode,
  readStatus,
  type TargetPorts,
  verifiedAs,
  wordOf,
  wrongPlace,
} from './platform-target.ts';

const defaultBase = 'https://open.feishu.cn';
const uuidLifetimeMs = 3_600_000;
const tokenCodes: ReadonlySet<unknown> = new Set([99991661, 99991663, 99991664, 99991665, 99991668, 99991671]);

const meanings: Readonly<Record<string, CodeMeaning>> = {
  10003: 'auth',
  10012: 'auth',
  10014: 'auth',
  10015: 'auth',
  99991672: { refusal: 'forbidden', because: 'the app lacks the permission im:message:send_as_bot' },
  99991400: 'rateLimited',
  11232: 'rateLimited',
  11233: 'rateLimited',
  230020: 'rateLimited',
  230002: { refusal: 'forbidden', because: 'the bot is not in the group; add it there' },
  230006: { refusal: 'forbidden', because: 'the app’s bot ability is not switched on' },
  230013: { refusal: 'forbidden', because: 'the user is outside the bot’s availability' },
  230018: 'forbidden',
  230027: 'forbidden',
  230035: 'forbidden',
  230038: 'forbidden',
  230053: { refusal: 'forbidden', because: 'the user has stopped messages of this bot' },
  230011: 'notFound',
  230019: 'notFound',
  230029: 'notFound',
  230034: 'notFound',
  230110: 'notFound',
  230025: 'tooLong',
  230049: 'unknown',
  // A wrapper around a cause that is given only as text.
  230099: 'permanent',
  99991401: { refusal: 'auth', because: 'the app takes requests from listed addresses only' },
};

export function createFeishu(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  /** The last verified token and its outcome. */
  let known: { readonly token: string; readonly outcome: VerifyOutcome } | undefined;
  const token = createAccessToken(
    (signal) =>
      client.ask(
        {
          method: 'POST',
          path: '/open-apis/auth/v3/tenant_access_token/internal',
          json: { app_id: optionOf(settings, 'app_id'), app_secret: optionOf(settings, 'app_secret') },
        },
        signal,
        (answer) => {
          const { json } = answer;
          return isJsonObject(json) && json.code === 0 && typeof json.tenant_access_token === 'string'
            ? ({ kind: 'token', token: json.tenant_access_token, lifetimeMs: lifetimeOf(json.expire) } as const)
            : read(answer, ports.now());
        },
      ),
    ports.now,
  );

  return createPieceTarget(
    {
      name: 'feishu',
      // The request is limited to 150 KB, in which a character takes up to three bytes and a line end four.
      limit: { most: 30_000, unit: 'utf16' },
      maxPieces: 10,
      // A text message has mentions, four styles, and links that hide their address.
      inert: (text) => withoutTags(text, 'at\\b|[bius]>').replace(/\](?=\()/g, ']\u2060'),
      deduplicatesForMs: uuidLifetimeMs,
      problem: missing('feishu', settings, 'app_id', 'app_secret'),
      placeProblem: (chat) =>
        /^[\w.+@-]{2,128}$/.test(chat)
          ? undefined
          : wrongPlace(chat, 'a chat’s id (oc_…), a user’s id (ou_…, on_…) or an address'),
      send: ({ chat, text, extra, key }, signal) =>
        token.use(signal, (accessToken) => {
          const thread = wordOf(extra, 'thread_id');
          const replyTo = thread ?? wordOf(extra, 'reply_to');
          const content = {
            msg_type: 'text',
            // A string that contains JSON.
            content: JSON.stringify({ text }),
            uuid: key,
          };
          const path =
            replyTo === undefined
              ? `/open-apis/im/v1/messages?receive_id_type=${kindOf(chat)}`
              : `/open-apis/im/v1/messages/${encodeURIComponent(replyTo)}/reply`;
          const json =
            replyTo === undefined
              ? { receive_id: chat, ...content }
              : { ...content, reply_in_thread: thread !== undefined };
          const headers = { authorization: `Bearer ${accessToken}` };
          return client.ask({ method: 'POST', path, headers, json }, signal, (answer) => {
            const body = answer.json;
            if (isJsonObject(body) && body.code === 0) return deliveredAs(lookUp(body, 'data.message_id'));
            return isJsonObject(body) && tokenCodes.has(body.code) ? tokenRefused : read(answer, ports.now());
          });
        }),
      verify: (signal) =>
        token.use(signal, (accessToken) => {
          const headers = { authorization: `Bearer ${accessToken}` };
          // The call counts towards the 10,000 a month of a free plan, so it is made once per token.
          if (known?.token === accessToken) return Promise.resolve(known.outcome);
          return client.ask({ method: 'GET', path: '/open-apis/bot/v3/info', headers }, signal, (answer) => {
            const body = answer.json;
            if (isJsonObject(body) && body.code === 0) {
              known = { token: accessToken, outcome: verifiedAs(lookUp(body, 'bot.app_name')) };
              return known.outcome;
            }
            return isJsonObject(body) && tokenCodes.has(body.code) ? tokenRefused : read(answer, ports.now());
          });
        }),
    },
    settings,
    ports,
  );
}

/** By the prefix of the platform's ids. */
function kindOf(chat: string): string {
  if (chat.startsWith('oc_')) return 'chat_id';
  if (chat.startsWith('ou_')) return 'open_id';
  if (chat.startsWith('on_')) return 'union_id';
  return chat.includes('@') ? 'email' : 'user_id';
}

/** The HTTP status does not separate success from failure: a rate limit may be a 400, an error a 200. */
function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json, headers } = answer;
  if (!isJsonObject(json) || typeof json.code !== 'number' || json.code === 0) return readStatus(answer, { nowMs });
  const hints = { header: headers.get('retry-after'), seconds: headers.get('x-ogw-ratelimit-reset') };
  return readCode(answer, { code: json.code, meanings, nowMs, hints, otherwiseMs: 5_000 });
}
