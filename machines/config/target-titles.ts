/**
 * The names of the delivery targets for people: "Slack", not `slack`.
 * @see DLV-1 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { canonicalTarget } from './targets.ts';

const titles: ReadonlyMap<string, string> = new Map([
  ['log', 'Log'],
  ['github_comment', 'GitHub'],
  ['telegram', 'Telegram'],
  ['discord', 'Discord'],
  ['slack', 'Slack'],
  ['signal', 'Signal'],
  ['sms', 'SMS'],
  ['whatsapp', 'WhatsApp'],
  ['matrix', 'Matrix'],
  ['mattermost', 'Mattermost'],
  ['homeassistant', 'Home Assistant'],
  ['email', 'Email'],
  ['dingtalk', 'DingTalk'],
  ['feishu', 'Feishu'],
  ['wecom', 'WeCom'],
  ['weixin', 'WeChat'],
  ['bluebubbles', 'BlueBubbles'],
  ['qqbot', 'QQ'],
  ['gitlab_comment', 'GitLab'],
  ['gitea_comment', 'Gitea'],
  ['linear', 'Linear'],
  ['jira', 'Jira'],
  ['sentry', 'Sentry'],
  ['pagerduty', 'PagerDuty'],
  ['ntfy', 'ntfy'],
  ['teams', 'Microsoft Teams'],
  ['google_chat', 'Google Chat'],
  ['http', 'HTTP'],
]);

/** Returns the platform's name for people; an unknown name is returned unchanged. */
export function targetTitle(name: string): string {
  return titles.get(canonicalTarget(name) ?? name) ?? name;
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
