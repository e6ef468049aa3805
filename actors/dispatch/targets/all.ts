/**
 * Every platform by name. `log` and `github_comment` are not platforms: they have no credentials here.
 * @see DLV-1 in docs/specification.md
 */

import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { createBluebubbles } from './bluebubbles.ts';
import { createDescribedTarget, type Description } from './described-target.ts';
import { createDingtalk } from './dingtalk.ts';
import { createDiscord } from './discord.ts';
import { createEmail, type MailPorts } from './email.ts';
import { createFeishu } from './feishu.ts';
import { giteaComment } from './gitea-comment.ts';
import { gitlabComment } from './gitlab-comment.ts';
import { googleChat } from './google-chat.ts';
import { createHomeAssistant } from './homeassistant.ts';
import { http } from './http.ts';
import { jira } from './jira.ts';
import { linear } from './linear.ts';
import { createMatrix } from './matrix.ts';
import { createMattermost } from './mattermost.ts';
import { ntfy } from './ntfy.ts';
import { pagerduty } from './pagerduty.ts';
import type { PlatformTarget } from './platform-target.ts';
import { createQqbot } from './qqbot.ts';
import { sentry } from './sentry.ts';
import { createSignal } from './signal.ts';
import { createSlack } from './slack.ts';
import { createSms } from './sms.ts';
import { teams } from './teams.ts';
import { createTelegram } from './telegram.ts';
import { createWecom } from './wecom.ts';
import { createWeixin } from './weixin.ts';
import { createWhatsapp } from './whatsapp.ts';

type CreateTarget = (settings: PlatformSettings, ports: MailPorts) => PlatformTarget;

/** Platforms whose API is one call. */
const descriptions: readonly Description[] = [
  gitlabComment,
  giteaComment,
  linear,
  jira,
  sentry,
  pagerduty,
  ntfy,
  teams,
  googleChat,
  http,
];

const creators: ReadonlyMap<string, CreateTarget> = new Map<string, CreateTarget>([
  ['telegram', createTelegram],
  ['discord', createDiscord],
  ['slack', createSlack],
  ['signal', createSignal],
  ['sms', createSms],
  ['whatsapp', createWhatsapp],
  ['matrix', createMatrix],
  ['mattermost', createMattermost],
  ['homeassistant', createHomeAssistant],
  ['email', createEmail],
  ['dingtalk', createDingtalk],
  ['feishu', createFeishu],
  ['wecom', createWecom],
  ['weixin', createWeixin],
  ['bluebubbles', createBluebubbles],
  ['qqbot', createQqbot],
  ...descriptions.map((description): [string, CreateTarget] => [
    description.name,
    (settings, ports) => createDescribedTarget(description, settings, ports),
  ]),
]);

export const platformNames: readonly string[] = [...creators.keys()];

/** Undefined if the name is not a platform's. With incomplete settings, the target's deliveries fail with the reason. */
export function createPlatformTarget(
  name: string,
  settings: PlatformSettings,
  ports: MailPorts,
): PlatformTarget | undefined {
  return creators.get(name)?.(settings, ports);
}
