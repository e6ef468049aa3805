/** A Matrix homeserver: PUT with a transaction id that it knows again, errors as `errcode`. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-syt_token';
const room = '!ops:example.org';

export function matrixError(status: number, errcode: string, more: object = {}): FakeAnswer {
  return { status, json: { errcode, error: providerWords, ...more } };
}

export const matrixApi: PlatformFixture = {
  target: 'matrix',
  options: { token },
  wrongOptions: { token: 'sec-syt_gone' },
  chat: room,
  unknown: { chat: '!elsewhere:example.org', outcome: is.forbidden },
  malformedChats: ['ops', '@me:example.org', '!a b'],
  limit: { max: 60_000, unit: 'jsonBytes' },
  maxPieces: 10,
  resends: true,
  verifies: { kind: 'verified', as: '@ops:example.org' },
  limited: { ...matrixError(429, 'M_LIMIT_EXCEEDED'), headers: { 'retry-after': '2' } },
  recorded: [
    ['an unknown token', matrixError(401, 'M_UNKNOWN_TOKEN', { soft_logout: true }), is.auth],
    ['forbidden', matrixError(403, 'M_FORBIDDEN'), is.forbidden],
    ['not found', matrixError(404, 'M_NOT_FOUND'), is.notFound],
    ['too large', matrixError(413, 'M_TOO_LARGE'), is.tooLong],
    ['bad JSON', matrixError(400, 'M_BAD_JSON'), is.permanent],
    ['the old way to say how long', matrixError(429, 'M_LIMIT_EXCEEDED', { retry_after_ms: 5_000 }), is.waitMs(5_000)],
    ['its own failure', matrixError(500, 'M_UNKNOWN'), is.transient],
    ['an errcode of another program', matrixError(418, 'ORG.EXAMPLE_TEAPOT'), is.permanent],
  ],
  sends: ({ method }) => method === 'PUT',
  answer({ method, path, headers, json, text }, world) {
    if (headers.authorization !== `Bearer ${token}`) return matrixError(401, 'M_UNKNOWN_TOKEN');
    const api = '/_matrix/client/v3';
    if (path === `${api}/account/whoami`) return { status: 200, json: { user_id: '@ops:example.org', device_id: 'D' } };
    if (decodeURIComponent(path) === `${api}/directory/room/#ops:example.org`)
      return { status: 200, json: { room_id: room, servers: [] } };
    const [, place = '', txn] = new RegExp(`^${api}/rooms/([^/]+)/send/m\\.room\\.message/([\\w-]+)$`).exec(path) ?? [];
    if (method !== 'PUT' || txn === undefined) return matrixError(404, 'M_NOT_FOUND');
    if (decodeURIComponent(place) !== room) return matrixError(403, 'M_FORBIDDEN');
    if (!['m.text', 'm.notice'].includes(json.msgtype) || typeof json.body !== 'string')
      return matrixError(400, 'M_BAD_JSON');
    if (Buffer.byteLength(text) > 65_000) return matrixError(413, 'M_TOO_LARGE');
    const number = world.take({ place: room, text: json.body, thread: json['m.relates_to']?.event_id }, txn);
    return { status: 200, json: { event_id: `$event${number}` } };
  },
};
