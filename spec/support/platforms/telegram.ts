/** Telegram's Bot API: the token in the path, `ok` in the answer, the status mirrored in `error_code`. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-123456:AAH-token_of_the_bot';
const chat = '-1001234567890';

export function telegramError(code: number, description: string, parameters?: object): FakeAnswer {
  const json = {
    ok: false,
    error_code: code,
    description: `${description} ${providerWords}`,
    ...(parameters && { parameters }),
  };
  return { status: code, json };
}

export const telegramApi: PlatformFixture = {
  target: 'telegram',
  options: { token },
  wrongOptions: { token: 'sec-654321:revoked' },
  chat,
  unknown: { chat: '42', outcome: is.notFound },
  malformedChats: ['My Group', '../getMe', '@a'],
  limit: { max: 4_096, unit: 'utf16' },
  maxPieces: 20,
  verifies: { kind: 'verified', as: 'ops_bot' },
  limited: telegramError(429, 'Too Many Requests: retry after 2', { retry_after: 2 }),
  recorded: [
    ['the bot was blocked', telegramError(403, 'Forbidden: bot was blocked by the user'), is.forbidden],
    ['the bot was kicked', telegramError(403, 'Forbidden: bot was kicked from the supergroup chat'), is.forbidden],
    ['the token was revoked', telegramError(401, 'Unauthorized'), is.auth],
    ['no bot has this token', telegramError(404, 'Not Found'), is.auth],
    ['unknown topic', telegramError(400, 'Bad Request: message thread not found'), is.notFound],
    [
      'no right to write',
      telegramError(400, 'Bad Request: not enough rights to send text messages to the chat'),
      is.forbidden,
    ],
    ['too long', telegramError(400, 'Bad Request: message is too long'), is.tooLong],
    ['something else', telegramError(400, 'Bad Request: BUTTON_TYPE_INVALID'), is.permanent],
    ['its own failure', telegramError(500, 'Internal Server Error'), is.transient],
    ['its own failure with HTTP 200', { ...telegramError(502, 'Bad Gateway'), status: 200 }, is.transient],
    [
      'a flood wait of hours',
      telegramError(429, 'Too Many Requests: retry after 35000', { retry_after: 35_000 }),
      is.waitMs(35_000_000),
    ],
  ],
  sends: ({ path }) => path.endsWith('/sendMessage'),
  answer({ path, json, method }, world) {
    const [, given, call] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    if (given !== token) return telegramError(401, 'Unauthorized');
    if (call === 'getMe')
      return {
        status: 200,
        json: { ok: true, result: { id: 1, is_bot: true, first_name: 'Ops', username: 'ops_bot' } },
      };
    if (call !== 'sendMessage' || method !== 'POST') return telegramError(404, 'Not Found');
    if (json.chat_id !== chat) return telegramError(400, 'Bad Request: chat not found');
    if (typeof json.text !== 'string' || json.text === '')
      return telegramError(400, 'Bad Request: message text is empty');
    if (json.text.length > 4_096) return telegramError(400, 'Bad Request: message is too long');
    const message_id = world.take({ place: chat, text: json.text, thread: json.message_thread_id });
    return { status: 200, json: { ok: true, result: { message_id, chat: { id: Number(chat) }, text: json.text } } };
  },
};
