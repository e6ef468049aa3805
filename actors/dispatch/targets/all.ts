/**
 * Every platform by its neutral name. `log` and `codehost_comment` are no platforms: they have no credentials here.
 * @see DLV-1 in docs/specification.md
 */

import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { createCommunityChat } from './community-chat.ts';
import { createEmail, type MailPorts } from './email.ts';
import { createFederatedChat } from './federated-chat.ts';
import { createHomeAutomation } from './home-automation.ts';
import { createImessageBridge } from './imessage-bridge.ts';
import { createMessengerA } from './messenger-a.ts';
import { createMessengerB } from './messenger-b.ts';
import { createMessengerC } from './messenger-c.ts';
import type { PlatformTarget } from './platform-target.ts';
import { createSecureMessenger } from './secure-messenger.ts';
import { createSms } from './sms.ts';
import { createTeamChatA } from './team-chat-a.ts';
import { createTeamChatB } from './team-chat-b.ts';
import { createWorkplaceChatA } from './workplace-chat-a.ts';
import { createWorkplaceChatB } from './workplace-chat-b.ts';
import { createWorkplaceChatC } from './workplace-chat-c.ts';
import { createWorkplaceChatD } from './workplace-chat-d.ts';

type CreateTarget = (settings: PlatformSettings, ports: MailPorts) => PlatformTarget;

const creators: ReadonlyMap<string, CreateTarget> = new Map<string, CreateTarget>([
  ['messenger_a', createMessengerA],
  ['community_chat', createCommunityChat],
  ['team_chat_a', createTeamChatA],
  ['secure_messenger', createSecureMessenger],
  ['sms', createSms],
  ['messenger_b', createMessengerB],
  ['federated_chat', createFederatedChat],
  ['team_chat_b', createTeamChatB],
  ['home_automation', createHomeAutomation],
  ['email', createEmail],
  ['workplace_chat_a', createWorkplaceChatA],
  ['workplace_chat_b', createWorkplaceChatB],
  ['workplace_chat_c', createWorkplaceChatC],
  ['workplace_chat_d', createWorkplaceChatD],
  ['imessage_bridge', createImessageBridge],
  ['messenger_c', createMessengerC],
]);

export const platformNames: readonly string[] = [...creators.keys()];

/** Undefined for a name that is no platform's; settings that lack something make a target that says so. */
export function createPlatformTarget(
  name: string,
  settings: PlatformSettings,
  ports: MailPorts,
): PlatformTarget | undefined {
  return creators.get(name)?.(settings, ports);
}
