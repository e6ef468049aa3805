/** Assembles the chats: their table, and their chart with its effects. A turn uses the tools of the profile's servers. */

import { type AnyActorLogic, fromPromise } from 'xstate';
import { type ChatContext, chatSessionMachine } from '../../machines/agent/chat-session.machine.ts';
import { noSpending } from '../../machines/agent/spending.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { AgentSettings } from '../../machines/config/settings.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import type { Servers } from '../mcp/servers.ts';
import { createChartPool, poolUnder } from '../system/pools.ts';
import type { ChatTurnPorts } from './chat-turn.ts';
import { type ChatView, createChats, type LiveChat, type TurnOutcome } from './chats.ts';

interface ChatPorts extends Pick<SharedPorts, 'root' | 'home' | 'compiling' | 'nowMs' | 'log'> {
  readonly servers: () => Pick<Servers, 'registry' | 'calls' | 'approvals' | 'settled'>;
  readonly redact: (text: string) => string;
}

/** How long a turn waits for servers that have never been connected yet. */
const arrivalMs = 10_000;

export function assembleChats(ports: ChatPorts): { readonly pool: AnyActorLogic; readonly view: ChatView } {
  const { root, home, servers, redact, nowMs, log } = ports;
  const chats = createChats(() => poolUnder(root(), 'chats'));
  const settings = (profile: string): AgentSettings | undefined => home().profiles.get(profile)?.settings.agent;
  const turnPorts = (profile: string): ChatTurnPorts => ({
    registry: () => servers().registry(profile),
    calls: servers().calls,
    approvals: servers().approvals,
    redact,
    nowMs,
    random: Math.random,
    log,
  });

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
    await servers().settled(profile, arrivalMs, signal);
    return runChatTurn(chat, agent, turnPorts(profile), signal);
  }

  const machine = chatSessionMachine.provide({
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
  return {
    pool: createChartPool(ports, {
      name: 'chats',
      machine,
      onCrashed: (key) => {
        chats.turnEnded(key);
        chats.forget(key);
      },
    }),
    view: {
      ...chats,
      settings,
      async tools(profile) {
        const agent = settings(profile);
        const { chatTools } = await import('./chat-turn.ts');
        return agent === undefined ? [] : chatTools(profile, agent, turnPorts(profile));
      },
    },
  };
}

function failed(reason: string): TurnOutcome {
  return { kind: 'failed', reason, spending: noSpending };
}
