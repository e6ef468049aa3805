/**
 * bluebubbles: a BlueBubbles server on a Mac. The password is in the query of every request. The server waits until the
 * message is in the Mac's own store, so a message that it reports as failed may have been sent.
 * @see [BlueBubbles server, messageRouter](https://github.com/BlueBubblesApp/bluebubbles-server)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, lookUp, scalarText } from '../../../machines/base/json.ts';
import { unknownOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { Context, Description } from './described-target.ts';
import { readStatus, refusedAs, saying, wordOf } from './platform-target.ts';

const queryOf = ({ option }: Context): URLSearchParams => new URLSearchParams({ password: option('password') });

export const bluebubbles: Description = {
  name: 'bluebubbles',
  needs: ['api_base', 'password'],
  limit: { max: 10_000, unit: 'utf16' },
  maxPieces: 10,
  places: {
    form: /^(?:(?:iMessage|SMS|RCS|any);[-+];\S{1,200}|\+\d{5,15}|[^\s;@]+@[^\s;@]+)$/,
    is: 'a chat’s guid such as iMessage;-;+15551234567, a number or an address',
  },
  call({ chat, text, extra, key }, context) {
    const replyTo = wordOf(extra, 'reply_to', 'thread_id');
    // Replies need the private API.
    const isPrivate = replyTo !== undefined || context.option('method') === 'private-api';
    return {
      path: `/api/v1/message/text?${queryOf(context)}`,
      json: {
        chatGuid: chat.includes(';') ? chat : `iMessage;-;${chat}`,
        tempGuid: key,
        message: text,
        method: isPrivate ? 'private-api' : 'apple-script',
        selectedMessageGuid: replyTo,
      },
    };
  },
  accepted: (answer, json) =>
    answer.status === 200 && json.status === 200 ? (lookUp(json, 'data.guid') ?? true) : undefined,
  verify: (context) =>
    context.ask({ method: 'GET', path: `/api/v1/ping?${queryOf(context)}` }, ({ status }, { data }) =>
      status === 200 && data === 'pong' ? ({ kind: 'verified' } as const) : undefined,
    ),
  judge(answer, json, { nowMs }) {
    if (!isJsonObject(json.error)) return undefined;
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
    return readStatus({ ...answer, status }, { nowMs: nowMs() });
  },
};
