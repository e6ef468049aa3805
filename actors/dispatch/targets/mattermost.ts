/**
 * mattermost: a bot of a Mattermost server. The server deduplicates a post by its `pending_post_id`, for 30 seconds.
 * @see [Create a post](https://api.mattermost.com/#tag/posts/operation/CreatePost)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import { deliveredAs, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  rateLimited,
  readCode,
  readStatus,
  saying,
  type TargetPorts,
  verifiedAs,
  wordOf,
} from './platform-target.ts';

const limit = { most: 16_383, unit: 'codePoints' } as const;
/** `pendingPostIDsCacheTTL` in the server's app/post.go. */
const pendingLifetimeMs = 30_000;

const meanings: Readonly<Record<string, CodeMeaning>> = {
  'api.context.session_expired.app_error': 'auth',
  'api.context.invalid_token.app_error': 'auth',
  'api.context.permissions.app_error': 'forbidden',
  'api.post.create_post.can_not_post_to_deleted.error': { refusal: 'forbidden', because: 'the channel is archived' },
  'api.post.create_post.town_square_read_only': 'forbidden',
  'app.channel.get.existing.app_error': 'notFound',
  'store.sql_channel.get.existing.app_error': 'notFound',
  'api.post.create_post.root_id.app_error': { refusal: 'notFound', because: 'the platform does not know the thread' },
  'api.post.create_post.channel_root_id.app_error': {
    refusal: 'notFound',
    because: 'the thread is in another channel',
  },
  'model.post.is_valid.message_length.app_error': 'tooLong',
  'model.post.is_valid.msg.app_error': 'tooLong',
  // The same post is still being written.
  'api.post.deduplicate_create_post.pending': 'unknown',
};

export function createMattermost(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, '');
  const headers = { authorization: `Bearer ${optionOf(settings, 'token') ?? ''}` };

  return createPieceTarget(
    {
      name: 'mattermost',
      limit,
      maxPieces: 10,
      // The server ignores mentions in code.
      inert: (text) => withoutMentions(text, limit.most),
      deduplicatesForMs: pendingLifetimeMs,
      problem: missing('mattermost', settings, 'api_base', 'token'),
      send({ chat, text, extra, key }, signal) {
        const root = wordOf(extra, 'root_id', 'thread_id');
        const body = {
          channel_id: chat,
          message: text,
          pending_post_id: key,
          ...(root === undefined ? {} : { root_id: root }),
        };
        return client.ask({ method: 'POST', path: '/api/v4/posts', headers, json: body }, signal, (answer) => {
          const { json, status } = answer;
          if (status === 201 && isJsonObject(json) && typeof json.id === 'string') return deliveredAs(json.id);
          return read(answer, ports.now());
        });
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: '/api/v4/users/me', headers }, signal, (answer) =>
          answer.status === 200 && isJsonObject(answer.json) && typeof answer.json.id === 'string'
            ? verifiedAs(answer.json.username)
            : read(answer, ports.now()),
        ),
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json, status, headers } = answer;
  if (status === 429) {
    // The body is plain text; the wait is in the server's own header, in seconds.
    const hints = { header: headers.get('retry-after'), seconds: headers.get('x-ratelimit-reset') };
    return rateLimited(saying(status), hints, nowMs, 1_000);
  }
  if (!isJsonObject(json) || typeof json.id !== 'string' || status < 300) return readStatus(answer, { nowMs });
  return readCode(answer, { code: json.id, meanings, nowMs });
}
