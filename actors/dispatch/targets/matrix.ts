/**
 * matrix: an account on a Matrix homeserver. Encrypted rooms get the text unencrypted. The homeserver deduplicates a
 * message by its transaction id, so a lost request is repeated.
 * @see [Client-Server API, PUT …/send](https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid)
 * @see DLV-1 in docs/specification.md
 */

import { type SendOutcome, transient } from '../../../machines/dispatch/send-outcome.ts';
import { bearer, type Context, type Description } from './described-target.ts';
import { codes, wordOf } from './platform-target.ts';

const api = '/_matrix/client/v3';
/** Homeservers do not document how long they keep transaction ids; none is known to keep them for less than this. */
const transactionLifetimeMs = 1_800_000;

export const matrix: Description = {
  name: 'matrix',
  needs: ['api_base', 'token'],
  // An event is limited to 65,536 bytes of JSON, including everything that the homeserver adds.
  limit: { max: 60_000, unit: 'jsonBytes' },
  maxPieces: 10,
  deduplicatesForMs: transactionLifetimeMs,
  headers: bearer,
  async call({ chat, text, extra, key }, context) {
    const room = chat.startsWith('!') ? chat : await roomOf(chat, context);
    if (typeof room !== 'string') return room;
    const thread = wordOf(extra, 'thread_id');
    return {
      method: 'PUT',
      path: `${api}/rooms/${encodeURIComponent(room)}/send/m.room.message/${key}`,
      json: {
        msgtype: context.option('msgtype') === 'm.notice' ? 'm.notice' : 'm.text',
        body: text,
        // An explicit list of mentions keeps clients from reading mentions in the text.
        'm.mentions': {},
        'm.relates_to': thread && {
          rel_type: 'm.thread',
          event_id: thread,
          is_falling_back: true,
          'm.in_reply_to': { event_id: thread },
        },
      },
    };
  },
  accepted: ({ status }, { event_id }) => (status === 200 && typeof event_id === 'string' ? event_id : undefined),
  verify: {
    call: { path: `${api}/account/whoami` },
    account: ({ user_id }) => (typeof user_id === 'string' ? user_id : undefined),
  },
  code: ({ errcode }, status) => (status < 300 ? undefined : errcode),
  meanings: {
    ...codes('auth', 'M_UNKNOWN_TOKEN', 'M_MISSING_TOKEN', 'M_USER_DEACTIVATED', 'M_USER_LOCKED', 'M_USER_SUSPENDED'),
    ...codes(
      'forbidden',
      'M_FORBIDDEN',
      'M_GUEST_ACCESS_FORBIDDEN',
      'M_CONSENT_NOT_GIVEN',
      'M_RESOURCE_LIMIT_EXCEEDED',
    ),
    M_NOT_FOUND: 'notFound',
    M_TOO_LARGE: 'tooLong',
    M_LIMIT_EXCEEDED: 'rateLimited',
  },
  hints: (_, { retry_after_ms }) => ({ milliseconds: retry_after_ms }),
};

async function roomOf(alias: string, { ask }: Context): Promise<string | SendOutcome> {
  const path = `${api}/directory/room/${encodeURIComponent(alias)}`;
  const found = await ask({ method: 'GET', path }, ({ status }, { room_id }) =>
    status === 200 && typeof room_id === 'string' ? room_id : undefined,
  );
  // Nothing was sent yet.
  return typeof found !== 'string' && found.kind === 'unknown' ? transient(found.reason) : found;
}
