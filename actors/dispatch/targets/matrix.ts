/**
 * matrix: an account on a Matrix homeserver. Encrypted rooms get the text unencrypted. The homeserver deduplicates a
 * message by its transaction id, so a lost request is repeated.
 * @see [Client-Server API, PUT …/send](https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { deliveredAs, type SendOutcome, transient } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  readCode,
  readStatus,
  type TargetPorts,
  verifiedAs,
  wordOf,
} from './platform-target.ts';

const api = '/_matrix/client/v3';
/** Homeservers do not document how long they keep transaction ids; none is known to keep them for less than this. */
const transactionLifetimeMs = 1_800_000;

const meanings: Readonly<Record<string, CodeMeaning>> = {
  M_UNKNOWN_TOKEN: 'auth',
  M_MISSING_TOKEN: 'auth',
  M_USER_DEACTIVATED: 'auth',
  M_USER_LOCKED: 'auth',
  M_USER_SUSPENDED: 'auth',
  M_FORBIDDEN: 'forbidden',
  M_GUEST_ACCESS_FORBIDDEN: 'forbidden',
  M_CONSENT_NOT_GIVEN: 'forbidden',
  M_RESOURCE_LIMIT_EXCEEDED: 'forbidden',
  M_NOT_FOUND: 'notFound',
  M_TOO_LARGE: 'tooLong',
  M_LIMIT_EXCEEDED: 'rateLimited',
};

export function createMatrix(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, '');
  const headers = { authorization: `Bearer ${optionOf(settings, 'token') ?? ''}` };
  const msgtype = optionOf(settings, 'msgtype') === 'm.notice' ? 'm.notice' : 'm.text';

  const roomOf = async (chat: string, signal: AbortSignal): Promise<string | SendOutcome> => {
    if (chat.startsWith('!')) return chat;
    const path = `${api}/directory/room/${encodeURIComponent(chat)}`;
    const found = await client.ask({ method: 'GET', path, headers }, signal, (answer) => {
      const { json, status } = answer;
      return status === 200 && isJsonObject(json) && typeof json.room_id === 'string'
        ? json.room_id
        : read(answer, ports.now());
    });
    // Only the room alias was looked up; nothing was sent yet.
    return typeof found !== 'string' && found.kind === 'unknown' ? transient(found.reason) : found;
  };

  return createPieceTarget(
    {
      name: 'matrix',
      // An event is limited to 65,536 bytes of JSON, including everything that the homeserver adds.
      limit: { most: 60_000, unit: 'jsonBytes' },
      maxPieces: 10,
      deduplicatesForMs: transactionLifetimeMs,
      problem: missing('matrix', settings, 'api_base', 'token'),
      async send({ chat, text, extra, key }, signal) {
        const room = await roomOf(chat, signal);
        if (typeof room !== 'string') return room;
        const thread = wordOf(extra, 'thread_id');
        const body = {
          msgtype,
          body: text,
          // An explicit list of mentions keeps clients from reading mentions in the text.
          'm.mentions': {},
          ...(thread === undefined
            ? {}
            : {
                'm.relates_to': {
                  rel_type: 'm.thread',
                  event_id: thread,
                  is_falling_back: true,
                  'm.in_reply_to': { event_id: thread },
                },
              }),
        };
        const path = `${api}/rooms/${encodeURIComponent(room)}/send/m.room.message/${key}`;
        return client.ask({ method: 'PUT', path, headers, json: body }, signal, (answer) => {
          const { json, status } = answer;
          if (status === 200 && isJsonObject(json) && typeof json.event_id === 'string')
            return deliveredAs(json.event_id);
          return read(answer, ports.now());
        });
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: `${api}/account/whoami`, headers }, signal, (answer) =>
          answer.status === 200 && isJsonObject(answer.json) && typeof answer.json.user_id === 'string'
            ? verifiedAs(answer.json.user_id)
            : read(answer, ports.now()),
        ),
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json, status } = answer;
  if (!isJsonObject(json) || typeof json.errcode !== 'string' || status < 300) return readStatus(answer, { nowMs });
  return readCode(answer, { code: json.errcode, meanings, nowMs, hints: { milliseconds: json.retry_after_ms } });
}
