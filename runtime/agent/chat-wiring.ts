/** Provides the effects of the chat chart: the turn, the wait for a turn that stops, and the output to the terminal. */

import { fromPromise } from 'xstate';
import { type ChatContext, chatSessionMachine } from '../../machines/agent/chat-session.machine.ts';
import { noSpending } from '../../machines/agent/spending.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { AgentSettings } from '../../machines/config/settings.ts';
import type { Settled } from '../mcp/settled.ts';
import type { ChatTurnPorts } from './chat-turn.ts';
import type { Chats, LiveChat, TurnOutcome } from './chats.ts';

interface ChatSessionPorts {
  readonly chats: Chats;
  /** The current settings of the profile. */
  readonly settings: (profile: string) => AgentSettings | undefined;
  /** What a turn of the profile needs. */
  readonly turn: (profile: string) => ChatTurnPorts;
  readonly settled: Settled;
}

/** How long a turn waits for servers that have never been connected yet. */
const arrivalMs = 10_000;

export function wireChatSession({ chats, settings, turn, settled }: ChatSessionPorts) {
  async function answer({ id }: ChatContext, signal: AbortSignal): Promise<undefined> {
    const chat = chats.get(id);
    if (chat === undefined) return undefined;
    const number = chat.turn;
    // Without a reason, the turn would count as cancelled.
    const outcome = await outcomeOf(chat, signal).catch((thrown): TurnOutcome => failed(causeOf(thrown)));
    if (chat.turn === number) chat.outcome = outcome;
    return undefined;
  }

  async function outcomeOf(chat: LiveChat, signal: AbortSignal): Promise<TurnOutcome> {
    const { profile } = chat;
    const agent = settings(profile);
    if (agent === undefined) return failed(`the profile "${profile}" is not configured any more; begin a new chat`);
    const { runChatTurn } = await import('./chat-turn.ts');
    await settled(profile, arrivalMs, signal);
    return runChatTurn(chat, agent, turn(profile), signal);
  }

  return chatSessionMachine.provide({
    actors: {
      answerTurn: fromPromise<undefined, ChatContext>(({ input, signal }) => {
        const underWay = answer(input, signal);
        const chat = chats.get(input.id);
        if (chat !== undefined) chat.underWay = underWay;
        return underWay;
      }),
      awaitStopped: fromPromise<undefined, ChatContext>(
        ({ input }) => chats.get(input.id)?.underWay ?? Promise.resolve(undefined),
      ),
    },
    actions: {
      reportTurn: ({ context }) => chats.turnEnded(context.id),
      forget: ({ context }) => chats.forget(context.id),
    },
  });
}

function failed(reason: string): TurnOutcome {
  return { kind: 'failed', reason, spending: noSpending };
}
