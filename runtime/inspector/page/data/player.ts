/**
 * Plays an actor's steps slowly enough to follow: a machine takes ten states in a millisecond, the drawing shows each for a
 * moment. It is never more than a few steps behind; with reduced motion it shows the end immediately.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { StepRow } from '../../../control/contract/wire.ts';
import { onSteps, stepsOf } from './live.ts';

export interface Played {
  /** The state that is drawn; undefined while nothing plays, when the actor's own state is drawn. */
  readonly state: string | undefined;
  /** The step that is shown, and how many steps were played. */
  readonly step: StepRow | undefined;
  readonly count: number;
  /** The received steps, oldest first. */
  readonly steps: readonly StepRow[];
}

const defaultMs = 190;
const hurriedMs = 60;
/** With more waiting steps than this it plays faster; with many more it skips. */
const hurriedFrom = 8;
const skippedFrom = 40;
const maxKept = 200;

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
      timer = setTimeout(next, waiting.length > hurriedFrom ? hurriedMs : defaultMs);
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
  return { state: undefined, step: undefined, count: 0, steps: steps.slice(-maxKept) };
}

function after(old: Played, step: StepRow): Played {
  return { state: step.to, step, count: old.count + 1, steps: [...old.steps, step].slice(-maxKept) };
}
