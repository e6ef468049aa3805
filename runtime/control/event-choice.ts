/** Which of the events that came under one id a command means, as its parameters say it. @see DUR-2 in docs/specification.md */

import type { JsonObject } from '../../machines/base/json.ts';
import type { EventChoice } from './contract.ts';

export function choiceOf({ route, profile }: JsonObject): EventChoice {
  return {
    ...(typeof route === 'string' ? { route } : {}),
    ...(typeof profile === 'string' ? { profile } : {}),
  };
}

/** The id with what it was narrowed by, for messages. */
export function spellChoice(id: string, { route, profile }: EventChoice): string {
  const ofRoute = route === undefined ? '' : ` of route "${route}"`;
  return `"${id}"${ofRoute}${profile === undefined ? '' : ` of profile "${profile}"`}`;
}
