/**
 * bluebubbles: a BlueBubbles server on a Mac. The password is in the query of every request. The server waits until the
 * message is in the Mac's own store, so a message that it reports as failed may have been sent.
 * @see [BlueBubbles server, messageRouter](https://github.com/BlueBubblesApp/bluebubbles-server)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, lookUp, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { deliveredAs, type SendOutcome, unknownOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
  wordOf,
  wrongPlace,
} from './platform-target.ts';

const chatForm = 'a chat’s guid such as iMessage;-;+15551234567, a number or an address';

export function createBluebubbles(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, '');
  const query = new URLSearchParams({ password: optionOf(settings, 'password') ?? '' });
  const method = optionOf(settings, 'method') === 'private-api' ? 'private-api' : 'apple-script';

  return createPieceTarget(
    {
      name: 'bluebubbles',
      limit: { most: 10_000, unit: 'utf16' },
      maxPieces: 10,
      problem: missing('bluebubbles', settings, 'api_base', 'password'),
      placeProblem: (chat) =>
        /^(?:(?:iMessage|SMS|RCS|any);[-+];\S{1,200}|\+\d{5,15}|[^\s;@]+@[^\s;@]+)$/.test(chat)
          ? undefined
          : wrongPlace(chat, chatForm),
      send({ chat, text, extra, key }, signal) {
        const replyTo = wordOf(extra, 'reply_to', 'thread_id');
        const json = {
          chatGuid: chat.includes(';') ? chat : `iMessage;-;${chat}`,
          tempGuid: key,
          message: text,
          // Replies need the private API.
          method: replyTo === undefined ? method : 'private-api',
          ...(replyTo === undefined ? {} : { selectedMessageGuid: replyTo }),
        };
        return client.ask({ method: 'POST', path: `/api/v1/message/text?${query}`, json }, signal, (answer) => {
          const body = answer.json;
          if (answer.status === 200 && isJsonObject(body) && body.status === 200)
            return deliveredAs(lookUp(body, 'data.guid'));
          return read(answer, ports.now());
        });
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: `/api/v1/ping?${query}` }, signal, (answer) =>
          answer.status === 200 && isJsonObject(answer.json) && answer.json.data === 'pong'
            ? ({ kind: 'verified' } as const)
            : read(answer, ports.now()),
        ),
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json } = answer;
  if (!isJsonObject(json) || !isJsonObject(json.error)) return readStatus(answer, { nowMs });
  // A proxy may answer 200 with the server's own status inside.
  const status = typeof json.status === 'number' ? json.status : answer.status;
  const said = saying(status);
  const words = `${scalarText(json.error.message)} ${scalarText(json.message)}`;
  if (status === 400 && /already queued/i.test(words))
    return unknownOutcome(`the server is sending this message (${said})`);
  if (/chat.{0,40}(?:not exist|not found)|no chat/i.test(words)) return refusedAs('notFound', said);
  if (status === 500 && json.error.type === 'iMessage Error') {
    // The answer contains the failed message if the Mac itself reported the failure.
    const failed = lookUp(json, 'data.error');
    return typeof failed === 'number' && failed !== 0
      ? refusedAs('permanent', `${said}, iMessage error ${failed}`)
      : unknownOutcome(`the server did not see the message go out (${said})`);
  }
  if (status >= 500) return unknownOutcome(`the server failed while it sent (${said})`);
  return readStatus({ ...answer, status }, { nowMs });
}
