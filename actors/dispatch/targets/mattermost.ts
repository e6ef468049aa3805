/**
 * mattermost: a bot of a Mattermost server. The server deduplicates a post by its `pending_post_id`, for 30 seconds.
 * @see [Create a post](https://api.mattermost.com/#tag/posts/operation/CreatePost)
 * @see DLV-1 in docs/specification.md
 */

import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import { bearer, type Description } from './described-target.ts';
import { codes, wordOf } from './platform-target.ts';

const limit = { max: 16_383, unit: 'codePoints' } as const;
/** `pendingPostIDsCacheTTL` in the server's app/post.go. */
const pendingLifetimeMs = 30_000;

export const mattermost: Description = {
  name: 'mattermost',
  needs: ['api_base', 'token'],
  limit,
  maxPieces: 10,
  // The server ignores mentions in code.
  inert: (text) => withoutMentions(text, limit.max),
  deduplicatesForMs: pendingLifetimeMs,
  headers: bearer,
  call: ({ chat, text, extra, key }) => ({
    path: '/api/v4/posts',
    json: { channel_id: chat, message: text, pending_post_id: key, root_id: wordOf(extra, 'root_id', 'thread_id') },
  }),
  accepted: ({ status }, { id }) => (status === 201 && typeof id === 'string' ? id : undefined),
  verify: {
    call: { path: '/api/v4/users/me' },
    account: ({ id, username }) => (typeof id === 'string' ? (username ?? '') : undefined),
  },
  code: ({ id }, status) => (status < 300 ? undefined : id),
  meanings: {
    ...codes('auth', 'api.context.session_expired.app_error', 'api.context.invalid_token.app_error'),
    ...codes('forbidden', 'api.context.permissions.app_error', 'api.post.create_post.town_square_read_only'),
    'api.post.create_post.can_not_post_to_deleted.error': { refusal: 'forbidden', because: 'the channel is archived' },
    ...codes('notFound', 'app.channel.get.existing.app_error', 'store.sql_channel.get.existing.app_error'),
    'api.post.create_post.root_id.app_error': { refusal: 'notFound', because: 'the platform does not know the thread' },
    'api.post.create_post.channel_root_id.app_error': {
      refusal: 'notFound',
      because: 'the thread is in another channel',
    },
    ...codes('tooLong', 'model.post.is_valid.message_length.app_error', 'model.post.is_valid.msg.app_error'),
    // The same post is still being written.
    'api.post.deduplicate_create_post.pending': 'unknown',
  },
  // The body of a rate limit is plain text; the wait is in the server's own header, in seconds.
  hints: ({ headers }) => ({ seconds: headers.get('x-ratelimit-reset') }),
  otherwiseMs: 1_000,
};
