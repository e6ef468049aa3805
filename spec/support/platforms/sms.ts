/** Twilio's API: Basic credentials, a form in, JSON out, 201 for a message that is queued. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const sid = 'AC00000000000000000000000000000001';
const token = 'sec-twilio-token';
const chat = '+15552223333';
/** The usual kind of key: for everything but accounts and keys. */
export const smsKey = { api_key: 'SK1', api_secret: 'sec-twilio-key' };

export function twilioError(status: number, code: number): FakeAnswer {
  const json = { code, message: providerWords, more_info: `https://www.twilio.com/docs/errors/${code}`, status };
  return { status, json };
}

export const sms: PlatformFixture = {
  target: 'sms',
  options: { account_sid: sid, auth_token: token, from: '+15550001111' },
  wrongOptions: { auth_token: 'sec-rotated' },
  chat,
  unknown: { chat: '+15005550001', outcome: is.notFound },
  malformedChats: ['5551234', '+0123456', 'mum'],
  limit: { max: 1_600, unit: 'utf16' },
  maxPieces: 5,
  verifies: { kind: 'verified', as: 'Ops' },
  limited: { ...twilioError(429, 20429), headers: { 'retry-after': '2' } },
  recorded: [
    ['a wrong number', twilioError(400, 21211), is.notFound],
    ['a number that is no mobile', twilioError(400, 21614), is.notFound],
    ['opted out', twilioError(400, 21610), { ...is.forbidden, reason: /START/ }],
    ['a trial account', twilioError(400, 21608), is.forbidden],
    ['a sender that is not ours', twilioError(400, 21606), { ...is.permanent, reason: /platforms\.sms\.from/ }],
    ['too long', twilioError(400, 21617), is.tooLong],
    ['a parameter too long', twilioError(400, 21658), is.tooLong],
    ['wrong credentials', twilioError(401, 20003), is.auth],
    ['no such account', twilioError(404, 20404), is.auth],
    ['too many requests without a wait', twilioError(429, 20429), is.waitMs(30_000)],
    ['its own failure', twilioError(500, 20500), is.transient],
    ['born failed', { status: 201, json: { sid: 'SM9', status: 'failed', error_code: 21610 } }, is.forbidden],
  ],
  sends: ({ path }) => path.endsWith('/Messages.json'),
  answer({ method, path, headers, form }, world) {
    const is = (user: string, secret: string): boolean =>
      headers.authorization === `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
    const isKey = is(smsKey.api_key, smsKey.api_secret);
    if (isKey && path === `/2010-04-01/Accounts/${sid}.json`) return twilioError(401, 20003);
    if (!isKey && !is(sid, token)) return twilioError(401, 20003);
    if (method === 'GET' && path === `/2010-04-01/Accounts/${sid}/Messages.json`)
      return { status: 200, json: { messages: [], page: 0, page_size: 1 } };
    if (path === `/2010-04-01/Accounts/${sid}.json`)
      return { status: 200, json: { sid, friendly_name: 'Ops', status: 'active' } };
    if (path !== `/2010-04-01/Accounts/${sid}/Messages.json` || method !== 'POST') return twilioError(404, 20404);
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') return twilioError(400, 21604);
    const text = form.get('Body') ?? '';
    if (form.get('To') !== chat) return twilioError(400, 21211);
    if (form.get('From') === null && form.get('MessagingServiceSid') === null) return twilioError(400, 21603);
    if (text.length > 1_600) return twilioError(400, 21617);
    const number = world.take({ place: chat, text });
    return {
      status: 201,
      json: { sid: `SM${number}`, status: 'queued', error_code: null, error_message: null, num_segments: '1' },
    };
  },
};
