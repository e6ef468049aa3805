/**
 * Redraws at 4 Hz: changes wait for the next frame, which applies all of them. There is no frame while the page is hidden.
 * Independent of the browser.
 * @see INS-2 in docs/specification.md
 */

export const frameMs = 250;

interface FramePorts {
  isHidden(): boolean;
  nowMs(): number;
  later(act: () => void, ms: number): unknown;
}

export function createFrames({ isHidden, nowMs, later }: FramePorts) {
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
    // Hidden in the meantime: `resume` plans the frame again.
    if (isHidden()) return;
    last = nowMs();
    const acts = [...due];
    due.clear();
    for (const act of acts) act();
  }

  return {
    /** Runs `act` in the next frame, once per frame; immediately if the last frame is long enough ago. */
    request(act: () => void): void {
      due.add(act);
      plan();
    },
    /** To be called when the page becomes visible. */
    resume: plan,
  };
}
