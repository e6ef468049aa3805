/** The mark and the colour of each tone that the daemon sends. */

import type { Tone as EventTone } from '../../event-wire.ts';
import type { MarkName, Tone } from '../parts/chip.tsx';

export const marksOfTone: Readonly<Record<EventTone, readonly [MarkName, Tone]>> = {
  working: ['working', 'working'],
  needsUser: ['waiting', 'wait'],
  resting: ['delivered', 'resting'],
  unconfirmed: ['unconfirmed', 'wait'],
  failed: ['failed', 'bad'],
  ended: ['ignored', 'ended'],
};
