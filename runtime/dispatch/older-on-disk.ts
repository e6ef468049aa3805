/**
 * Keeps the order of a chat with deliveries that are only in the journal, because a start found more than fits in memory
 * or the previous leader still sends them. A later delivery of the chat requests its slot once those have been recovered
 * or sent, or after `order_hold_seconds` without any. Stores only the youngest of both kinds per chat, however many there
 * are. Reads no record and sends nothing.
 * @see DLV-4 and SCA-1 in docs/specification.md
 */

import { inProfile } from '../../machines/base/names.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import { isNotBegun } from '../../machines/webhook/interruption.ts';
import { type DeliveryRecord, isWaitedFor, orderOf } from '../../machines/webhook/record.ts';
import type { Platforms } from './platforms.ts';

interface OlderOnDiskPorts {
  readonly platforms: Pick<Platforms, 'ask' | 'hold' | 'orderHoldMs' | 'chatOf'>;
  /** Whether a delivery is still to be recovered from the journal. */
  readonly isOnDisk: (key: string) => Promise<boolean>;
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
}

export interface OlderOnDisk {
  /**
   * Records a delivery that the journal holds at a start, before any is recovered.
   * @param isElsewhere whether another gateway still holds it
   */
  note(key: string, record: DeliveryRecord, isElsewhere?: boolean): void;
  /** Requests a delivery's slot like `Platforms.ask`, but after older deliveries of its chat that are still on disk. */
  readonly ask: Platforms['ask'];
  /**
   * Lets the deliveries request their slots whose older ones have been recovered. Called after each check of the journal.
   */
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
  /** The youngest delivery that was left on disk; each recovered one extends the time. */
  onDisk?: Mark;
  /** The youngest that another gateway holds. */
  elsewhere?: Mark;
  /** The waiting deliveries, with their orders. */
  readonly behind: Map<() => void, number>;
}

export function createOlderOnDisk({ platforms, isOnDisk, steadyMs }: OlderOnDiskPorts): OlderOnDisk {
  const chats = new Map<string, Chat>();

  /** Undefined if the target has no places, and so no order. */
  function chatOf(record: DeliveryRecord): string | undefined {
    const { profile, target } = record;
    const place = platforms.chatOf(record);
    return place === undefined ? undefined : `${inProfile(canonicalTarget(target) ?? target, profile)} ${place}`;
  }

  return {
    note(key, record, isElsewhere = false) {
      // Its sender may still wait at another gateway, and then it is the newest.
      if (!isElsewhere && isWaitedFor(record) && isNotBegun(record)) return;
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
      // One that a sender waits for was not interrupted, so it is always newer.
      const order = isWaitedFor(record) ? Number.POSITIVE_INFINITY : orderOf(record);
      const { onDisk } = chat;
      // The time limits a chat without progress, not one with much to send.
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
          // Another mark may have been set meanwhile.
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

/** Whether older deliveries than this order are not recovered or sent yet. */
function waits({ onDisk, elsewhere }: Chat, order: number): boolean {
  return [onDisk, elsewhere].some((mark) => mark !== undefined && order > mark.order);
}
