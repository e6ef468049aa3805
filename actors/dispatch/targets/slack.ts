/**
 * slack: a bot of Slack. Slack answers with HTTP 200 except for rate limits; `ok` shows the outcome. Special mentions in
 * the text are escaped, because it may come from third parties.
 * @see [chat.postMessage](https://docs.slack.dev/reference/methods/chat.postMessage)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withEntities } from '../../../machines/dispatch/inert-text.ts';
import { deliveredAs, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  readCode,
  readStatus,
  type TargetPorts,
  verifiedAs,
  wordOf,
} from './platform-target.ts';

const defaultBase = 'https://slack.com/api';

const meanings: Readonly<Record<string, CodeMeaning>> = {
  not_authed: 'auth',
  invalid_auth: 'auth',
  account_inactive: 'auth',
  token_revoked: 'auth',
  token_expired: 'auth',
  org_login_required: 'auth',
  ekm_access_denied: 'auth',
  access_denied: 'auth',
  enterprise_is_restricted: 'auth',
  two_factor_setup_required: 'auth',
  not_allowed_token_type: 'auth',
  missing_scope: { refusal: 'forbidden', because: 'the bot lacks the scope chat:write' },
  no_permission: 'forbidden',
  not_in_channel: { refusal: 'forbidden', because: 'the bot is not in the channel; invite it there' },
  is_archived: { refusal: 'forbidden', because: 'the channel is archived' },
  restricted_action: 'forbidden',
  restricted_action_read_only_channel: 'forbidden',
  restricted_action_thread_only_channel: 'forbidden',
  restricted_action_non_threadable_channel: 'forbidden',
  restricted_action_thread_locked: 'forbidden',
  cannot_reply_to_message: 'forbidden',
  channel_not_found: 'notFound',
  user_not_found: 'notFound',
  messages_tab_disabled: 'notFound',
  msg_too_long: 'tooLong',
  msg_blocks_too_long: 'tooLong',
  ratelimited: 'rateLimited',
  rate_limited: 'rateLimited',
  service_unavailable: 'transient',
  team_added_to_org: 'transient',
  request_timeout: 'transient',
  // Slack documents for these two that a part may have been done.
  internal_error: 'unknown',
  fatal_error: 'unknown',
};

export function createSlack(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  const headers = { authorization: `Bearer ${optionOf(settings, 'token') ?? ''}` };

  return createPieceTarget(
    {
      name: 'slack',
      limit: { most: 4_000, unit: 'entities' },
      maxPieces: 20,
      problem: missing('slack', settings, 'token'),
      send({ chat, text, extra }, signal) {
        const thread = wordOf(extra, 'thread_ts', 'thread_id');
        const body = {
          channel: chat,
          // Mentions, links and channels begin with `<`.
          text: withEntities(text),
          mrkdwn: true,
          unfurl_links: false,
          unfurl_media: false,
          ...(thread === undefined ? {} : { thread_ts: thread }),
        };
        return client.ask({ method: 'POST', path: '/chat.postMessage', headers, json: body }, signal, (answer) => {
          const { json, status } = answer;
          if (status === 200 && isJsonObject(json) && json.ok === true) return deliveredAs(json.ts);
          return read(answer, ports.now());
        });
      },
      verify: (signal) =>
        client.ask({ method: 'POST', path: '/auth.test', headers, form: {} }, signal, (answer) =>
          answer.status === 200 && isJsonObject(answer.json) && answer.json.ok === true
            ? verifiedAs(answer.json.user)
            : read(answer, ports.now()),
        ),
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json } = answer;
  if (!isJsonObject(json) || json.ok !== false) return readStatus(answer, { nowMs });
  return readCode(answer, { code: json.error, meanings, nowMs });
}
