/**
 * The live data of the chat sessions, one row each: the conversation, the terminal's listener and the pending turn.
 * Spawns a session's chart, passes it the person's input, and returns its outcome. A session ends with the connection that
 * opened it.
 * @see CLI-4 in docs/specification.md
 */

import type { chatSessionMachine } from '../../machines/agent/chat-session.machine.ts';
import { withQuestion } from '../../machines/agent/conversation.ts';
import type { ToolOffer, Turn } from '../../machines/agent/model-talk.ts';
import type { Spending } from '../../machines/agent/spending.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import type { AgentSettings } from '../../machines/config/settings.ts';

export type TurnOutcome =
  | { readonly kind: 'answered'; readonly text: string; readonly spending: Spending }
  | { readonly kind: 'failed'; readonly reason: string; readonly spending: Spending }
  | { readonly kind: 'cancelled' };

export interface LiveChat {
  readonly profile: string;
  /** Ends with the person's last message. */
  turns: readonly Turn[];
  /** Sends an event to the terminal. */
  readonly report: (event: JsonObject) => void;
  /** Counts the turns, so that late output of a turn that did not stop in time is not attributed to the next. */
  turn: number;
  /** The outcome of the turn in progress, once it is known. */
  outcome: TurnOutcome | undefined;
  /** The turn in progress; after a cancellation it is awaited. */
  underWay: Promise<undefined> | undefined;
  /** Resolves the promise of `say`. */
  settle: ((outcome: TurnOutcome) => void) | undefined;
}

interface Chats {
  /** Returns the session's id; undefined while the gateway is starting or stopping. */
  open(profile: string, report: (event: JsonObject) => void): string | undefined;
  get(id: string): LiveChat | undefined;
  /** Resolves when the turn has ended; undefined if the session does not exist or already has a turn. */
  say(id: string, text: string): Promise<TurnOutcome> | undefined;
  /** Ends the turn; false if there is none. */
  cancel(id: string): boolean;
  /** Clears the conversation; false if the session does not exist or a turn is in progress. */
  renew(id: string): boolean;
  close(id: string): void;
  /** Called by the chart when the turn has ended. */
  turnEnded(id: string): void;
  forget(id: string): void;
}

/** What the commands about chats use. */
export interface ChatView extends Omit<Chats, 'turnEnded' | 'forget'> {
  settings(profile: string): AgentSettings | undefined;
  /** The tools of a profile's chats, as they are now. */
  tools(profile: string): Promise<readonly ToolOffer[]>;
}

/** @param pool undefined before the servers' half runs, and after: terminals outlive it */
export function createChats(pool: () => ChartPool<typeof chatSessionMachine> | undefined): Chats {
  const rows = new Map<string, LiveChat>();

  return {
    open(profile, report) {
      const chats = pool();
      if (chats === undefined) return undefined;
      const id = globalThis.crypto.randomUUID();
      rows.set(id, { profile, report, turns: [], turn: 0, outcome: undefined, underWay: undefined, settle: undefined });
      if (chats.spawn(id, { id, profile }) !== undefined) return id;
      rows.delete(id);
      return undefined;
    },
    get: (id) => rows.get(id),
    say(id, text) {
      const row = rows.get(id);
      const chat = pool()?.get(id);
      if (row === undefined || chat === undefined || row.settle !== undefined) return undefined;
      row.turns = withQuestion(row.turns, text);
      row.turn += 1;
      return new Promise((resolve) => {
        row.settle = resolve;
        row.outcome = undefined;
        chat.send({ type: 'turn.begin' });
      });
    },
    cancel(id) {
      if (rows.get(id)?.settle === undefined) return false;
      pool()?.get(id)?.send({ type: 'turn.cancel' });
      return true;
    },
    renew(id) {
      const row = rows.get(id);
      if (row === undefined || row.settle !== undefined) return false;
      row.turns = [];
      // A cancelled turn that ends late must not restore the conversation.
      row.turn += 1;
      return true;
    },
    close(id) {
      pool()?.get(id)?.send({ type: 'chat.close' });
      rows.delete(id);
    },
    turnEnded(id) {
      const row = rows.get(id);
      const settle = row?.settle;
      if (row === undefined || settle === undefined) return;
      row.settle = undefined;
      settle(row.outcome ?? { kind: 'cancelled' });
    },
    forget(id) {
      rows.delete(id);
    },
  };
}
