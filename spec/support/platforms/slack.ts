/** Slack's Web API: HTTP 200 with `ok: false` for nearly everything that goes wrong. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-xoxb-1-2-three';
const channel = 'C0123456789';

export function slackError(error: string): FakeAnswer {
  return { status: 200, json: { ok: false, error, response_metadata: { messages: [providerWords] } } };
}

export const slackApi: PlatformFixture = {
  target: 'slack',
  options: { token },
  wrongOptions: { token: 'sec-xoxb-revoked' },
  chat: channel,
  unknown: { chat: 'C0000000000', outcome: is.notFound },
  malformedChats: ['general', '# general', 'c0123456789'],
  limit: { max: 4_000, unit: 'entities' },
  maxPieces: 20,
  verifies: { kind: 'verified', as: 'ops' },
  limited: { status: 429, headers: { 'retry-after': '2' }, json: { ok: false, error: 'ratelimited' } },
  recorded: [
    ['invalid_auth with HTTP 200', slackError('invalid_auth'), is.auth],
    ['token_revoked with HTTP 200', slackError('token_revoked'), is.auth],
    ['channel_not_found with HTTP 200', slackError('channel_not_found'), is.notFound],
    ['not_in_channel with HTTP 200', slackError('not_in_channel'), { ...is.forbidden, reason: /invite/ }],
    ['is_archived with HTTP 200', slackError('is_archived'), is.forbidden],
    ['missing_scope with HTTP 200', slackError('missing_scope'), is.forbidden],
    ['msg_too_long with HTTP 200', slackError('msg_too_long'), is.tooLong],
    ['an error of next year', slackError('brand_new_error'), is.permanent],
    ['an error that is no code', slackError(`${providerWords} and words`), is.permanent],
    [
      'ratelimited with HTTP 200',
      { ...slackError('ratelimited'), headers: { 'retry-after': '30' } },
      is.waitMs(30_000),
    ],
    ['ratelimited without a wait', slackError('ratelimited'), is.waitMs(30_000)],
    ['message_limit_exceeded: the team sends too much', slackError('message_limit_exceeded'), is.waitMs(30_000)],
    ['team_access_not_granted with HTTP 200', slackError('team_access_not_granted'), is.auth],
    ['service_unavailable', slackError('service_unavailable'), is.transient],
    [
      'service_unavailable with a wait',
      { ...slackError('service_unavailable'), headers: { 'retry-after': '30' } },
      { ...is.transient, notBeforeMs: 30_000 },
    ],
    ['fatal_error: some of it may be done', slackError('fatal_error'), is.unknown],
    ['internal_error: some of it may be done', slackError('internal_error'), is.unknown],
  ],
  sends: ({ path }) => path === '/chat.postMessage',
  answer({ path, headers, json }, world) {
    if (headers.authorization !== `Bearer ${token}`) return slackError('invalid_auth');
    if (path === '/auth.test') return { status: 200, json: { ok: true, user: 'ops', team: 'T', user_id: 'U1' } };
    if (path !== '/chat.postMessage') return slackError('unknown_method');
    if (json.channel !== channel) return slackError('channel_not_found');
    if (typeof json.text !== 'string' || json.text === '') return slackError('no_text');
    if (json.text.length > 40_000) return slackError('msg_too_long');
    const text = json.text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
    const number = world.take({ place: json.channel, text, thread: json.thread_ts });
    return { status: 200, json: { ok: true, channel, ts: `1762171200.00000${number}` } };
  },
};

const webhookUrl = 'https://hooks.example/services/T0/B0/sec-XXX';

/** An incoming webhook answers in plain words. */
export const slackWebhook: PlatformFixture = {
  target: 'slack',
  variant: 'webhook',
  options: { url: webhookUrl },
  wrongOptions: { url: webhookUrl.replace('XXX', 'YYY') },
  place: 'channel',
  limit: { max: 4_000, unit: 'entities' },
  maxPieces: 20,
  verifies: { kind: 'unverifiable' },
  limited: { status: 429, headers: { 'retry-after': '2' }, text: 'rate_limited' },
  recorded: [
    ['removed', { status: 404, text: 'no_service' }, { ...is.notFound, reason: /removed/ }],
    ['archived', { status: 410, text: 'channel_is_archived' }, is.forbidden],
    ['prohibited', { status: 403, text: 'action_prohibited' }, is.forbidden],
    ['the text is missing', { status: 400, text: 'no_text' }, is.permanent],
    ['some of it may be done', { status: 500, text: 'rollup_error' }, is.unknown],
    ['a page of a proxy', { status: 502, text: '<html>Bad Gateway</html>' }, is.transient],
  ],
  sends: () => true,
  answer({ path, json }, world) {
    if (path !== '/services/T0/B0/sec-XXX') return { status: 403, text: 'invalid_token' };
    if (typeof json.text !== 'string' || json.text === '') return { status: 400, text: 'no_text' };
    const text = json.text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
    world.take({ place: 'channel', text });
    return { status: 200, text: 'ok' };
  },
};
