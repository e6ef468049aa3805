/**
 * Makes the keys of events, runs and deliveries: nine characters of time, four of order within the millisecond, five of
 * chance, all base 36. Sorting keys sorts them by time, and two gateways on one store do not meet. Also the mark of one
 * start, for ids that people type.
 */

import { randomBytes, randomInt } from 'node:crypto';

export type NextId = (nowMs: number) => string;

const timeWidth = 9;
const orderWidth = 4;
const chanceWidth = 5;
const mostInOrder = 36 ** orderWidth - 1;

/** Returns a maker of keys; keys of one maker rise strictly, also when the clock steps back. */
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
    } else if (order < mostInOrder) {
      order += 1;
    } else {
      // A clock that stepped back by hours: better a moment early than out of order.
      lastMs += 1;
      order = 0;
      timePart = timeKey(lastMs);
    }
    return timePart + order.toString(36).padStart(orderWidth, '0') + chance;
  };
}

/** The lowest key of a moment: everything older sorts before it. */
export function timeKey(atMs: number): string {
  return Math.max(0, Math.floor(atMs)).toString(36).padStart(timeWidth, '0');
}

/** The moment that a key was made at. */
export function timeOfKey(key: string): number {
  return Number.parseInt(key.slice(0, timeWidth), 36);
}

/** Consonants: no word comes of them, and none looks like the count that follows. */
const markLetters = 'bcdfghjkmnpqrstvwxz';
const markWidth = 5;

/** Five letters by chance, which tell the ids of one start from those of every other: one in two million pairs agrees. */
export function newMark(): string {
  return Array.from({ length: markWidth }, () => markLetters[randomInt(markLetters.length)]).join('');
}

/** One draw per process is enough: within it the order already tells keys apart. */
function newChance(): string {
  const drawn = randomBytes(4).readUInt32BE() % 36 ** chanceWidth;
  return drawn.toString(36).padStart(chanceWidth, '0');
}
