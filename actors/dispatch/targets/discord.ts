/**
 * Delivers as a Discord bot. A thread is a separate channel. Mentions never trigger notifications, because the text may
 * be untrusted.
 * @see [Create Message](https://discord.com/developers/docs/resources/message#create-message)
 * @see DLV-1 in docs/specification.md
 */

import type { Description } from './described-target.ts';
import { codes, placeProblemOf, refusedAs, saying, wordOf } from './platform-target.ts';

const snowflake = /^\d{15,21}$/;
/** The format that the platform requires; its proxy refuses others. */
const userAgent = 'DiscordBot (https://localhost, 0.1)';
/** The platform's documentation says only "past few minutes". */
const nonceLifetimeMs = 120_000;
const nonceLength = 25;
/** A link from outside must not show its pictures in the channel. */
const suppressEmbeds = 1 << 2;

export const discord: Description = {
  name: 'discord',
  base: 'https://discord.com/api/v10',
  needs: ['token'],
  limit: { max: 2_000, unit: 'utf16' },
  maxPieces: 20,
  deduplicatesForMs: nonceLifetimeMs,
  placeProblem: (chat, extra) => placeProblemOf('discord', wordOf(extra, 'thread_id') ?? chat),
  headers: ({ option }) => ({ authorization: `Bot ${option('token')}`, 'user-agent': userAgent }),
  call({ chat, text, extra, key }) {
    const replyTo = wordOf(extra, 'reply_to');
    return {
      path: `/channels/${wordOf(extra, 'thread_id') ?? chat}/messages`,
      json: {
        content: text,
        allowed_mentions: { parse: [] },
        flags: suppressEmbeds,
        nonce: key.slice(0, nonceLength),
        enforce_nonce: true,
        ...(replyTo !== undefined && snowflake.test(replyTo)
          ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } }
          : {}),
      },
    };
  },
  accepted: ({ status }, { id }) => (status === 200 && typeof id === 'string' ? id : undefined),
  verify: {
    call: { path: '/users/@me' },
    account: ({ id, username }) => (typeof id === 'string' ? (username ?? '') : undefined),
  },
  // A code in a 401 says no more than the status.
  code: ({ code }, status) => (status < 300 || status === 401 ? undefined : code),
  /** @see https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
  meanings: {
    ...codes('notFound', 10003, 10004, 10008, 10013, 50008, 50024),
    ...codes('rateLimited', 20016, 20028, 40003, 40062),
    ...codes('auth', 40001, 40002),
    ...codes('transient', 40004, 130000),
    40005: 'tooLong',
    40333: { refusal: 'forbidden', because: 'the platform’s proxy blocks this gateway’s address' },
    ...codes('forbidden', 50001, 50009, 50013, 160002, 160005),
    50007: { refusal: 'forbidden', because: 'the user takes no direct messages from this bot' },
    200000: { refusal: 'permanent', because: 'the server’s moderation blocked the message' },
    240000: { refusal: 'permanent', because: 'the platform’s link filter blocked the message' },
  },
  hints: (_, { retry_after }) => ({ seconds: retry_after }),
  // A limit that is not global belongs to the channel, whose id is part of the path.
  limitsChat: ({ headers }, { global }) => global === false && headers.get('x-ratelimit-scope') !== 'global',
  // A form error names the field and its problem.
  judge: ({ status }, { code, errors }) =>
    code === 50035 && /"content":.*MAX_LENGTH/.test(JSON.stringify(errors ?? ''))
      ? refusedAs('tooLong', saying(status, code))
      : undefined,
};
