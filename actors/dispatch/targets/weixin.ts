/**
 * weixin: a bot of Weixin over the iLink interface. The platform lets a bot only answer: each message needs the
 * `context_token` of the user's last message, and is accepted within 24 hours of it and at most ten times.
 * @see [Tencent/openclaw-weixin](https://github.com/Tencent/openclaw-weixin), the platform's own client
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { refused, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
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
  wordOf,
  wrongPlace,
} from './platform-target.ts';

const defaultBase = 'https://ilinkai.weixin.qq.com';
const channelVersion = '1.0.0';
const needsInbound =
  'the platform lets a bot only answer: deliver_extra.context_token must hold the context_token of the user’s last message';

const meanings: Readonly<Record<string, CodeMeaning>> = {
  [-14]: { refusal: 'auth', because: 'the bot’s login has run out; scan the QR code again' },
  [-2]: {
    refusal: 'forbidden',
    because: 'the context_token is used up (24 hours, or ten messages); the user must write to the bot first',
  },
  [-1]: 'transient',
};

export function createWeixin(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  const headers = (): Record<string, string> => ({
    authorization: `Bearer ${optionOf(settings, 'token') ?? ''}`,
    authorizationtype: 'ilink_bot_token',
    'x-wechat-uin': Buffer.from(String(ports.random() >>> 0)).toString('base64'),
  });

  return createPieceTarget(
    {
      name: 'weixin',
      limit: { most: 4_000, unit: 'utf16' },
      maxPieces: 10,
      problem: missing('weixin', settings, 'token'),
      placeProblem(chat, extra) {
        if (!/^[\w.@-]{3,128}$/.test(chat)) return wrongPlace(chat, 'a user’s id, which ends in @im.wechat');
        return wordOf(extra, 'context_token') === undefined ? refused('forbidden', needsInbound) : undefined;
      },
      send({ chat, text, extra, key }, signal) {
        const json = {
          msg: {
            from_user_id: '',
            to_user_id: chat,
            client_id: key,
            message_type: 2,
            message_state: 2,
            context_token: wordOf(extra, 'context_token'),
            item_list: [{ type: 1, text_item: { text } }],
          },
          base_info: { channel_version: channelVersion },
        };
        const call = { method: 'POST', path: '/ilink/bot/sendmessage', headers: headers(), json } as const;
        // An accepted message is answered with an empty object, so our key is its only id.
        return client.ask(call, signal, (answer) => read(answer, ports.now()) ?? { kind: 'delivered', messageId: key });
      },
      verify(signal) {
        // Fetching updates would take them away from the bot's own client.
        if (settings.homeChannel === undefined) {
          const reason = 'the platform has no call that checks a login without a user; set home_channel';
          return Promise.resolve({ kind: 'unverifiable', reason });
        }
        const json = { ilink_user_id: settings.homeChannel, base_info: { channel_version: channelVersion } };
        const call = { method: 'POST', path: '/ilink/bot/getconfig', headers: headers(), json } as const;
        return client.ask(call, signal, (answer) => read(answer, ports.now()) ?? ({ kind: 'verified' } as const));
      },
    },
    settings,
    ports,
  );
}

/** Undefined on success: HTTP 200, an object, and no code but 0. */
function read(answer: HttpAnswer, nowMs: number): SendOutcome | undefined {
  const { json, status } = answer;
  if (!isJsonObject(json)) return readStatus(answer, { nowMs });
  const code = [json.errcode, json.ret].find((one) => typeof one === 'number' && one !== 0);
  if (code !== undefined) return readCode(answer, { code, meanings, nowMs });
  return status === 200 ? undefined : readStatus(answer, { nowMs });
}
