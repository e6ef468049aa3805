/** Weixin's iLink: a bot answers with the context token of the user's last message; HTTP 200 whatever happens. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-ilink-token';
const chat = 'o9cq80yy@im.wechat';
const answerOf = (json: object): FakeAnswer => ({ status: 200, json });

export const weixinApi: PlatformFixture = {
  target: 'weixin',
  options: { token },
  wrongOptions: { token: 'sec-expired' },
  chat,
  extra: { context_token: 'ctx-1' },
  malformedChats: ['a b', '!'],
  limit: { max: 4_000, unit: 'utf16' },
  maxPieces: 10,
  verifies: { kind: 'unverifiable', reason: /home_channel/ },
  limited: { status: 429, headers: { 'retry-after': '2' }, text: 'slow down' },
  recorded: [
    [
      'the login has run out, with HTTP 200',
      answerOf({ ret: -14, errmsg: providerWords }),
      { ...is.auth, reason: /QR/ },
    ],
    ['the login has run out, said the other way', answerOf({ errcode: -14, ret: 0 }), is.auth],
    ['the context token is used up', answerOf({ ret: -2 }), { ...is.forbidden, reason: /must write to the bot first/ }],
    ['busy', answerOf({ ret: -1 }), is.transient],
    ['a code of next year', answerOf({ ret: -99 }), is.permanent],
    ['success with a zero', answerOf({ ret: 0 }), { kind: 'delivered', messageId: /.+/ }],
  ],
  sends: ({ path }) => path === '/ilink/bot/sendmessage',
  answer({ path, headers, json }, world) {
    if (headers.authorizationtype !== 'ilink_bot_token' || headers.authorization !== `Bearer ${token}`)
      return answerOf({ ret: -14 });
    if (!/^\d+$/.test(Buffer.from(String(headers['x-wechat-uin']), 'base64').toString())) return answerOf({ ret: -3 });
    if (path === '/ilink/bot/getconfig') return answerOf({ ret: 0, typing_ticket: 't' });
    const { msg } = json;
    if (msg.context_token !== 'ctx-1' || msg.from_user_id !== '') return answerOf({ ret: -2 });
    if (msg.message_type !== 2 || msg.message_state !== 2 || !msg.client_id) return answerOf({ ret: -3 });
    world.take({ place: msg.to_user_id, text: msg.item_list[0].text_item.text });
    return answerOf({});
  },
};
