/**
 * The live side of the chat sessions: the conversation, the terminal that hears of it, whoever waits for the turn; one row
 * a session. Spawns a session's chart, tells it what the person wants and passes on its outcome.
 * @see CLI-4 in docs/specification.md
 */

import type { ChatInput } from '../../machines/agent/chat-session.machine.ts';
import type { Turn } from '../../machines/agent/model-talk.ts';
import type { Spending } from '../../machines/agent/spending.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { WardHandle } from '../../machines/base/ward.ts';

export type TurnOutcome =
  | { readonly kind: 'answered'; readonly text: string; readonly spending: Spending }
  | { readonly kind: 'failed'; readonly reason: string; readonly spending: Spending }
  | { readonly kind: 'cancelled' };

export interface LiveChat {
  readonly profile: string;
  /** Ends with what the person said last. */
  turns: readonly Turn[];
  /** Tells the terminal. */
  readonly tell: (event: JsonObject) => void;
  /** Counts the turns, so that the last words of one that did not stop in time are not taken for another's. */
  turn: number;
  /** The outcome of the turn under way, once it is known. */
  outcome: TurnOutcome | undefined;
  /** The turn under way: one that is told to stop is waited for. */
  underWay: Promise<undefined> | undefined;
  /** Answers whoever waits for the turn. */
  settle: ((outcome: TurnOutcome) => void) | undefined;
}

export interface Chats {
  /** Returns the session's id; undefined where the gateway is starting or stopping. */
  open(profile: string, tell: (event: JsonObject) => void): string | undefined;
  get(id: string): LiveChat | undefined;
  /** Resolves when the turn has ended; undefined where the session is not there or has a turn already. */
  say(id: string, text: string): Promise<TurnOutcome> | undefined;
  /** Ends the turn; false where there is none. */
  cancel(id: string): boolean;
  /** Forgets the conversation; false where the session is not there or has the word. */
  renew(id: string): boolean;
  close(id: string): void;
  /** The chart says that the turn has ended. */
  turnEnded(id: string): void;
  forget(id: string): void;
}

/** @param ward undefined before the servers' half lives, and after: terminals outlive it */
export function createChats(ward: () => WardHandle<ChatInput> | undefined): Chats {
  const rows = new Map<string, LiveChat>();

  return {
    open(profile, tell) {
      const chats = ward();
      if (chats === undefined) return undefined;
      const id = globalThis.crypto.randomUUID();
      rows.set(id, { profile, tell, turns: [], turn: 0, outcome: undefined, underWay: undefined, settle: undefined });
      if (chats.spawn(id, { id, profile }) !== undefined) return id;
      rows.delete(id);
      return undefined;
    },
    get: (id) => rows.get(id),
    say(id, text) {
      const row = rows.get(id);
      const chat = ward()?.get(id);
      if (row === undefined || chat === undefined || row.settle !== undefined) return undefined;
      row.turns = [...row.turns, { role: 'user', text }];
      row.turn += 1;
      return new Promise((resolve) => {
        row.settle = resolve;
        row.outcome = undefined;
        chat.send({ type: 'turn.begin' });
      });
    },
    cancel(id) {
      if (rows.get(id)?.settle === undefined) return false;
      ward()?.get(id)?.send({ type: 'turn.cancel' });
      return true;
    },
    renew(id) {
      const row = rows.get(id);
      if (row === undefined || row.settle !== undefined) return false;
      row.turns = [];
      return true;
    },
    close(id) {
      ward()?.get(id)?.send({ type: 'chat.close' });
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
