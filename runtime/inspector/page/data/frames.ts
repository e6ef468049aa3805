/**
 * One redraw at 4 Hz: what is heard waits for the next frame, which applies all of it; none while the page is hidden. Knows
 * no browser.
 * @see INS-2 in docs/specification.md
 */

export const frameMs = 250;

export interface FramePorts {
  isHidden(): boolean;
  nowMs(): number;
  later(act: () => void, ms: number): unknown;
}

export interface Frames {
  /** Runs it with the next frame, once however often it was asked for; the first after a rest at once. */
  request(act: () => void): void;
  /** The page is in sight again. */
  resume(): void;
}

export function createFrames({ isHidden, nowMs, later }: FramePorts): Frames {
  const due = new Set<() => void>();
  let isPlanned = false;
  let last = Number.NEGATIVE_INFINITY;

  function plan(): void {
    if (isPlanned || isHidden() || due.size === 0) return;
    isPlanned = true;
    later(draw, Math.max(0, last + frameMs - nowMs()));
  }

  function draw(): void {
    isPlanned = false;
    // It was hidden meanwhile: the frame comes when it is in sight again.
    if (isHidden()) return;
    last = nowMs();
    const acts = [...due];
    due.clear();
    for (const act of acts) act();
  }

  return {
    request(act) {
      due.add(act);
      plan();
    },
    resume: plan,
  };
}
