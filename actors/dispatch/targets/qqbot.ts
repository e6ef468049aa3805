/**
 * qqbot: a bot of QQ. The platform withdrew push messages on 21 April 2025: a bot can only answer a message or an event
 * that it names, for an hour in a conversation and five minutes elsewhere, at most five times.
 * @see [Sending messages](https://bot.q.qq.com/wiki/develop/api-v2/server-inter/message/send-receive/send.html)
 * @see DLV-1 in docs/specification.md
 */

import { lookUp } from '../../../machines/base/json.ts';
import { withEntities, withoutMentions, withoutTags } from '../../../machines/dispatch/inert-text.ts';
import { refused } from '../../../machines/dispatch/send-outcome.ts';
import type { Description } from './described-target.ts';
import { codes, type Message, refusedAs, saying, wordOf, wrongPlace } from './platform-target.ts';

const repliesLifetimeMs = 300_000;
/** Answers that one message may have. */
const maxReplies = 5;
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

export const qqbot: Description = {
  name: 'qqbot',
  base: 'https://api.sgroup.qq.com',
  needs: ['app_id', 'client_secret'],
  limit: { max: 2_000, unit: 'entities' },
  maxPieces: maxReplies,
  inert: (text) => withoutTags(withoutMentions(text), '[@#!]|qqbot-|emoji:'),
  deduplicatesForMs: repliesLifetimeMs,
  knowsAgain: (message) => hasSequence(message) && wordOf(message.extra, 'msg_id') !== undefined,
  placeProblem(chat, extra) {
    const [, kind] = placePattern.exec(chat) ?? [];
    if (kind === undefined && !/^\d{1,20}$/.test(chat)) return wrongPlace(chat, chatForm);
    return wordOf(extra, 'msg_id', 'event_id') === undefined ? refused('forbidden', needsInbound) : undefined;
  },
  token: {
    call: ({ option }) => ({
      base: 'https://bots.qq.com',
      path: '/app/getAppAccessToken',
      json: { appId: option('app_id'), clientSecret: option('client_secret') },
    }),
    issued: ({ access_token: token, expires_in: seconds }) => ({ token, seconds }),
    isRefused: ({ code }, status) => status === 401 || tokenCodes.has(code),
  },
  headers: ({ token }) => ({ authorization: `QQBot ${token}` }),
  call(message) {
    const { extra, text, key, index } = message;
    const msgId = wordOf(extra, 'msg_id');
    return {
      path: pathOf(message),
      json: {
        // Channels decode entities; conversations and groups show them literally.
        content: hasSequence(message) ? text : withEntities(text),
        msg_type: 0,
        msg_id: msgId,
        event_id: msgId === undefined ? wordOf(extra, 'event_id') : undefined,
        msg_seq: hasSequence(message) ? sequenceOf(key, index) : undefined,
      },
    };
  },
  accepted({ status }, json) {
    const { code, id } = json;
    if (audited.has(code) || code === duplicate) return lookUp(json, 'data.message_audit.audit_id') ?? true;
    return status === 200 && code === undefined && typeof id === 'string' ? id : undefined;
  },
  verify: {
    call: { path: '/users/@me' },
    account: ({ id, username }) => (typeof id === 'string' ? (username ?? '') : undefined),
  },
  code: ({ code }) => (typeof code === 'number' && code !== 0 ? code : undefined),
  meanings: {
    ...codes('auth', 100007, 100016, 11251, 11261, 11275),
    ...codes('forbidden', 11253, 11254, 11264, 304031, 304046, 304048),
    11265: { refusal: 'forbidden', because: 'the platform has banned the bot' },
    ...codes(expired, 304026, 304027, 40034024),
    40034102: { refusal: 'forbidden', because: needsInbound },
    ...codes('notFound', 10001, 10003, 10004, 304032, 304034, 1100104),
    304003: { refusal: 'permanent', because: 'the text holds an address that is not on the bot’s list' },
    304025: { refusal: 'permanent', because: 'the platform’s filter blocked the text' },
    1100101: { refusal: 'permanent', because: 'the platform’s filter blocked the text' },
    1100103: { refusal: 'permanent', because: 'the platform’s filter blocked the text' },
    ...codes('rateLimited', 22009, 20028, 304045, 304049, 304050, 1100100),
    ...codes('transient', 11242, 11252, 11263, 1100300),
  },
  otherwiseMs: 60_000,
  judge: ({ status }, { code }) =>
    typeof code === 'number' && code >= 301_000 && code <= 301_099
      ? refusedAs('forbidden', saying(status, code))
      : undefined,
};

/** Conversations and groups number the answers to a message; channels do not. */
function hasSequence({ chat }: Pick<Message, 'chat'>): boolean {
  return /^(?:user|group):/.test(chat);
}

/** Stable for a delivery, and unlikely to collide with another delivery's answer to the same message. */
function sequenceOf(key: string, index: number): number {
  const [high = 0, low = 0] = Buffer.from(key, 'base64url');
  return ((high * 256 + low) % 12_000) * maxReplies + index + 1;
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
