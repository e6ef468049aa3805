/**
 * qqbot: a bot of QQ. The platform withdrew push messages on 21 April 2025: a bot can only answer a message or an event
 * that it names, for an hour in a conversation and five minutes elsewhere, at most five times.
 * @see [Sending messages](https://bot.q.qq.com/wiki/develop/api-v2/server-inter/message/send-receive/send.html)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, lookUp } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withEntities, withoutMentions, withoutTags } from '../../../machines/dispatch/inert-text.ts';
import { deliveredAs, refused, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { createAccessToken, lifetimeOf, tokenRefused } from './access-token.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  type Message,
  missing,
  optionOf,
  type PlatformTarget,
  readCode,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
  verifiedAs,
  wordOf,
  wrongPlace,
} from './platform-target.ts';

const tokenBase = 'https://bots.qq.com';
const apiBase = 'https://api.sgroup.qq.com';
const repliesLifetimeMs = 300_000;
/** Answers that one message may have. */
const mostReplies = 5;
const placePattern = /^(?:(user|group|channel|dm):)?([\w-]{1,128})$/;
const chatForm = 'user:, group:, channel: or dm: and an id';
const needsInbound =
  'the platform lets a bot only answer: deliver_extra.msg_id or event_id must name the message or event that is answered';

/** Waits for review at the platform, and counts as delivered. */
const audited: ReadonlySet<unknown> = new Set([304023, 304024]);
/** A message with the same `msg_id` and `msg_seq` was already accepted, so this one arrived. */
const duplicate = 40054005;
const tokenCodes: ReadonlySet<unknown> = new Set([11241, 11243, 11244]);

const expired = {
  refusal: 'forbidden',
  because: 'the message that is answered is too old, or was answered too often',
} as const;
const meanings: Readonly<Record<string, CodeMeaning>> = {
  100007: 'auth',
  100016: 'auth',
  11251: 'auth',
  11261: 'auth',
  11275: 'auth',
  11253: 'forbidden',
  11254: 'forbidden',
  11264: 'forbidden',
  11265: { refusal: 'forbidden', because: 'the platform has banned the bot' },
  304031: 'forbidden',
  304046: 'forbidden',
  304048: 'forbidden',
  304026: expired,
  304027: expired,
  40034024: expired,
  40034102: { refusal: 'forbidden', because: needsInbound },
  10001: 'notFound',
  10003: 'notFound',
  10004: 'notFound',
  304032: 'notFound',
  304034: 'notFound',
  1100104: 'notFound',
  304003: { refusal: 'permanent', because: 'the text holds an address that is not on the bot’s list' },
  304025: { refusal: 'permanent', because: 'the platform’s filter blocked the text' },
  1100101: { refusal: 'permanent', because: 'the platform’s filter blocked the text' },
  1100103: { refusal: 'permanent', because: 'the platform’s filter blocked the text' },
  22009: 'rateLimited',
  20028: 'rateLimited',
  304045: 'rateLimited',
  304049: 'rateLimited',
  304050: 'rateLimited',
  1100100: 'rateLimited',
  11242: 'transient',
  11252: 'transient',
  11263: 'transient',
  1100300: 'transient',
};

