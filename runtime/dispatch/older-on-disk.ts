/**
 * Keeps the order of a chat whose deliveries are in the journal alone: because a start found more than the memory takes, or
 * because the gateway that led before still sends them. A later text of the chat asks for its place once they have been taken
 * up or sent, or none was for `order_hold_seconds`. Remembers the youngest of both kinds for each such chat, however many
 * there are. Reads no record and sends nothing.
 * @see DLV-4 and SCA-1 in docs/specification.md
 */

import { inProfile } from '../../machines/base/names.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import { type DeliveryRecord, isWaitedFor, orderOf } from '../../machines/webhook/record.ts';
import type { Platforms } from './platforms.ts';

export interface OlderOnDiskPorts {
  readonly platforms: Pick<Platforms, 'ask' | 'hold' | 'orderHoldMs' | 'placeOf'>;
  /** Whether a delivery is still to be taken up from the journal. */
  readonly isOnDisk: (key: string) => Promise<boolean>;
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
}

export interface OlderOnDisk {
  /**
   * Notes a delivery that the journal holds at a start, before any of them is taken up.
   * @param isElsewhere whether another gateway still has it
   */
  note(key: string, record: DeliveryRecord, isElsewhere?: boolean): void;
  /** Asks for a delivery's place as `Platforms.ask` does, behind older deliveries of its chat that are still on disk. */
  readonly ask: Platforms['ask'];
  /** Has the texts of each chat ask whose older deliveries have been taken up. Called after each look at the journal. */
  look(): Promise<void>;
  clear(): void;
}

interface Mark {
  readonly key: string;
  readonly order: number;
  /** By the steady clock. */
  readonly untilMs: number;
}

interface Chat {
  /** The youngest delivery that was left on disk; its time grows with each of them that is taken up. */
  onDisk?: Mark;
  /** The youngest that another gateway has. */
  elsewhere?: Mark;
  /** Those that wait, with their orders. */
  readonly behind: Map<() => void, number>;
}

export function createOlderOnDisk({ platforms, isOnDisk, steadyMs }: OlderOnDiskPorts): OlderOnDisk {
  const chats = new Map<string, Chat>();

  /** Undefined where the target knows no places, and so no order. */
  function chatOf(record: DeliveryRecord): string | undefined {
    const { profile, target } = record;
    const place = platforms.placeOf(record);
    return place === undefined ? undefined : `${inProfile(canonicalTarget(target) ?? target, profile)} ${place}`;
  }

  return {
    note(key, record, isElsewhere = false) {
      // A direct delivery that a crash cut off is closed, not sent.
      if (isWaitedFor(record) && !isElsewhere) return;
      if (record.status === 'waitingToRetry') {
        platforms.hold(record, 'onDisk');
        return;
      }
      const name = chatOf(record);
      if (name === undefined) return;
      const chat: Chat = chats.get(name) ?? { behind: new Map() };
      const place = isElsewhere ? 'elsewhere' : 'onDisk';
      const order = orderOf(record);
      const { untilMs = steadyMs() + platforms.orderHoldMs(record), order: youngest = order } = chat[place] ?? {};
      if (order >= youngest) chat[place] = { key, order, untilMs };
      chats.set(name, chat);
    },
    ask(record, granted, missed) {
      const chat = chats.size === 0 ? undefined : chats.get(chatOf(record) ?? '');
      if (chat === undefined) return platforms.ask(record, granted, missed);
      // A direct delivery is never taken up from disk, so it is new whatever its time says.
      const order = isWaitedFor(record) ? Number.POSITIVE_INFINITY : orderOf(record);
      const { onDisk } = chat;
      // The time bounds a chat that stands still, not one with much to send.
      if (onDisk !== undefined && order <= onDisk.order)
        chat.onDisk = { ...onDisk, untilMs: steadyMs() + platforms.orderHoldMs(record) };
      if (!waits(chat, order)) return platforms.ask(record, granted, missed);
      let leave = (): void => {};
      const go = (): void => {
        leave = platforms.ask(record, granted, missed);
      };
      chat.behind.set(go, order);
      return () => {
        chat.behind.delete(go);
        leave();
      };
    },
    async look() {
      const now = steadyMs();
      for (const [name, chat] of [...chats]) {
        for (const place of ['onDisk', 'elsewhere'] as const) {
          const mark = chat[place];
          if (mark === undefined || (mark.untilMs > now && (await isOnDisk(mark.key)))) continue;
          // Another may have been noted meanwhile.
          if (chat[place]?.key === mark.key) delete chat[place];
        }
        if (chat.onDisk === undefined && chat.elsewhere === undefined) chats.delete(name);
        for (const [go, order] of [...chat.behind]) {
          if (waits(chat, order)) continue;
          chat.behind.delete(go);
          go();
        }
      }
    },
    clear: () => chats.clear(),
  };
}

/** Whether a delivery of this order is later than what is not taken up or sent yet. */
function waits({ onDisk, elsewhere }: Chat, order: number): boolean {
  return [onDisk, elsewhere].some((mark) => mark !== undefined && order > mark.order);
}
