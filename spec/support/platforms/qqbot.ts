/** QQ's bot API: a token whose lifetime is a string, answers only, an audit that looks like an error. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const clientSecret = 'sec-qq-secret';

export function qqError(status: number, code: number): FakeAnswer {
  return { status, json: { message: providerWords, code, err_code: code, trace_id: 't' } };
}

export const qqbotApi: PlatformFixture = {
  target: 'qqbot',
  options: { app_id: '102000001', client_secret: clientSecret },
  wrongOptions: { client_secret: 'sec-wrong' },
  chat: 'user:7D296480D464EC5C',
  place: '/v2/users/7D296480D464EC5C/messages',
  extra: { msg_id: 'ROBOT1.0_abc' },
  unknown: { chat: 'channel:404', outcome: is.notFound },
  malformedChats: ['7D296480D464EC5C', 'team:1', 'user:a b'],
  limit: { max: 2_000, unit: 'entities' },
  maxPieces: 5,
  resends: true,
  verifies: { kind: 'verified', as: 'gitsub' },
  limited: { ...qqError(429, 22009), headers: { 'retry-after': '2' } },
  recorded: [
    ['too often', qqError(400, 22009), is.waitMs(60_000)],
    [
      'waits for a person: accepted',
      {
        status: 202,
        json: {
          code: 304023,
          message: 'push message is waiting for audit now',
          data: { message_audit: { audit_id: 'A7' } },
        },
      },
      { kind: 'delivered', messageId: 'A7' },
    ],
    [
      'an answer that waits for a person: accepted',
      { status: 202, json: { code: 304024, message: providerWords } },
      { kind: 'delivered' },
    ],
    ['it has this message already', qqError(400, 40054005), { kind: 'delivered' }],
    ['the answered message is too old', qqError(400, 304027), { ...is.forbidden, reason: /too old/ }],
    ['a msg_id that is no longer good', qqError(400, 40034024), { ...is.forbidden, reason: /too old/ }],
    ['a push', qqError(400, 40034102), { ...is.forbidden, reason: /msg_id/ }],
    ['an address that is not listed', qqError(400, 304003), { ...is.permanent, reason: /address/ }],
    ['no permission', qqError(403, 11253), is.forbidden],
    ['no permission in a channel', qqError(400, 301003), is.forbidden],
    ['an unknown channel', qqError(404, 10003), is.notFound],
    ['its own failure', qqError(500, 1100300), is.transient],
    ['a token that is refused twice', qqError(401, 11243), is.auth],
  ],
  sends: ({ path }) => path.endsWith('/messages'),
  answer({ method, path, headers, json }, world) {
    if (path === '/app/getAppAccessToken') {
      return headers.authorization === undefined && json.appId === '102000001' && json.clientSecret === clientSecret
        ? { status: 200, json: { access_token: 'sec-qq-token', expires_in: '7200' } }
        : { status: 200, json: { code: 100016, message: providerWords } };
    }
    if (headers.authorization !== 'QQBot sec-qq-token') return qqError(401, 11243);
    if (path === '/users/@me') return { status: 200, json: { id: '11586', username: 'gitsub' } };
    if (method !== 'POST' || path === '/channels/404/messages') return qqError(404, 10003);
    if (json.msg_id === undefined && json.event_id === undefined) return qqError(400, 304046);
    if (typeof json.content !== 'string' || json.content === '') return qqError(400, 50006);
    const before = world.messages.length;
    const key = json.msg_seq === undefined ? undefined : `${path} ${json.msg_id} ${json.msg_seq}`;
    const number = world.take({ place: path, text: json.content }, key);
    if (world.messages.length === before) return qqError(400, 40054005);
    return { status: 200, json: { id: `ROBOT1.0_${number}`, timestamp: '2026-11-03T20:00:00+08:00' } };
  },
};
