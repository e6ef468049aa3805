/** WhatsApp's Cloud API, which says everything in `error.code`, and a bridge process of one's own. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-EAAB-token';
const chat = '+15552223333';

export function graphError(status: number, code: number, more: object = {}): FakeAnswer {
  const error = { message: `(#${code}) ${providerWords}`, type: 'OAuthException', code, fbtrace_id: 'A1', ...more };
  return { status, json: { error } };
}

export const whatsappApi: PlatformFixture = {
  target: 'whatsapp',
  variant: 'cloud',
  options: { token, phone_number_id: '106540352242922' },
  wrongOptions: { token: 'sec-expired' },
  chat,
  unknown: { chat: '+15550009999', outcome: is.notFound },
  malformedChats: ['mum', '+0123', '1555@g.us'],
  limit: { max: 4_096, unit: 'utf16' },
  maxPieces: 10,
  verifies: { kind: 'verified', as: 'Ops Ltd' },
  limited: { ...graphError(429, 130429), headers: { 'retry-after': '2' } },
  recorded: [
    ['an expired token', graphError(401, 190), is.auth],
    ['an error without a code', { status: 200, json: { error: { message: providerWords } } }, is.permanent],
    ['outside the window of 24 hours', graphError(400, 131047), { ...is.forbidden, reason: /24 hours.*templates/ }],
    ['too often to one recipient', graphError(400, 131056), is.waitMs(6_000)],
    ['the throughput limit with a 400', graphError(400, 130429), is.waitMs(60_000)],
    ['held back', graphError(400, 131049), is.forbidden],
    ['not reachable', graphError(400, 131026), is.notFound],
    ['a test number', graphError(400, 131030), is.forbidden],
    ['no permission', graphError(403, 200), is.forbidden],
    ['locked', graphError(403, 131031), is.forbidden],
    ['a country that is closed to it', graphError(403, 130497), { ...is.forbidden, reason: /country/ }],
    [
      'too long',
      graphError(400, 100, {
        message: `(#100) Param text['body'] must be at most 4096 characters long. ${providerWords}`,
      }),
      is.tooLong,
    ],
    ['an unknown number id', graphError(400, 100, { error_subcode: 33 }), { ...is.auth, reason: /phone_number_id/ }],
    ['another wrong parameter', graphError(400, 100), is.permanent],
    ['its own failure', graphError(500, 131000), is.transient],
    ['an error with HTTP 200', graphError(200, 131047), is.forbidden],
  ],
  sends: ({ path }) => path.endsWith('/messages'),
  answer({ method, path, headers, json }, world) {
    if (headers.authorization !== `Bearer ${token}`) return graphError(401, 190);
    if (path === '/106540352242922' && method === 'GET')
      return { status: 200, json: { verified_name: 'Ops Ltd', id: '106540352242922' } };
    if (path !== '/106540352242922/messages') return graphError(400, 100, { error_subcode: 33 });
    if (json.messaging_product !== 'whatsapp' || json.type !== 'text') return graphError(400, 100);
    if (json.to !== chat) return graphError(400, 131026);
    if (json.text.body.length > 4_096) return graphError(400, 100, { message: 'must be at most 4096 characters long' });
    const number = world.take({ place: json.to, text: json.text.body, thread: json.context?.message_id });
    const json200 = {
      messaging_product: 'whatsapp',
      contacts: [{ input: chat, wa_id: '15552223333' }],
      messages: [{ id: `wamid.${number}` }],
    };
    return { status: 200, json: json200 };
  },
};

export const whatsappBridge: PlatformFixture = {
  target: 'whatsapp',
  variant: 'bridge',
  options: { bridge_url: '<base>', token: 'sec-bridge' },
  wrongOptions: { token: 'sec-other' },
  chat,
  place: '15552223333@s.whatsapp.net',
  malformedChats: ['mum', '@g.us'],
  limit: { max: 4_096, unit: 'utf16' },
  maxPieces: 10,
  verifies: { kind: 'verified' },
  limited: { status: 429, headers: { 'retry-after': '2' }, json: { error: providerWords } },
  recorded: [
    ['not linked', { status: 503, json: { error: `Not connected to WhatsApp ${providerWords}` } }, is.transient],
    ['it failed while it sent', { status: 500, json: { error: providerWords } }, is.unknown],
    ['refused with HTTP 200', { status: 200, json: { success: false, error: providerWords } }, is.permanent],
    ['a wrong request', { status: 400, json: { error: providerWords } }, is.permanent],
  ],
  sends: ({ path }) => path === '/send',
  answer({ method, path, headers, json }, world) {
    if (headers.authorization !== 'Bearer sec-bridge') return { status: 401, json: { error: providerWords } };
    if (path === '/health' && method === 'GET') return { status: 200, json: { status: 'connected', queueLength: 0 } };
    if (path !== '/send' || !json.chatId || !json.message) return { status: 400, json: { error: providerWords } };
    return {
      status: 200,
      json: { success: true, messageId: `B${world.take({ place: json.chatId, text: json.message })}` },
    };
  },
};
