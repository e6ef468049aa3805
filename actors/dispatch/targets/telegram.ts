/**
 * telegram: a bot of Telegram. The token is part of every path.
 * @see [Bot API, sendMessage](https://core.telegram.org/bots/api#sendmessage) and its response parameters
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type JsonObject, objectAt, scalarText } from '../../../machines/base/json.ts';
import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import { limitedInChat, refused } from '../../../machines/dispatch/send-outcome.ts';
import type { Context, Description } from './described-target.ts';
import { optionOf, rateLimited, readStatus, refusedAs, saying, verifiedAs, wordOf } from './platform-target.ts';

/** A group takes 20 messages a minute. The pace keeps the other limits, so a wait of up to that is the group's. */
const groupWindowMs = 60_000;
/** A 400 has its reason only in the text. */
const badRequests: readonly (readonly [RegExp, Parameters<typeof refusedAs>[0]])[] = [
  [/chat not found|user not found|peer_id_invalid|chat_id is empty|thread not found|topic/i, 'notFound'],
  [/too long/i, 'tooLong'],
  [/not enough rights|no rights|write_forbidden|restricted|deactivated|blocked|kicked/i, 'forbidden'],
];

/**
 * The scheme of a link that mentions a user: `tg:user` or `tg://user`. `parse_mode` decodes entities and escapes in it, so
 * only a link that plainly leads elsewhere is left alone.
 */
const userScheme =
  /(?<![\p{L}\p{N}])(?:\\?t|&#0*(?:116|84);?|&#x0*[57]4;?)(?:\\?g|&#0*(?:103|71);?|&#x0*[46]7;?)(?=(?:\\?:|&#0*58;?|&#x0*3a;?)\S)(?!:\/{0,2}(?!user)[a-z]+[/?])/giu;

export const telegram: Description = {
  name: 'telegram',
  base: 'https://api.telegram.org',
  needs: ['token'],
  limit: { max: 4_096, unit: 'utf16' },
  maxPieces: 20,
  inert: (text) => withoutMentions(text).replace(userScheme, '$&\u2060'),
  call({ chat, text, extra }, context) {
    const thread = Number(wordOf(extra, 'message_thread_id', 'thread_id') ?? Number.NaN);
    const replyTo = Number(wordOf(extra, 'reply_to') ?? Number.NaN);
    const json = {
      chat_id: chat,
      text,
      link_preview_options: { is_disabled: true },
      message_thread_id: Number.isSafeInteger(thread) ? thread : undefined,
      reply_parameters: Number.isSafeInteger(replyTo)
        ? { message_id: replyTo, allow_sending_without_reply: true }
        : undefined,
      parse_mode: wordOf(extra, 'parse_mode') ?? optionOf(context.settings, 'parse_mode'),
    };
    return { path: `${botOf(context)}/sendMessage`, json };
  },
  accepted: (_, { ok, result }) => (ok === true && isJsonObject(result) ? (result.message_id ?? true) : undefined),
  verify: (context) =>
    context.ask({ method: 'GET', path: `${botOf(context)}/getMe` }, (_, { ok, result }) =>
      ok === true && isJsonObject(result) ? verifiedAs(result.username) : undefined,
    ),
  // `judge` reads Telegram's own limits. That of a proxy in front of it shows nothing about other chats.
  limitsChat: () => true,
  judge(answer, json, { call, chat, nowMs }) {
    const body = call.json as JsonObject | undefined;
    const { migrate_to_chat_id: moved, retry_after: seconds } = objectAt(json, 'parameters');
    // A group that became a supergroup has a new id.
    if (body !== undefined && moved !== undefined && body.chat_id !== moved)
      return { ...call, json: { ...body, chat_id: moved } };
    const words = scalarText(json.description);
    if (body?.parse_mode !== undefined && answer.status === 400 && /can't parse entities/i.test(words))
      return { ...call, json: { ...body, parse_mode: undefined } };
    // Only Telegram itself sets `ok`; its own 404 means that no bot has this token.
    if (json.ok !== false) return undefined;
    const code = typeof json.error_code === 'number' ? json.error_code : answer.status;
    const said = saying(code);
    if (code === 429) {
      const limit = rateLimited(said, { header: answer.headers.get('retry-after'), seconds }, nowMs());
      const isOfGroup = chat.startsWith('-') && limit.kind === 'rateLimited' && limit.retryAfterMs <= groupWindowMs;
      return isOfGroup ? limitedInChat(limit) : limit;
    }
    if (code === 401 || code === 404) return refusedAs('auth', said);
    if (code === 403) return refusedAs('forbidden', said);
    if (code === 400) return refusedAs(badRequests.find(([pattern]) => pattern.test(words))?.[1] ?? 'permanent', said);
    return code >= 500
      ? readStatus({ ...answer, status: code }, { nowMs: nowMs() })
      : refused('permanent', `refused (${said})`);
  },
};

/** Escaped, so that a malformed token cannot change the path. */
function botOf({ option }: Context): string {
  return `/bot${encodeURIComponent(option('token')).replaceAll('%3A', ':')}`;
}
