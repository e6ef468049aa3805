/**
 * Posts to a space of Google Chat through its webhook URL. The platform deduplicates a message by its `requestId`. In a
 * text only angle brackets create mentions or hide a URL, so they are defused.
 * @see [spaces.messages.create](https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create)
 * @see [Format messages](https://developers.google.com/workspace/chat/format-messages)
 * @see DLV-1 in docs/specification.md
 */

import { objectAt } from '../../../machines/base/json.ts';
import { withSingleStars } from '../../../machines/dispatch/chat-markup.ts';
import { withoutTags } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';
import { codes, wordOf } from './platform-target.ts';

export const googleChat: Description = {
  name: 'google_chat',
  needs: ['url'],
  // The limit is 32,000 bytes per message, with the thread and the JSON around both.
  limit: { max: 27_000, unit: 'jsonBytes' },
  maxPieces: 10,
  // The platform does not document how long it remembers a request.
  deduplicatesForMs: 120_000,
  inert: (text) => withoutTags(withSingleStars(text), 'users/|[a-z][a-z+.-]*:'),
  places: { only: 'the space of the webhook' },
  call({ text, extra, key }) {
    const threadKey = wordOf(extra, 'thread_key', 'thread_id')?.slice(0, 4_000);
    const reply = threadKey === undefined ? '' : '&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD';
    return {
      path: `requestId=${encodeURIComponent(key)}${reply}`,
      json: { text, thread: threadKey && { threadKey } },
    };
  },
  accepted: ({ status }, { name }) => (status === 200 && typeof name === 'string' ? name : undefined),
  verify: { unverifiable: 'the address of a webhook shows with the first message whether it is good' },
  code: (json) => objectAt(json, 'error').status,
  meanings: {
    UNAUTHENTICATED: 'auth',
    PERMISSION_DENIED: 'forbidden',
    NOT_FOUND: 'notFound',
    RESOURCE_EXHAUSTED: 'rateLimited',
    UNAVAILABLE: 'transient',
    ...codes('unknown', 'INTERNAL', 'DEADLINE_EXCEEDED'),
  },
};
