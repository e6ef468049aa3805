/**
 * Every platform by name. `log` and `github_comment` are not platforms: they have no credentials here.
 * @see DLV-1 in docs/specification.md
 */

import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { bluebubbles } from './bluebubbles.ts';
import { createDescribedTarget, type Description } from './described-target.ts';
import { createDingtalk } from './dingtalk.ts';
import { discord } from './discord.ts';
import { createEmail } from './email.ts';
import { feishu } from './feishu.ts';
import { giteaComment } from './gitea-comment.ts';
import { gitlabComment } from './gitlab-comment.ts';
import { googleChat } from './google-chat.ts';
import { homeAssistant } from './homeassistant.ts';
import { http } from './http.ts';
import { jira } from './jira.ts';
import { line } from './line.ts';
import { linear } from './linear.ts';
import { matrix } from './matrix.ts';
import { mattermost } from './mattermost.ts';
import { ntfy } from './ntfy.ts';
import { pagerduty } from './pagerduty.ts';
import type { PlatformTarget, TargetPorts } from './platform-target.ts';
import { qqbot } from './qqbot.ts';
import { sentry } from './sentry.ts';
import { signal } from './signal.ts';
import { createSlack } from './slack.ts';
import { sms } from './sms.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';
import { createWecom } from './wecom.ts';
import { weixin } from './weixin.ts';
import { createWhatsapp } from './whatsapp.ts';

type CreateTarget = (settings: PlatformSettings, ports: TargetPorts) => PlatformTarget;

const described = (description: Description): [string, CreateTarget] => [
  description.name,
  (settings, ports) => createDescribedTarget(description, settings, ports),
];

const creators: ReadonlyMap<string, CreateTarget> = new Map<string, CreateTarget>([
  ...[telegram, discord].map(described),
  ['slack', createSlack],
  ...[signal, sms].map(described),
  ['whatsapp', createWhatsapp],
  ...[matrix, mattermost, homeAssistant].map(described),
  ['email', createEmail],
  ['dingtalk', createDingtalk],
  described(feishu),
  ['wecom', createWecom],
  ...[weixin, bluebubbles, qqbot].map(described),
  ...[gitlabComment, giteaComment, linear, jira, sentry, pagerduty, ntfy, teams, googleChat, line, http].map(described),
]);

/** Undefined if the name is not a platform's. With incomplete settings, the target's deliveries fail with the reason. */
export function createPlatformTarget(
  name: string,
  settings: PlatformSettings,
  ports: TargetPorts,
): PlatformTarget | undefined {
  return creators.get(name)?.(settings, ports);
}
