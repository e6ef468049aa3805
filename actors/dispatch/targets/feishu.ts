/**
 * feishu: an app's bot in Feishu, or Lark outside China (`api_base: https://open.larksuite.com`). The platform
 * deduplicates a message by its `uuid` for an hour.
 * @see [Send a message](https://open.feishu.cn/document/server-docs/im-v1/message/create)
 * @see DLV-1 in docs/specification.md
 */

import { lookUp } from '../../../machines/base/json.ts';
import { withoutTags } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';
import { codes, wordOf } from './platform-target.ts';

const uuidLifetimeMs = 3_600_000;
const tokenCodes: ReadonlySet<unknown> = new Set([99991661, 99991663, 99991664, 99991665, 99991668, 99991671]);

export const feishu: Description = {
  name: 'feishu',
  base: 'https://open.feishu.cn',
  needs: ['app_id', 'app_secret'],
  // The request is limited to 150 KB, in which a character takes up to three bytes and a line end four.
  limit: { max: 30_000, unit: 'utf16' },
  maxPieces: 10,
  // A text message has mentions, four styles, and links that hide their address.
  inert: (text) => withoutTags(text, 'at\\b|[bius]>').replace(/\](?=\()/g, ']\u2060'),
  deduplicatesForMs: uuidLifetimeMs,
  places: { form: /^[\w.+@-]{2,128}$/, is: 'a chat’s id (oc_…), a user’s id (ou_…, on_…) or an address' },
  token: {
    call: ({ option }) => ({
      path: '/open-apis/auth/v3/tenant_access_token/internal',
      json: { app_id: option('app_id'), app_secret: option('app_secret') },
    }),
    issued: ({ code, tenant_access_token: token, expire }) => (code === 0 ? { token, seconds: expire } : undefined),
    isRefused: ({ code }) => tokenCodes.has(code),
  },
  headers: ({ token }) => ({ authorization: `Bearer ${token}` }),
  call({ chat, text, extra, key }) {
    const thread = wordOf(extra, 'thread_id');
    const replyTo = thread ?? wordOf(extra, 'reply_to');
    // The content is a string that contains JSON.
    const content = { msg_type: 'text', content: JSON.stringify({ text }), uuid: key };
    return replyTo === undefined
      ? {
          path: `/open-apis/im/v1/messages?receive_id_type=${kindOf(chat)}`,
          json: { receive_id: chat, ...content },
        }
      : {
          path: `/open-apis/im/v1/messages/${encodeURIComponent(replyTo)}/reply`,
          json: { ...content, reply_in_thread: thread !== undefined },
        };
  },
  // The HTTP status does not separate success from failure: a rate limit may be a 400, an error a 200.
  accepted: (_, json) => (json.code === 0 ? (lookUp(json, 'data.message_id') ?? true) : undefined),
  verify: {
    call: { path: '/open-apis/bot/v3/info' },
    account: (json) => (json.code === 0 ? (lookUp(json, 'bot.app_name') ?? '') : undefined),
    // The call counts towards the 10,000 a month of a free plan.
    oncePerToken: true,
  },
  code: ({ code }) => (typeof code === 'number' && code !== 0 ? code : undefined),
  meanings: {
    ...codes('auth', 10003, 10012, 10014, 10015),
    99991672: { refusal: 'forbidden', because: 'the app lacks the permission im:message:send_as_bot' },
    ...codes('rateLimited', 99991400, 11232, 11233, 230020),
    230002: { refusal: 'forbidden', because: 'the bot is not in the group; add it there' },
    230006: { refusal: 'forbidden', because: 'the app’s bot ability is not switched on' },
    230013: { refusal: 'forbidden', because: 'the user is outside the bot’s availability' },
    ...codes('forbidden', 230018, 230027, 230035, 230038),
    230053: { refusal: 'forbidden', because: 'the user has stopped messages of this bot' },
    ...codes('notFound', 230011, 230019, 230029, 230034, 230110),
    230025: 'tooLong',
    230049: 'unknown',
    // A wrapper around a cause that is given only as text.
    230099: 'permanent',
    99991401: { refusal: 'auth', because: 'the app takes requests from listed addresses only' },
  },
  hints: ({ headers }) => ({ seconds: headers.get('x-ogw-ratelimit-reset') }),
  otherwiseMs: 5_000,
};

/** By the prefix of the platform's ids. */
function kindOf(chat: string): string {
  if (chat.startsWith('oc_')) return 'chat_id';
  if (chat.startsWith('ou_')) return 'open_id';
  if (chat.startsWith('on_')) return 'union_id';
  return chat.includes('@') ? 'email' : 'user_id';
}
