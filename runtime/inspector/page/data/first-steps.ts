/**
 * The first steps: which are done, which a person has skipped, which one is open. Skipped and hidden steps are stored in
 * this browser.
 * @see INS-4 in docs/specification.md
 */

import type { Result } from '../../../control/contract.ts';
import { createCell } from './cell.ts';
import { readStored, store } from './stored.ts';

export type Setup = Result<'setup.read'>;
export const stepNames = ['event', 'agent', 'server', 'target'] as const;
export type StepName = (typeof stepNames)[number];

export const stepTitles: Readonly<Record<StepName, string>> = {
  event: 'Receive your first event',
  agent: 'Choose the agent',
  server: 'Connect a tool server',
  target: 'Choose where results go',
};

/** The properties of a step's content. */
export interface StepProps {
  readonly setup: Setup;
  /** Reads again what is done. */
  readonly again: () => void;
  /** Keeps the step open after it is done, for what a person still has to read. */
  readonly hold: () => void;
}

interface Choices {
  readonly skipped: readonly StepName[];
  /** The line under Needs attention. */
  readonly hidden: boolean;
}

const place = 'agent-first-steps';

export const choices = createCell<Choices>(readChoices());
choices.onChange(() => store(place, JSON.stringify(choices.get())));

/** Reads what an earlier visit stored; anything unreadable counts as nothing. */
function readChoices(): Choices {
  try {
    const { skipped, hidden } = JSON.parse(readStored(place) ?? '{}') as {
      readonly skipped?: unknown;
      readonly hidden?: unknown;
    };
    const known = Array.isArray(skipped) ? stepNames.filter((name) => skipped.includes(name)) : [];
    return { skipped: known, hidden: hidden === true };
  } catch {
    return { skipped: [], hidden: false };
  }
}

/** Returns the steps that are neither done nor skipped, in order; the first one is open. */
export function stepsLeft({ done }: Pick<Setup, 'done'>, { skipped }: Choices): readonly StepName[] {
  return stepNames.filter((name) => !isDone(name, done) && !skipped.includes(name));
}

export function isDone(name: StepName, done: Setup['done']): boolean {
  return name === 'event' ? done.route && done.event : done[name];
}

export function skip(name: StepName, isSkipped: boolean): void {
  const { skipped, hidden } = choices.get();
  choices.set({ hidden, skipped: stepNames.filter((one) => (one === name ? isSkipped : skipped.includes(one))) });
}