export function createQqbot(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, apiBase);
  const token = createAccessToken(
    (signal) =>
      client.ask(
        {
          method: 'POST',
          base: tokenBase,
          path: '/app/getAppAccessToken',
          json: { appId: optionOf(settings, 'app_id'), clientSecret: optionOf(settings, 'client_secret') },
        },
        signal,
        (answer) => {
          const { json } = answer;
          // Its lifetime is a string.
          return isJsonObject(json) && typeof json.access_token === 'string'
            ? ({ kind: 'token', token: json.access_token, lifetimeMs: lifetimeOf(json.expires_in) } as const)
            : read(answer, ports.now());
        },
      ),
    ports.now,
  );

  return createPieceTarget(
    {
      name: 'qqbot',
      limit: { most: 2_000, unit: 'entities' },
      maxPieces: mostReplies,
      inert: (text) => withoutTags(withoutMentions(text), '[@#!]|qqbot-|emoji:'),
      deduplicatesForMs: repliesLifetimeMs,
      knowsAgain: (message) => hasSequence(message) && wordOf(message.extra, 'msg_id') !== undefined,
      problem: missing('qqbot', settings, 'app_id', 'client_secret'),
      placeProblem(chat, extra) {
        const [, kind] = placePattern.exec(chat) ?? [];
        if (kind === undefined && !/^\d{1,20}$/.test(chat)) return wrongPlace(chat, chatForm);
        return wordOf(extra, 'msg_id', 'event_id') === undefined ? refused('forbidden', needsInbound) : undefined;
      },
      send: (message, signal) =>
        token.use(signal, (accessToken) => {
          const { extra, text, key, index } = message;
          const msgId = wordOf(extra, 'msg_id');
          const eventId = wordOf(extra, 'event_id');
          const json = {
            // Channels decode entities; conversations and groups show them literally.
            content: hasSequence(message) ? text : withEntities(text),
            msg_type: 0,
            ...(msgId === undefined ? {} : { msg_id: msgId }),
            ...(eventId === undefined || msgId !== undefined ? {} : { event_id: eventId }),
            ...(hasSequence(message) ? { msg_seq: sequenceOf(key, index) } : {}),
          };
          const headers = { authorization: `QQBot ${accessToken}` };
          return client.ask({ method: 'POST', path: pathOf(message), headers, json }, signal, (answer) => {
            const body = answer.json;
            if (isJsonObject(body) && (audited.has(body.code) || body.code === duplicate))
              return deliveredAs(lookUp(body, 'data.message_audit.audit_id'));
            if (answer.status === 401 || (isJsonObject(body) && tokenCodes.has(body.code))) return tokenRefused;
            const taken = answer.status === 200 && isJsonObject(body) && body.code === undefined;
            return taken && typeof body.id === 'string' ? deliveredAs(body.id) : read(answer, ports.now());
          });
        }),
      verify: (signal) =>
        token.use(signal, (accessToken) => {
          const headers = { authorization: `QQBot ${accessToken}` };
          return client.ask({ method: 'GET', path: '/users/@me', headers }, signal, (answer) => {
            const { json, status } = answer;
            if (status === 401) return tokenRefused;
            if (status === 200 && isJsonObject(json) && typeof json.id === 'string') return verifiedAs(json.username);
            return read(answer, ports.now());
          });
        }),
    },
    settings,
    ports,
  );
}

/** Conversations and groups number the answers to a message; channels do not. */
function hasSequence({ chat }: Pick<Message, 'chat'>): boolean {
  return /^(?:user|group):/.test(chat);
}

/** Stable for a delivery, and unlikely to collide with another delivery's answer to the same message. */
function sequenceOf(key: string, index: number): number {
  const [high = 0, low = 0] = Buffer.from(key, 'base64url');
  return ((high * 256 + low) % 12_000) * mostReplies + index + 1;
}

function pathOf({ chat }: Pick<Message, 'chat'>): string {
  const [, kind = 'channel', id = ''] = placePattern.exec(chat) ?? [];
  switch (kind) {
    case 'user':
      return `/v2/users/${id}/messages`;
    case 'group':
      return `/v2/groups/${id}/messages`;
    case 'dm':
      return `/dms/${id}/messages`;
    default:
      return `/channels/${id}/messages`;
  }
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json, status } = answer;
  if (!isJsonObject(json) || typeof json.code !== 'number' || json.code === 0) return readStatus(answer, { nowMs });
  if (json.code >= 301_000 && json.code <= 301_099) return refusedAs('forbidden', saying(status, json.code));
  return readCode(answer, { code: json.code, meanings, nowMs, otherwiseMs: 60_000 });
}
