/**
 * The names of the delivery targets: the platform's own name, and a neutral alias.
 * @see DLV-1 and DLV-5 in docs/specification.md
 */

import { meantOr } from './nearest.ts';

/** Each target by its platform's own name, with its neutral alias if there is one. */
export const targetNames: ReadonlyMap<string, string | undefined> = new Map([
  ['log', undefined],
  ['github_comment', 'codehost_comment'],
  ['telegram', 'messenger_a'],
  ['discord', 'community_chat'],
  ['slack', 'team_chat_a'],
  ['signal', 'secure_messenger'],
  ['sms', undefined],
  ['whatsapp', 'messenger_b'],
  ['matrix', 'federated_chat'],
  ['mattermost', 'team_chat_b'],
  ['homeassistant', 'home_automation'],
  ['email', undefined],
  ['dingtalk', 'workplace_chat_a'],
  ['feishu', 'workplace_chat_b'],
  ['wecom', 'workplace_chat_c'],
  ['weixin', 'workplace_chat_d'],
  ['bluebubbles', 'imessage_bridge'],
  ['qqbot', 'messenger_c'],
  ['gitlab_comment', undefined],
  ['gitea_comment', undefined],
  ['linear', undefined],
  ['jira', undefined],
  ['sentry', undefined],
  ['pagerduty', undefined],
  ['ntfy', undefined],
  ['teams', undefined],
  ['google_chat', undefined],
  ['http', undefined],
]);

const canonical: ReadonlyMap<string, string> = new Map(
  [...targetNames].flatMap(([name, alias]) => [
    [name, name] as const,
    ...(alias === undefined ? [] : [[alias, name] as const]),
  ]),
);

/** The platforms' own names, which are offered and shown. */
export const targetChoices: readonly string[] = [...targetNames.keys()];

/** The target for a name or alias; undefined if it is unknown. */
export function canonicalTarget(name: string): string | undefined {
  return canonical.get(name);
}

/** The remedy for an unknown target name. */
export function cureOfTarget(name: string): string {
  return meantOr(name, targetChoices, 'docs/deliveries.md lists the targets');
}
