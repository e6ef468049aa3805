/**
 * Makes the keys of events, runs and deliveries: nine characters of time, four of order within the millisecond, five
 * random ones, all base 36. Keys sort by time, and those of two gateways on one store do not collide. Also makes the mark
 * of a start, for ids that people type.
 */

import { randomBytes, randomInt } from 'node:crypto';

export type NextId = (nowMs: number) => string;

const timeWidth = 9;
const orderWidth = 4;
const chanceWidth = 5;
const maxInOrder = 36 ** orderWidth - 1;

/** Returns a generator of keys, which rise strictly even if the clock steps back. */
export function createIds(): NextId {
  let lastMs = -1;
  let order = 0;
  let timePart = '';
  const chance = newChance();

  return (nowMs) => {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      order = 0;
      timePart = timeKey(nowMs);
    } else if (order < maxInOrder) {
      order += 1;
    } else {
      // The clock stepped back by hours: a key that is slightly too late is better than one out of order.
      lastMs += 1;
      order = 0;
      timePart = timeKey(lastMs);
    }
    return timePart + order.toString(36).padStart(orderWidth, '0') + chance;
  };
}

/** The lowest key of a moment: all earlier keys sort before it. */
export function timeKey(atMs: number): string {
  return Math.max(0, Math.floor(atMs)).toString(36).padStart(timeWidth, '0');
}

export function timeOfKey(key: string): number {
  return Number.parseInt(key.slice(0, timeWidth), 36);
}

/** Consonants: they form no words, and none resembles a digit of the count that follows. */
const markLetters = 'bcdfghjkmnpqrstvwxz';
const markWidth = 5;

/** Five random letters, which distinguish the ids of one start from those of others: one in two million pairs collides. */
export function newMark(): string {
  return Array.from({ length: markWidth }, () => markLetters[randomInt(markLetters.length)]).join('');
}

/** One draw per process is enough: within a process the order already makes keys unique. */
function newChance(): string {
  const drawn = randomBytes(4).readUInt32BE() % 36 ** chanceWidth;
  return drawn.toString(36).padStart(chanceWidth, '0');
}
