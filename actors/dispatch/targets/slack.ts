/**
 * slack: a bot of Slack, or an incoming webhook, which posts to its one channel. A bot's calls are answered with HTTP 200
 * except for rate limits; `ok` shows the outcome. A webhook answers `ok`, or an error's name with its status. Special mentions
 * in the text are escaped, because it may come from third parties.
 * @see [chat.postMessage](https://docs.slack.dev/reference/methods/chat.postMessage)
 * @see [incoming webhooks](https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks)
 * @see DLV-1 in docs/specification.md
 */

import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withSingleStars } from '../../../machines/dispatch/chat-markup.ts';
import { withEntities } from '../../../machines/dispatch/inert-text.ts';
import { bearer, createDescribedTarget, type Description } from './described-target.ts';
import { codes, optionOf, type PlatformTarget, readCode, type TargetPorts, wordOf } from './platform-target.ts';

/** The three characters that Slack escapes in the texts of its events, which agents quote: escaped again, `&` is `&amp;`. */
const escaped: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };

const bot: Description = {
  name: 'slack',
  base: 'https://slack.com/api',
  needs: ['token'],
  limit: { max: 4_000, unit: 'entities' },
  maxPieces: 20,
  inert: (text) => withSingleStars(text.replace(/&(?:amp|lt|gt);/g, (entity) => escaped[entity] ?? entity)),
  headers: bearer,
  call: ({ chat, text, extra }) => ({
    path: '/chat.postMessage',
    json: {
      channel: chat,
      // Mentions, links and channels begin with `<`.
      text: withEntities(text),
      mrkdwn: true,
      unfurl_links: false,
      unfurl_media: false,
      thread_ts: wordOf(extra, 'thread_ts', 'thread_id'),
    },
  }),
  accepted: ({ status }, { ok, ts }) => (status === 200 && ok === true ? (ts ?? true) : undefined),
  verify: {
    call: { method: 'POST', path: '/auth.test', form: {} },
    account: ({ ok, user }) => (ok === true ? (user ?? '') : undefined),
  },
  code: ({ ok, error }) => (ok === false ? (error ?? '') : undefined),
  meanings: {
    ...codes(
      'auth',
      'not_authed',
      'invalid_auth',
      'account_inactive',
      'token_revoked',
      'token_expired',
      'org_login_required',
      'ekm_access_denied',
      'access_denied',
      'accesslimited',
      'team_access_not_granted',
      'enterprise_is_restricted',
      'two_factor_setup_required',
      'not_allowed_token_type',
    ),
    missing_scope: { refusal: 'forbidden', because: 'the bot lacks the scope chat:write' },
    ...codes(
      'forbidden',
      'no_permission',
      'restricted_action',
      'restricted_action_read_only_channel',
      'restricted_action_thread_only_channel',
      'restricted_action_non_threadable_channel',
      'restricted_action_thread_locked',
      'cannot_reply_to_message',
    ),
    not_in_channel: { refusal: 'forbidden', because: 'the bot is not in the channel; invite it there' },
    is_archived: { refusal: 'forbidden', because: 'the channel is archived' },
    ...codes('notFound', 'channel_not_found', 'user_not_found', 'messages_tab_disabled'),
    ...codes('tooLong', 'msg_too_long', 'msg_blocks_too_long'),
    ...codes('rateLimited', 'ratelimited', 'rate_limited', 'message_limit_exceeded'),
    ...codes('transient', 'service_unavailable', 'team_added_to_org', 'request_timeout'),
    // Slack documents for these two that a part may have been done.
    internal_error: 'unknown',
    fatal_error: 'unknown',
  },
};

const webhook: Description = {
  ...bot,
  base: '',
  needs: ['url'],
  places: { only: 'the channel of the webhook' },
  headers: () => ({}),
  call: ({ text }) => ({ path: '', json: { text: withEntities(text), unfurl_links: false, unfurl_media: false } }),
  accepted: ({ status, text }) => (status === 200 && text.trim() === 'ok' ? true : undefined),
  verify: { unverifiable: 'the address of a webhook shows with the first message whether it is good' },
  judge: (answer, _, { nowMs }) =>
    /^[a-z_]{2,60}$/.test(answer.text)
      ? readCode(answer, { code: answer.text, meanings: webhookMeanings, nowMs: nowMs() })
      : undefined,
};

const webhookMeanings: Description['meanings'] & object = {
  ...bot.meanings,
  no_service: { refusal: 'notFound', because: 'the webhook was removed or its app disabled' },
  no_team: 'notFound',
  ...codes('auth', 'team_disabled', 'invalid_token'),
  ...codes('forbidden', 'action_prohibited', 'posting_to_general_channel_denied'),
  channel_is_archived: { refusal: 'forbidden', because: 'the channel is archived' },
  rollup_error: 'unknown',
};

/** A `url` replaces the address of every call, so beside a token it is the webhook that counts. */
export function createSlack(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  return createDescribedTarget(optionOf(settings, 'url') === undefined ? bot : webhook, settings, ports);
}
