/**
 * The delivery targets: their names and titles, what of `deliver_extra` each reads, and the form of its places.
 * @see DLV-1, DLV-2 and DLV-5 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { meantOr } from './nearest.ts';

interface Target {
  /** The platform's name for people. */
  readonly title: string;
  /** A neutral name that configurations may use too. */
  readonly alias?: string;
  /**
   * The keys of `deliver_extra` that it reads. Any other key has no effect: with `to` instead of `chat_id` a text goes to the
   * home channel. Absent: every key is accepted.
   */
  readonly extras?: readonly string[];
  /** The form of a `chat_id` or `home_channel`, if one pattern holds them all. */
  readonly place?: TargetPlace;
}

interface TargetPlace {
  readonly form: RegExp;
  /** The form in words, after "is". */
  readonly is: string;
}

export const mailAddress = /^[^\s<>(),;:"@\\[\]]{1,64}@[^\s<>(),;:"@\\[\]]{1,255}$/u;

const rows: Readonly<Record<string, Target>> = {
  log: { title: 'Log' },
  github_comment: { title: 'GitHub', alias: 'codehost_comment', extras: ['repo', 'pr_number', 'kind'] },
  telegram: {
    title: 'Telegram',
    alias: 'messenger_a',
    extras: ['chat_id', 'message_thread_id', 'thread_id', 'reply_to', 'parse_mode'],
    place: {
      form: /^(?:-?\d{1,20}|@[A-Za-z]\w{3,31})$/,
      is: 'a number, or @ and the name of a public channel or group',
    },
  },
  discord: {
    title: 'Discord',
    alias: 'community_chat',
    extras: ['chat_id', 'thread_id', 'reply_to'],
    place: { form: /^\d{15,21}$/, is: 'the number of a channel or a thread' },
  },
  slack: {
    title: 'Slack',
    alias: 'team_chat_a',
    extras: ['chat_id', 'thread_ts', 'thread_id'],
    place: {
      form: /^(?:[A-Z][A-Z0-9]{6,20}|#[^\s#]{1,80})$/u,
      is: 'a channel’s or user’s id such as C0123456789, or #name',
    },
  },
  signal: { title: 'Signal', alias: 'secure_messenger', extras: ['chat_id'] },
  sms: {
    title: 'SMS',
    extras: ['chat_id'],
    place: { form: /^\+[1-9]\d{5,14}$/, is: 'a number such as +15551234567' },
  },
  whatsapp: { title: 'WhatsApp', alias: 'messenger_b', extras: ['chat_id', 'reply_to', 'thread_id'] },
  matrix: {
    title: 'Matrix',
    alias: 'federated_chat',
    extras: ['chat_id', 'thread_id'],
    place: {
      form: /^(?:![^\s:]+(?::\S+)?|#[^\s:]+:\S+)$/,
      is: 'a room’s id such as !abc:example.org, or its alias such as #ops:example.org',
    },
  },
  mattermost: {
    title: 'Mattermost',
    alias: 'team_chat_b',
    extras: ['chat_id', 'root_id', 'thread_id'],
    place: { form: /^[a-z\d]{26}$/, is: 'a channel’s id of 26 letters and digits' },
  },
  homeassistant: {
    title: 'Home Assistant',
    alias: 'home_automation',
    extras: ['chat_id', 'title', 'subject'],
    place: {
      form: /^(?:notify\.)?[a-z\d_]{1,128}$/,
      is: 'persistent_notification, or the name of a notify service such as mobile_app_phone',
    },
  },
  email: {
    title: 'Email',
    extras: ['chat_id', 'subject', 'title', 'in_reply_to', 'thread_id'],
    place: { form: mailAddress, is: 'one address such as me@example.org' },
  },
  dingtalk: { title: 'DingTalk', alias: 'workplace_chat_a', extras: ['chat_id'] },
  feishu: { title: 'Feishu', alias: 'workplace_chat_b', extras: ['chat_id', 'thread_id', 'reply_to'] },
  wecom: { title: 'WeCom', alias: 'workplace_chat_c', extras: ['chat_id'] },
  weixin: { title: 'WeChat', alias: 'workplace_chat_d', extras: ['chat_id', 'context_token'] },
  bluebubbles: { title: 'BlueBubbles', alias: 'imessage_bridge', extras: ['chat_id', 'reply_to', 'thread_id'] },
  qqbot: { title: 'QQ', alias: 'messenger_c', extras: ['chat_id', 'msg_id', 'event_id'] },
  gitlab_comment: { title: 'GitLab', extras: ['chat_id', 'project', 'number', 'kind'] },
  gitea_comment: { title: 'Gitea', extras: ['chat_id', 'repo', 'number'] },
  linear: { title: 'Linear', extras: ['chat_id', 'issue'] },
  jira: { title: 'Jira', extras: ['chat_id', 'issue'] },
  sentry: { title: 'Sentry', extras: ['chat_id', 'issue'] },
  pagerduty: { title: 'PagerDuty', extras: ['chat_id', 'incident'] },
  ntfy: { title: 'ntfy', extras: ['chat_id', 'topic', 'title', 'priority'] },
  teams: { title: 'Microsoft Teams', extras: [] },
  google_chat: { title: 'Google Chat', extras: ['thread_key', 'thread_id'] },
  line: {
    title: 'LINE',
    extras: ['chat_id', 'quote_token'],
    place: { form: /^[UCR][\da-f]{32}$/, is: 'the id of a user (U…), group (C…) or room (R…)' },
  },
  http: { title: 'HTTP', extras: [] },
};

/** Each target by its platform's own name. */
export const targets: ReadonlyMap<string, Target> = new Map(Object.entries(rows));

const canonical: ReadonlyMap<string, string> = new Map(
  [...targets].flatMap(([name, { alias = name }]) => [
    [name, name],
    [alias, name],
  ]),
);

/** The platforms' own names, which are offered and shown. */
export const targetChoices: readonly string[] = [...targets.keys()];

/** The target for a name or alias; undefined if it is unknown. */
export function canonicalTarget(name: string): string | undefined {
  return canonical.get(name);
}

/** The remedy for an unknown target name. */
export function cureOfTarget(name: string): string {
  return meantOr(name, targetChoices, 'docs/deliveries.md lists the targets');
}

/** Returns the platform's name for people; an unknown name is returned unchanged. */
export function targetTitle(name: string): string {
  return targets.get(canonicalTarget(name) ?? '')?.title ?? name;
}

interface Addressed {
  readonly target: string;
  readonly chat?: string;
  readonly extra: JsonObject;
}

/** Returns the platform and place, such as "Slack #deploys" or "GitHub acme/web#481". */
export function placeWords({ target, chat, extra }: Addressed): string {
  const title = targetTitle(target);
  const { repo, pr_number: number } = extra;
  if (typeof repo === 'string' && number !== undefined) return `${title} ${repo}#${String(number)}`;
  const place = chat ?? extra.chat_id;
  return place === undefined || place === null || place === '' ? title : `${title} ${String(place)}`;
}
