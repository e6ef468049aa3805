/** A Mattermost server: 201 for a post, an id of many words for an error, plain text for a rate limit. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-mattermost-token';
const channel = 'a'.repeat(26);

export function mattermostError(status: number, id: string): FakeAnswer {
  return { status, json: { id, message: providerWords, detailed_error: '', request_id: 'r1', status_code: status } };
}

export const mattermostApi: PlatformFixture = {
  target: 'mattermost',
  options: { token },
  wrongOptions: { token: 'sec-revoked' },
  chat: channel,
  unknown: { chat: 'b'.repeat(26), outcome: is.forbidden },
  malformedChats: ['town-square', 'A'.repeat(26)],
  limit: { max: 16_383, unit: 'codePoints' },
  maxPieces: 10,
  resends: true,
  verifies: { kind: 'verified', as: 'ops' },
  limited: {
    status: 429,
    text: 'limit exceeded',
    headers: { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2' },
  },
  recorded: [
    ['an expired session', mattermostError(401, 'api.context.session_expired.app_error'), is.auth],
    ['no permission', mattermostError(403, 'api.context.permissions.app_error'), is.forbidden],
    ['an archived channel', mattermostError(400, 'api.post.create_post.can_not_post_to_deleted.error'), is.forbidden],
    ['an unknown channel', mattermostError(404, 'app.channel.get.existing.app_error'), is.notFound],
    ['an unknown thread', mattermostError(400, 'api.post.create_post.root_id.app_error'), is.notFound],
    ['too long', mattermostError(400, 'model.post.is_valid.message_length.app_error'), is.tooLong],
    ['another wrong request', mattermostError(400, 'api.context.invalid_body_param.app_error'), is.permanent],
    ['the same post is being written', mattermostError(500, 'api.post.deduplicate_create_post.pending'), is.unknown],
    ['its own failure', mattermostError(500, 'app.post.save.app_error'), is.transient],
  ],
  sends: ({ method, path }) => method === 'POST' && path === '/api/v4/posts',
  answer({ method, path, headers, json }, world) {
    if (headers.authorization !== `Bearer ${token}`)
      return mattermostError(401, 'api.context.session_expired.app_error');
    if (method === 'GET' && path === '/api/v4/users/me')
      return { status: 200, json: { id: 'u'.repeat(26), username: 'ops' } };
    if (method !== 'POST' || path !== '/api/v4/posts') return mattermostError(404, 'api.context.404.app_error');
    if (json.channel_id !== channel) return mattermostError(403, 'api.context.permissions.app_error');
    if ([...json.message].length > 16_383) return mattermostError(400, 'model.post.is_valid.message_length.app_error');
    const number = world.take({ place: channel, text: json.message, thread: json.root_id }, json.pending_post_id);
    return { status: 201, json: { id: `${number}`.padStart(26, 'p'), channel_id: channel, message: json.message } };
  },
};
