/**
 * Decides the status of an actor, a row of the history or a server: one of six words, each with a colour and a shape, so
 * that colour is never the only difference.
 * @see INS-2 in docs/specification.md
 */

import { shownState } from '../../../../machines/base/waiting.ts';

/** The status of a state, by what it needs from a person. */
export type Standing = 'working' | 'resting' | 'retrying' | 'needsUser' | 'failed' | 'ended';

/** States with a failure in their name, whatever their tags are. */
const failedStates = /^(failed|crashed|parked|deadLettered|unavailable|error|broken|refused|failed-permanently)$/;
/** Disabled or ended. */
const idleStates = /^(disabled|paused|stopped|idle|closed|removed)$/;
const retryingStates = /^(backingOff|waitingToRetry|recovering|restarting|retrying|replaying)$/;
/** A state with its tags, and the question that its run waits for while a person must answer. */
interface Stander {
  readonly state: string;
  readonly tags: readonly string[];
  readonly question?: string;
}

export function standingOf({ state, tags, question }: Stander): Standing {
  if (question !== undefined) return 'needsUser';
  if (tags.includes('failed') || lastWords(state).some((word) => failedStates.test(word))) return 'failed';
  if (tags.includes('needsUser')) return 'needsUser';
  if (tags.includes('retrying') || lastWords(state).some((word) => retryingStates.test(word))) return 'retrying';
  if (lastWords(state).every((word) => idleStates.test(word))) return 'ended';
  if (tags.includes('working')) return 'working';
  if (tags.includes('ended')) return 'ended';
  return 'resting';
}

/** Returns the status and the text of a running actor. */
export function wordsOfActor(one: Stander): { readonly standing: Standing; readonly text: string } {
  return { standing: standingOf(one), text: shownState(one.state, one.question) };
}

/** Returns the status of a server, job or platform from its state's name, where there are no tags. */
export function standingOfState(state: string): Standing {
  if (failedStates.test(state)) return 'failed';
  if (/^(needsLogin|asked|needsUser)$/.test(state)) return 'needsUser';
  if (retryingStates.test(state)) return 'retrying';
  if (idleStates.test(state)) return 'ended';
  return /ing$|Off$|^(claimed|starting)$/.test(state) ? 'working' : 'resting';
}

/** The word for each status, for screen readers. */
export const standingWords: Readonly<Record<Standing, string>> = {
  working: 'working',
  resting: 'at rest',
  retrying: 'retrying',
  needsUser: 'needs you',
  failed: 'failed',
  ended: 'ended',
};

/** Returns the innermost names of a state: `up.running` ends in `running`. */
function lastWords(state: string): string[] {
  return state.split(' ').map((part) => part.slice(part.lastIndexOf('.') + 1));
}
