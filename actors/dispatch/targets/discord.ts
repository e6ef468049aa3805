/**
 * Delivers as a Discord bot. A thread is a separate channel. Mentions never trigger notifications, because the text may
 * be untrusted.
 * @see [Create Message](https://discord.com/developers/docs/resources/message#create-message)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { deliveredAs, limitedInChat, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  placeProblemOf,
  readCode,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
  verifiedAs,
  wordOf,
} from './platform-target.ts';

const defaultBase = 'https://discord.com/api/v10';
const snowflake = /^\d{15,21}$/;
/** The format that the platform requires; its proxy refuses others. */
const userAgent = 'DiscordBot (https://localhost, 0.1)';
/** The platform's documentation says only "past few minutes". */
const nonceLifetimeMs = 120_000;
const nonceLength = 25;

/** @see https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
const meanings: Readonly<Record<string, CodeMeaning>> = {
  10003: 'notFound',
  10004: 'notFound',
  10008: 'notFound',
  10013: 'notFound',
  20016: 'rateLimited',
  20028: 'rateLimited',
  40001: 'auth',
  40002: 'auth',
  40003: 'rateLimited',
  40004: 'transient',
  40005: 'tooLong',
  40062: 'rateLimited',
  40333: { refusal: 'forbidden', because: 'the platform’s proxy blocks this gateway’s address' },
  50001: 'forbidden',
  50007: { refusal: 'forbidden', because: 'the user takes no direct messages from this bot' },
  50008: 'notFound',
  50009: 'forbidden',
  50013: 'forbidden',
  50024: 'notFound',
  130000: 'transient',
  160002: 'forbidden',
  160005: 'forbidden',
  200000: { refusal: 'permanent', because: 'the server’s moderation blocked the message' },
  240000: { refusal: 'permanent', because: 'the platform’s link filter blocked the message' },
};

export function createDiscord(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  const headers = { authorization: `Bot ${optionOf(settings, 'token') ?? ''}`, 'user-agent': userAgent };

  return createPieceTarget(
    {
      name: 'discord',
      limit: { most: 2_000, unit: 'utf16' },
      maxPieces: 20,
      deduplicatesForMs: nonceLifetimeMs,
      problem: missing('discord', settings, 'token'),
      placeProblem(chat, extra) {
        return placeProblemOf('discord', wordOf(extra, 'thread_id') ?? chat);
      },
      send({ chat, text, extra, key }, signal) {
        const place = wordOf(extra, 'thread_id') ?? chat;
        const replyTo = wordOf(extra, 'reply_to');
        const body = {
          content: text,
          allowed_mentions: { parse: [] },
          nonce: key.slice(0, nonceLength),
          enforce_nonce: true,
          ...(replyTo !== undefined && snowflake.test(replyTo)
            ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } }
            : {}),
        };
        return client.ask(
          { method: 'POST', path: `/channels/${place}/messages`, headers, json: body },
          signal,
          (answer) => {
            const { json, status } = answer;
            if (status === 200 && isJsonObject(json) && typeof json.id === 'string') return deliveredAs(json.id);
            return read(answer, ports.now());
          },
        );
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: '/users/@me', headers }, signal, (answer) =>
          answer.status === 200 && isJsonObject(answer.json) && typeof answer.json.id === 'string'
            ? verifiedAs(answer.json.username)
            : read(answer, ports.now()),
        ),
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json, status } = answer;
  if (!isJsonObject(json)) return readStatus(answer, { nowMs });
  const { code } = json;
  if (status === 401) return refusedAs('auth', saying(status, code));
  // A form error names the field and its problem.
  if (code === 50035 && /"content":.*MAX_LENGTH/.test(JSON.stringify(json.errors ?? '')))
    return refusedAs('tooLong', saying(status, code));
  if (status < 300) return readStatus(answer, { nowMs });
  const outcome = readCode(answer, { code, meanings, nowMs, hints: { seconds: json.retry_after } });
  // A limit that is not global belongs to the channel, whose id is part of the path.
  return json.global === false && answer.headers.get('x-ratelimit-scope') !== 'global'
    ? limitedInChat(outcome)
    : outcome;
}
