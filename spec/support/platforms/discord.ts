/** Discord's API: a bot's token, a User-Agent of the right form, nonces that are known again. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-MTk4NjIy.Cl2FMQ.token';
const channel = '1100000000000000001';

export function discordError(status: number, code: number, more: object = {}): FakeAnswer {
  return { status, json: { message: providerWords, code, ...more } };
}

const contentTooLong = {
  errors: { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH', message: 'Must be 2000 or fewer in length.' }] } },
};

export const discordApi: PlatformFixture = {
  target: 'discord',
  options: { token },
  wrongOptions: { token: 'sec-revoked' },
  chat: channel,
  unknown: { chat: '1100000000000000099', outcome: is.notFound },
  malformedChats: ['#general', '123', '1/messages'],
  limit: { max: 2_000, unit: 'utf16' },
  maxPieces: 20,
  resends: true,
  verifies: { kind: 'verified', as: 'ops' },
  limited: {
    status: 429,
    headers: { 'retry-after': '2', 'x-ratelimit-scope': 'user', 'x-ratelimit-reset-after': '1.57' },
    json: { message: `You are being rate limited. ${providerWords}`, retry_after: 1.57, global: false },
  },
  recorded: [
    ['unknown channel', discordError(404, 10003), is.notFound],
    ['missing access', discordError(403, 50001), is.forbidden],
    ['missing permission', discordError(403, 50013), is.forbidden],
    ['direct messages closed', discordError(403, 50007), { ...is.forbidden, reason: /direct messages/ }],
    ['unauthorized', { status: 401, json: { message: '401: Unauthorized', code: 0 } }, is.auth],
    ['too long', discordError(400, 50035, contentTooLong), is.tooLong],
    ['another form error', discordError(400, 50035, { errors: { nonce: {} } }), is.permanent],
    ['blocked by moderation', discordError(400, 200000), is.permanent],
    ['slow mode', { status: 429, json: { message: 'slow', code: 20016, retry_after: 4.5 } }, is.waitMs(4_500)],
    [
      'global limit',
      { status: 429, headers: { 'x-ratelimit-global': 'true' }, json: { retry_after: 64.57, global: true } },
      is.waitMs(64_570),
    ],
    [
      'banned at its proxy',
      { status: 429, headers: { 'retry-after': '600' }, text: '<html>1015</html>' },
      is.waitMs(600_000),
    ],
    ['blocked at its proxy', discordError(403, 40333), { ...is.forbidden, reason: /this gateway’s address/ }],
    ['overloaded', discordError(503, 130000), is.transient],
  ],
  sends: ({ method, path }) => method === 'POST' && path.endsWith('/messages'),
  answer({ method, path, headers, json }, world) {
    if (!/^DiscordBot \(\S+, \S+\)$/.test(headers['user-agent'] ?? '')) return discordError(403, 40333);
    if (headers.authorization !== `Bot ${token}`)
      return { status: 401, json: { message: '401: Unauthorized', code: 0 } };
    if (method === 'GET' && path === '/users/@me')
      return { status: 200, json: { id: '1', username: 'ops', bot: true } };
    const [, place = ''] = /^\/channels\/(\d+)\/messages$/.exec(path) ?? [];
    if (![channel, '1100000000000000002'].includes(place)) return discordError(404, 10003);
    if (typeof json.content !== 'string' || json.content === '') return discordError(400, 50006);
    if (json.content.length > 2_000) return discordError(400, 50035, contentTooLong);
    if (typeof json.nonce !== 'string' || json.nonce.length > 25 || json.enforce_nonce !== true)
      return discordError(400, 50035);
    if (json.allowed_mentions.parse.length !== 0) return discordError(400, 50035);
    const number = world.take({ place, text: json.content, thread: json.message_reference?.message_id }, json.nonce);
    return { status: 200, json: { id: `12000000000000000${number}`, channel_id: place, content: json.content } };
  },
};
