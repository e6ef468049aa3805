/**
 * The commands of a chat in the terminal: open, say, cancel, clear, list the tools. Part of the table of the control
 * socket.
 * @see CLI-3 and CLI-4 in docs/specification.md
 */

import { cut, defined, type JsonObject } from '../../machines/base/json.ts';
import { stripTags } from '../../machines/mcp/strip-tags.ts';
import type { ChatView, TurnOutcome } from '../agent/chats.ts';
import { type Command, type Commands, daemonOf, textOf } from './command.ts';
import type { TurnResult } from './contract/chat.ts';
import { Refusal, refuse } from './contract/refusal.ts';
import { notServed, profileOf } from './home-view.ts';

const maxDescriptionLength = 200;

export const chatCommands = {
  'chat.open': async (host, params, peer) => {
    const { chat } = daemonOf(host);
    const profile = profileOf(params.profile);
    const agent = chat.settings(profile);
    if (agent === undefined) throw notServed(profile);
    if (agent.model === undefined) {
      return refuse(
        'chat-no-model',
        `profile "${profile}" has no model to talk to; set agent.model in its config.yaml: provider, base_url and name, and api_key: \${MODEL_KEY} with the key in .env`,
      );
    }
    const session = chat.open(profile, (event) => peer.notify('chat.event', event));
    if (session === undefined) {
      return refuse('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment');
    }
    peer.onEnd(() => chat.close(session));
    const { provider, name: model } = agent.model;
    return { session, profile, provider, model, tools: (await chat.tools(profile)).length };
  },

  'chat.say': ofChat(async (chat, session, params) => {
    const turn = chat.say(session, textOf(params, 'text'));
    if (turn === undefined) throw busy();
    return outcomeJson(await turn);
  }),

  'chat.cancel': ofChat((chat, session) => ({ cancelling: chat.cancel(session) })),
  'chat.new': ofChat((chat, session) => {
    if (!chat.renew(session)) throw busy();
    return { forgotten: true };
  }),

  'chat.tools': ofChat(async (chat, session) =>
    (await chat.tools(chat.get(session)?.profile ?? '')).map(({ name, description }) => ({
      name,
      description: cut(stripTags(description), maxDescriptionLength),
    })),
  ),
} satisfies Partial<Commands>;

function ofChat<Answer>(
  run: (chat: ChatView, session: string, params: JsonObject) => Answer | Promise<Answer>,
): Command<Answer> {
  return async (host, params) => {
    const { chat } = daemonOf(host);
    const session = String(params.session ?? '');
    if (chat.get(session) === undefined) return refuse('chat-unknown', 'the chat session is not open any more');
    return run(chat, session, params);
  };
}

function busy(): Refusal {
  return new Refusal('chat-busy', 'the chat session is answering; cancel the turn or wait for its end');
}

function outcomeJson(outcome: TurnOutcome): TurnResult {
  if (outcome.kind === 'cancelled') return { outcome: 'cancelled' };
  const { steps, inputTokens, cachedTokens, outputTokens, cost } = outcome.spending;
  return {
    outcome: outcome.kind,
    ...(outcome.kind === 'answered' ? { text: outcome.text } : { reason: outcome.reason }),
    ...defined({ steps, input_tokens: inputTokens, cached_tokens: cachedTokens, output_tokens: outputTokens, cost }),
  };
}
