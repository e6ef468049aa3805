/** Feishu: a tenant's token, codes that HTTP's status says nothing about, messages known again by `uuid`. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const appSecret = 'sec-feishu-secret';
const chat = 'oc_a0553eda9014c201e6969b478895c230';

export function feishuError(status: number, code: number, headers: Record<string, string> = {}): FakeAnswer {
  return { status, headers, json: { code, msg: providerWords, error: { log_id: 'L1' } } };
}

export const feishuApi: PlatformFixture = {
  target: 'feishu',
  options: { app_id: 'cli_1', app_secret: appSecret },
  wrongOptions: { app_secret: 'sec-wrong' },
  chat,
  place: `chat_id ${chat}`,
  unknown: { chat: 'oc_elsewhere', outcome: is.forbidden },
  malformedChats: ['a chat', 'oc/1'],
  limit: { max: 30_000, unit: 'utf16' },
  maxPieces: 10,
  resends: true,
  verifies: { kind: 'verified', as: 'Ops bot' },
  limited: feishuError(400, 99991400, { 'x-ogw-ratelimit-limit': '100', 'x-ogw-ratelimit-reset': '2' }),
  recorded: [
    ['a limit with HTTP 429', feishuError(429, 99991400, { 'x-ogw-ratelimit-reset': '7' }), is.waitMs(7_000)],
    ['a limit without a wait', feishuError(400, 230020), is.waitMs(5_000)],
    ['the bot is not in the group', feishuError(400, 230002), { ...is.forbidden, reason: /add it there/ }],
    ['an error with HTTP 200', feishuError(200, 230013), is.forbidden],
    ['no permission', feishuError(400, 99991672), is.forbidden],
    ['a user who has left', feishuError(400, 230029), is.notFound],
    ['too long', feishuError(400, 230025), is.tooLong],
    ['another wrong parameter', feishuError(400, 230001), is.permanent],
    ['the same uuid is being sent', feishuError(400, 230049), is.unknown],
    ['a token that is refused twice', feishuError(400, 99991663), is.auth],
  ],
  sends: ({ path }) => path.startsWith('/open-apis/im/v1/messages'),
  answer({ path, query, headers, json }, world) {
    if (path === '/open-apis/auth/v3/tenant_access_token/internal') {
      return headers.authorization === undefined && json.app_id === 'cli_1' && json.app_secret === appSecret
        ? { status: 200, json: { code: 0, msg: 'ok', tenant_access_token: 'sec-t-1', expire: 7200 } }
        : feishuError(200, 10014);
    }
    if (headers.authorization !== 'Bearer sec-t-1') return feishuError(400, 99991663);
    if (path === '/open-apis/bot/v3/info')
      return { status: 200, json: { code: 0, msg: 'ok', bot: { app_name: 'Ops bot' } } };
    if (json.msg_type !== 'text' || typeof json.uuid !== 'string' || json.uuid.length > 50)
      return feishuError(400, 230001);
    if (Buffer.byteLength(JSON.stringify(json)) > 150_000) return feishuError(400, 230025);
    const { text } = JSON.parse(json.content);
    const [, thread] = /^\/open-apis\/im\/v1\/messages\/([^/]+)\/reply$/.exec(path) ?? [];
    if (thread === undefined && json.receive_id !== chat && json.receive_id !== 'me@example.org')
      return feishuError(400, 230002);
    const place =
      thread === undefined ? `${query.get('receive_id_type')} ${json.receive_id}` : `reply ${json.reply_in_thread}`;
    const number = world.take({ place, text, thread }, json.uuid);
    return { status: 200, json: { code: 0, msg: 'success', data: { message_id: `om_${number}` } } };
  },
};
