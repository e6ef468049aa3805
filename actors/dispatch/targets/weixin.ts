/**
 * weixin: a bot of Weixin over the iLink interface. The platform lets a bot only answer: each message needs the
 * `context_token` of the user's last message, and is accepted within 24 hours of it and at most ten times.
 * @see [Tencent/openclaw-weixin](https://github.com/Tencent/openclaw-weixin), the platform's own client
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import { refused } from '../../../machines/dispatch/send-outcome.ts';
import { bearer, type Description } from './described-target.ts';
import type { HttpAnswer } from './http-request.ts';
import { wordOf, wrongPlace } from './platform-target.ts';

const baseInfo = { channel_version: '1.0.0' };
const needsInbound =
  'the platform lets a bot only answer: deliver_extra.context_token must hold the context_token of the user’s last message';

export const weixin: Description = {
  name: 'weixin',
  base: 'https://ilinkai.weixin.qq.com',
  needs: ['token'],
  limit: { max: 4_000, unit: 'utf16' },
  maxPieces: 10,
  placeProblem(chat, extra) {
    if (!/^[\w.@-]{3,128}$/.test(chat)) return wrongPlace(chat, 'a user’s id, which ends in @im.wechat');
    return wordOf(extra, 'context_token') === undefined ? refused('forbidden', needsInbound) : undefined;
  },
  headers: (context) => ({
    ...bearer(context),
    authorizationtype: 'ilink_bot_token',
    'x-wechat-uin': Buffer.from(String(context.random() >>> 0)).toString('base64'),
  }),
  call: ({ chat, text, extra, key }) => ({
    path: '/ilink/bot/sendmessage',
    json: {
      msg: {
        from_user_id: '',
        to_user_id: chat,
        client_id: key,
        message_type: 2,
        message_state: 2,
        context_token: wordOf(extra, 'context_token'),
        item_list: [{ type: 1, text_item: { text } }],
      },
      base_info: baseInfo,
    },
  }),
  // An accepted message is answered with an empty object, so our key is its only id.
  accepted: (answer, json, { key }) => (isDone(answer, json) ? key : undefined),
  async verify({ settings, ask }) {
    // Fetching updates would take them away from the bot's own client.
    if (settings.homeChannel === undefined)
      return {
        kind: 'unverifiable',
        reason: 'the platform has no call that checks a login without a user; set home_channel',
      };
    return ask(
      { path: '/ilink/bot/getconfig', json: { ilink_user_id: settings.homeChannel, base_info: baseInfo } },
      (answer, json) => (isDone(answer, json) ? ({ kind: 'verified' } as const) : undefined),
    );
  },
  code: codeOf,
  meanings: {
    [-14]: { refusal: 'auth', because: 'the bot’s login has run out; scan the QR code again' },
    [-2]: {
      refusal: 'forbidden',
      because: 'the context_token is used up (24 hours, or ten messages); the user must write to the bot first',
    },
    [-1]: 'transient',
  },
};

function codeOf({ errcode, ret }: JsonObject): Json | undefined {
  return [errcode, ret].find((one) => typeof one === 'number' && one !== 0);
}

/** HTTP 200, an object, and no code but 0. */
function isDone(answer: HttpAnswer, json: JsonObject): boolean {
  return answer.status === 200 && isJsonObject(answer.json) && codeOf(json) === undefined;
}
