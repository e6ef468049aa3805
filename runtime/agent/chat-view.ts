/**
 * Answers the commands about chat sessions. A session belongs to the connection that opened it and ends with it.
 * @see CLI-4 in docs/specification.md
 */

import type { ToolOffer } from '../../machines/agent/model-talk.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { AgentSettings } from '../../machines/config/settings.ts';
import type { Servers } from '../mcp/servers.ts';
import type { TurnOutcome } from './chats.ts';

export interface ChatView {
  /** Why no session can be opened; undefined if one can. */
  obstacle(profile: string): 'noProfile' | 'noModel' | undefined;
  /** Undefined while the gateway is starting or stopping. */
  open(profile: string, tell: (event: JsonObject) => void): OpenedChat | undefined;
  isOpen(session: string): boolean;
  /** Undefined if the session does not exist or already has a turn. */
  say(session: string, text: string): Promise<TurnOutcome> | undefined;
  cancel(session: string): boolean;
  renew(session: string): boolean;
  tools(session: string): Promise<readonly ToolOffer[]>;
  close(session: string): void;
}

export interface OpenedChat {
  readonly session: string;
  readonly profile: string;
  readonly provider: string;
  readonly model: string;
}

export interface ChatViewPorts {
  readonly servers: Pick<Servers, 'chats' | 'chatTools'>;
  readonly settings: (profile: string) => AgentSettings | undefined;
}

export function createChatView({ servers: { chats, chatTools }, settings }: ChatViewPorts): ChatView {
  return {
    obstacle(profile) {
      const agent = settings(profile);
      if (agent === undefined) return 'noProfile';
      return agent.model === undefined ? 'noModel' : undefined;
    },
    open(profile, tell) {
      const session = chats.open(profile, tell);
      if (session === undefined) return undefined;
      const { provider = '', name = '' } = settings(profile)?.model ?? {};
      return { session, profile, provider, model: name };
    },
    isOpen: (session) => chats.get(session) !== undefined,
    say: (session, text) => chats.say(session, text),
    cancel: (session) => chats.cancel(session),
    renew: (session) => chats.renew(session),
    tools: async (session) => {
      const profile = chats.get(session)?.profile;
      return profile === undefined ? [] : chatTools(profile);
    },
    close: (session) => chats.close(session),
  };
}
