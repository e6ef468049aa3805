/**
 * The keys of `deliver_extra` that each target reads. A key that its target does not read has no effect: with `to` instead of
 * `chat_id` a text goes to the home channel.
 * @see DLV-1 and DLV-2 in docs/specification.md
 */

export const targetExtras: ReadonlyMap<string, readonly string[]> = new Map([
  ['github_comment', ['repo', 'pr_number', 'kind']],
  ['telegram', ['chat_id', 'message_thread_id', 'thread_id', 'reply_to', 'parse_mode']],
  ['discord', ['chat_id', 'thread_id', 'reply_to']],
  ['slack', ['chat_id', 'thread_ts', 'thread_id']],
  ['signal', ['chat_id']],
  ['sms', ['chat_id']],
  ['whatsapp', ['chat_id', 'reply_to', 'thread_id']],
  ['matrix', ['chat_id', 'thread_id']],
  ['mattermost', ['chat_id', 'root_id', 'thread_id']],
  ['homeassistant', ['chat_id', 'title', 'subject']],
  ['email', ['chat_id', 'subject', 'title', 'in_reply_to', 'thread_id']],
  ['dingtalk', ['chat_id']],
  ['feishu', ['chat_id', 'thread_id', 'reply_to']],
  ['wecom', ['chat_id']],
  ['weixin', ['chat_id', 'context_token']],
  ['bluebubbles', ['chat_id', 'reply_to', 'thread_id']],
  ['qqbot', ['chat_id', 'msg_id', 'event_id']],
  ['gitlab_comment', ['chat_id', 'project', 'number', 'kind']],
  ['gitea_comment', ['chat_id', 'repo', 'number']],
  ['linear', ['chat_id', 'issue']],
  ['jira', ['chat_id', 'issue']],
  ['sentry', ['chat_id', 'issue']],
  ['pagerduty', ['chat_id', 'incident']],
  ['ntfy', ['chat_id', 'topic', 'title', 'priority']],
  ['teams', []],
  ['google_chat', ['thread_key', 'thread_id']],
  ['http', []],
]);
