/**
 * telegram: a bot of Telegram. The token is part of every path.
 * @see [Bot API, sendMessage](https://core.telegram.org/bots/api#sendmessage) and its response parameters
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import {
  deliveredAs,
  limitedInChat,
  refused,
  type SendOutcome,
  type Undelivered,
} from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  createClient,
  createPieceTarget,
  type Message,
  missing,
  optionOf,
  type PlatformTarget,
  rateLimited,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
  verifiedAs,
  wordOf,
} from './platform-target.ts';

const defaultBase = 'https://api.telegram.org';
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

export function createTelegram(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  // Escaped, so that a malformed token cannot change the path.
  const bot = `/bot${encodeURIComponent(optionOf(settings, 'token') ?? '').replaceAll('%3A', ':')}`;

  const post = (message: Message, body: JsonObject, signal: AbortSignal): Promise<SendOutcome> =>
    client.ask({ method: 'POST', path: `${bot}/sendMessage`, json: body }, signal, (answer) => {
      const { json } = answer;
      if (isJsonObject(json) && json.ok === true && isJsonObject(json.result))
        return deliveredAs(json.result.message_id);
      const moved =
        isJsonObject(json) && isJsonObject(json.parameters) ? json.parameters.migrate_to_chat_id : undefined;
      // A group that became a supergroup has a new id.
      if (moved !== undefined && body.chat_id !== moved) return post(message, { ...body, chat_id: moved }, signal);
      if (body.parse_mode !== undefined && answer.status === 400 && /can't parse entities/i.test(wordsOf(json))) {
        const { parse_mode: _, ...plain } = body;
        return post(message, plain, signal);
      }
      const outcome = read(answer, ports.now());
      const isOfGroup = String(body.chat_id).startsWith('-');
      return isOfGroup && outcome.kind === 'rateLimited' && outcome.retryAfterMs <= groupWindowMs
        ? limitedInChat(outcome)
        : outcome;
    });

  return createPieceTarget(
    {
      name: 'telegram',
      limit: { most: 4_096, unit: 'utf16' },
      maxPieces: 20,
      inert: (text) => withoutMentions(text).replace(userScheme, '$&\u2060'),
      problem: missing('telegram', settings, 'token'),
      send(message, signal) {
        const { chat, text, extra } = message;
        const thread = Number(wordOf(extra, 'message_thread_id', 'thread_id') ?? Number.NaN);
        const replyTo = Number(wordOf(extra, 'reply_to') ?? Number.NaN);
        const mode = wordOf(extra, 'parse_mode') ?? optionOf(settings, 'parse_mode');
        const body = {
          chat_id: chat,
          text,
          link_preview_options: { is_disabled: true },
          ...(Number.isSafeInteger(thread) ? { message_thread_id: thread } : {}),
          ...(Number.isSafeInteger(replyTo)
            ? { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }
            : {}),
          ...(mode === undefined ? {} : { parse_mode: mode }),
        };
        return post(message, body, signal);
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: `${bot}/getMe` }, signal, (answer) => {
          const { json } = answer;
          if (isJsonObject(json) && json.ok === true && isJsonObject(json.result))
            return verifiedAs(json.result.username);
          return read(answer, ports.now());
        }),
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): Undelivered {
  const { json } = answer;
  // Only Telegram itself sets `ok`; its own 404 means that no bot has this token.
  if (!isJsonObject(json) || json.ok !== false) return readStatus(answer, { nowMs });
  const code = typeof json.error_code === 'number' ? json.error_code : answer.status;
  const said = saying(code);
  const seconds = isJsonObject(json.parameters) ? json.parameters.retry_after : undefined;
  if (code === 429) return rateLimited(said, { header: answer.headers.get('retry-after'), seconds }, nowMs);
  if (code === 401 || code === 404) return refusedAs('auth', said);
  if (code === 403) return refusedAs('forbidden', said);
  if (code === 400) {
    const words = wordsOf(json);
    const known = badRequests.find(([pattern]) => pattern.test(words));
    return known === undefined ? refusedAs('permanent', said) : refusedAs(known[1], said);
  }
  return code >= 500 ? readStatus({ ...answer, status: code }, { nowMs }) : refused('permanent', `refused (${said})`);
}

function wordsOf(json: Json | undefined): string {
  return isJsonObject(json) && typeof json.description === 'string' ? json.description : '';
}
