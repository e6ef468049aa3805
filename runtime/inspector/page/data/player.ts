/**
 * Plays an actor's steps so slowly that an eye can follow: a machine goes through ten states in a millisecond, the drawing
 * takes a moment for each. Falls behind by no more than a few steps; whoever asks for less motion sees the end at once.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { StepRow } from '../../wire.ts';
import { onSteps, stepsOf } from './live.ts';

export interface Played {
  /** Where the drawing stands; undefined while nothing plays, when the living state counts. */
  readonly state: string | undefined;
  /** The step that is being shown, and how many were before it. */
  readonly step: StepRow | undefined;
  readonly count: number;
  /** Its steps as they were seen, oldest first. */
  readonly steps: readonly StepRow[];
}

const usualMs = 190;
const hurriedMs = 60;
/** With more steps than this before it, it hurries; with many more, it skips. */
const hurriedFrom = 8;
const skippedFrom = 40;
const mostKept = 200;

const calm = matchMedia('(prefers-reduced-motion: reduce)');

export function usePlayed(actor: string): Played {
  const [played, setPlayed] = useState<Played>(() => begin(actor));
  const queue = useRef<StepRow[]>([]);

  useEffect(() => {
    queue.current = [];
    setPlayed(begin(actor));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = (): void => {
      timer = undefined;
      const waiting = queue.current;
      if (waiting.length > skippedFrom)
        setPlayed((old) => waiting.splice(0, waiting.length - hurriedFrom).reduce(after, old));
      const step = waiting.shift();
      if (step === undefined) {
        setPlayed((old) => (old.state === undefined ? old : { ...old, state: undefined }));
        return;
      }
      setPlayed((old) => after(old, step));
      timer = setTimeout(next, waiting.length > hurriedFrom ? hurriedMs : usualMs);
    };
    const forget = onSteps((steps) => {
      const mine = steps.filter((step) => step.actor === actor);
      if (mine.length === 0) return;
      if (calm.matches) {
        setPlayed((old) => ({ ...mine.reduce(after, old), state: undefined }));
        return;
      }
      queue.current.push(...mine);
      if (timer === undefined) next();
    });
    return () => {
      forget();
      clearTimeout(timer);
    };
  }, [actor]);

  return played;
}

function begin(actor: string): Played {
  const steps = stepsOf(actor);
  return { state: undefined, step: undefined, count: 0, steps: steps.slice(-mostKept) };
}

function after(old: Played, step: StepRow): Played {
  return { state: step.to, step, count: old.count + 1, steps: [...old.steps, step].slice(-mostKept) };
}
