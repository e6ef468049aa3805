/**
 * One redraw at 4 Hz: what is heard waits for the next frame, which applies all of it; none while the page is hidden.
 * @see INS-2 in docs/specification.md
 */

const frameMs = 250;

const due = new Set<() => void>();
let timer: ReturnType<typeof setTimeout> | undefined;
let last = Number.NEGATIVE_INFINITY;

/** Runs it with the next frame, once however often it was asked for; the first after a rest at once. */
export function inNextFrame(act: () => void): void {
  due.add(act);
  begin();
}

function begin(): void {
  if (timer !== undefined || document.hidden || due.size === 0) return;
  timer = setTimeout(
    () => {
      timer = undefined;
      last = performance.now();
      const acts = [...due];
      due.clear();
      for (const act of acts) act();
    },
    Math.max(0, last + frameMs - performance.now()),
  );
}

document.addEventListener('visibilitychange', begin);
