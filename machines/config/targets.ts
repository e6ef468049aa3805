/**
 * The names of the delivery targets: the neutral name, and the platform's own that means the same. Knows no wire.
 * @see DLV-1 and DLV-5 in docs/specification.md
 */

import { meantOr } from './nearest.ts';

/** Each target by its neutral name, with its platform's own name where it has another. */
export const targetNames: ReadonlyMap<string, string | undefined> = new Map([
  ['log', undefined],
  ['codehost_comment', 'github_comment'],
  ['messenger_a', 'telegram'],
  ['community_chat', 'discord'],
  ['team_chat_a', 'slack'],
  ['secure_messenger', 'signal'],
  ['sms', undefined],
  ['messenger_b', 'whatsapp'],
  ['federated_chat', 'matrix'],
  ['team_chat_b', 'mattermost'],
  ['home_automation', 'homeassistant'],
  ['email', undefined],
  ['workplace_chat_a', 'dingtalk'],
  ['workplace_chat_b', 'feishu'],
  ['workplace_chat_c', 'wecom'],
  ['workplace_chat_d', 'weixin'],
  ['imessage_bridge', 'bluebubbles'],
  ['messenger_c', 'qqbot'],
]);

const canonical: ReadonlyMap<string, string> = new Map(
  [...targetNames].flatMap(([neutral, own]) => [
    [neutral, neutral] as const,
    ...(own === undefined ? [] : [[own, neutral] as const]),
  ]),
);

/** Every spelling that is understood, neutral names first. */
export const knownTargets: readonly string[] = [...canonical.keys()];

/** Each target by its platform's own name. */
export const targetChoices: readonly string[] = [...targetNames].map(([neutral, own]) => own ?? neutral);

/** The neutral name of a target by any of its names; undefined for an unknown one. */
export function canonicalTarget(name: string): string | undefined {
  return canonical.get(name);
}

/** What to do about a name that no target has. */
export function cureOfTarget(name: string): string {
  return meantOr(name, knownTargets, 'docs/deliveries.md lists the targets');
}
