/** A BlueBubbles server: the password in the query, the status once more in the body. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const password = 'sec-bubbles & more';
const chat = 'iMessage;-;+15552223333';

export function bubblesError(status: number, type: string, message: string, data?: object): FakeAnswer {
  const json = {
    status,
    message: providerWords,
    error: { type, message: `${message} ${providerWords}` },
    ...(data && { data }),
  };
  return { status, json };
}

export const bluebubblesApi: PlatformFixture = {
  target: 'bluebubbles',
  options: { password },
  wrongOptions: { password: 'sec-wrong' },
  chat,
  unknown: { chat: 'iMessage;-;+15550000000', outcome: is.notFound },
  malformedChats: ['Mum', '5551234'],
  limit: { max: 10_000, unit: 'utf16' },
  maxPieces: 10,
  verifies: { kind: 'verified' },
  limited: { status: 429, headers: { 'retry-after': '2' }, text: 'a proxy' },
  recorded: [
    ['a wrong password', bubblesError(401, 'Authentication Error', 'Unauthorized'), is.auth],
    ['a wrong request', bubblesError(400, 'Validation Error', 'The chatGuid field is required.'), is.permanent],
    [
      'the same message is being sent',
      bubblesError(400, 'Validation Error', 'Message is already queued to be sent! (Temp GUID: x)'),
      is.unknown,
    ],
    [
      'the Mac says that it was not sent',
      bubblesError(500, 'iMessage Error', 'Message failed to send!', { guid: 'g', error: 22 }),
      is.permanent,
    ],
    [
      'the message was not seen',
      bubblesError(500, 'iMessage Error', 'Message not found in database after 60 seconds!'),
      is.unknown,
    ],
    ['its own failure', bubblesError(500, 'Server Error', 'AppleScript'), is.unknown],
    ['a timeout', bubblesError(504, 'Gateway Timeout', 'Transaction timeout'), is.unknown],
    ['an error with HTTP 200', { ...bubblesError(401, 'Authentication Error', 'Unauthorized'), status: 200 }, is.auth],
  ],
  sends: ({ path }) => path === '/api/v1/message/text',
  answer({ method, path, query, json }, world) {
    if (query.get('password') !== password) return bubblesError(401, 'Authentication Error', 'Unauthorized');
    if (path === '/api/v1/ping') return { status: 200, json: { status: 200, message: 'Ping received!', data: 'pong' } };
    if (method !== 'POST' || !json.tempGuid || !json.message) return bubblesError(400, 'Validation Error', 'required');
    if (json.selectedMessageGuid !== undefined && json.method !== 'private-api')
      return bubblesError(400, 'Validation Error', 'method');
    if (json.chatGuid !== chat) return bubblesError(500, 'Server Error', 'Chat does not exist!');
    const guid = `G${world.take({ place: json.chatGuid, text: json.message, thread: json.selectedMessageGuid })}`;
    return {
      status: 200,
      json: { status: 200, message: 'Message sent!', data: { guid, text: json.message, error: 0 } },
    };
  },
};
