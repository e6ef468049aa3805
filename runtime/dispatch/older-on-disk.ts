/**
 * Keeps the order of a chat whose deliveries wait in the journal alone, because a start found more than the memory takes: a
 * new text of the chat asks for its place once they have been taken up, or none was for `order_hold_seconds`. Remembers one
 * delivery for each such chat, the youngest, however many wait. Reads no record and sends nothing.
 * @see DLV-4 in docs/specification.md
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
  /** Notes a delivery that the journal holds at a start, before any of them is taken up. */
  note(key: string, record: DeliveryRecord): void;
  /** Asks for a delivery's place as `Platforms.ask` does, behind older deliveries of its chat that are still on disk. */
  readonly ask: Platforms['ask'];
  /** Has the texts of each chat ask whose older deliveries have been taken up. Called after each look at the journal. */
  look(): Promise<void>;
  clear(): void;
}

interface Chat {
  /** The youngest delivery that was left on disk. */
  key: string;
  order: number;
  /** By the steady clock; later with each of its deliveries that is taken up. */
  untilMs: number;
  readonly behind: Set<() => void>;
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
    note(key, record) {
      // A direct delivery that a crash cut off is closed, not sent.
      if (isWaitedFor(record)) return;
      if (record.status === 'waitingToRetry') {
        platforms.hold(record, 'onDisk');
        return;
      }
      const name = chatOf(record);
      if (name === undefined) return;
      const order = orderOf(record);
      const chat = chats.get(name);
      if (chat === undefined) {
        const untilMs = steadyMs() + platforms.orderHoldMs(record);
        chats.set(name, { key, order, untilMs, behind: new Set() });
      } else if (order >= chat.order) Object.assign(chat, { key, order });
    },
    ask(record, granted, missed) {
      const chat = chats.size === 0 ? undefined : chats.get(chatOf(record) ?? '');
      if (chat === undefined) return platforms.ask(record, granted, missed);
      // A direct delivery is never taken up from disk, so it is new whatever its time says.
      if (!isWaitedFor(record) && orderOf(record) <= chat.order) {
        // The time bounds a chat that stands still, not one with much to send.
        chat.untilMs = steadyMs() + platforms.orderHoldMs(record);
        return platforms.ask(record, granted, missed);
      }
      let leave = (): void => {};
      const go = (): void => {
        leave = platforms.ask(record, granted, missed);
      };
      chat.behind.add(go);
      return () => {
        chat.behind.delete(go);
        leave();
      };
    },
    async look() {
      const now = steadyMs();
      for (const [name, { key, untilMs, behind }] of [...chats]) {
        if (untilMs > now && (await isOnDisk(key))) continue;
        chats.delete(name);
        for (const go of behind) go();
      }
    },
    clear: () => chats.clear(),
  };
}
