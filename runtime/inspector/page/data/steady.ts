/**
 * Arms the buttons of what has come to rest: one that has just moved or appeared may lie under a pointer that was about
 * to click something else. A person's own scrolling is no move.
 * @see TRU-1 and TRU-3 in docs/specification.md
 */

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { movedOnes } from './questions.ts';

/** Longer than between the two clicks of a double one, and than a hand takes to stop. */
const restMs = 700;

export interface Steady {
  /** Tells whether one has rested; looks where it is first. */
  isArmed(id: string): boolean;
  /** The same as it was last seen, for a drawing. */
  looksArmed(id: string): boolean;
  /** What the page itself has moved. */
  disarm(): void;
}

/** Watches the elements with a `data-id` in a frame. */
export function useSteady(frame: RefObject<HTMLElement | null>): Steady {
  const [, redraw] = useState(0);
  const watch = useMemo(() => createWatch(frame, () => redraw((times) => times + 1)), [frame]);
  // With every drawing, and where something in the frame grew without one.
  useLayoutEffect(watch.look);
  useEffect(() => {
    const observer = new ResizeObserver(watch.look);
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, [watch]);
  return watch;
}

interface Watch extends Steady {
  look(): void;
}

function createWatch(frame: RefObject<HTMLElement | null>, redraw: () => void): Watch {
  let tops: ReadonlyMap<string, number> = new Map();
  /** By id, which of its moves was the last. */
  const restless = new Map<string, number>();
  let moves = 0;

  function measured(): ReadonlyMap<string, number> {
    const found = frame.current?.querySelectorAll<HTMLElement>('[data-id]') ?? [];
    // A scroll moves nothing under the hand that makes it.
    let scrolled = 0;
    for (let one: Element | null = frame.current; one !== null; one = one.parentElement) scrolled += one.scrollTop;
    return new Map([...found].map((one) => [one.dataset.id ?? '', one.getBoundingClientRect().top + scrolled]));
  }

  function disarmAll(ids: readonly string[]): void {
    if (ids.length === 0) return;
    moves += 1;
    const move = moves;
    for (const id of ids) restless.set(id, move);
    redraw();
    setTimeout(() => {
      for (const id of ids) if (restless.get(id) === move) restless.delete(id);
      redraw();
    }, restMs);
  }

  function look(): void {
    const now = measured();
    const moved = movedOnes(tops, now);
    tops = now;
    disarmAll(moved);
  }

  return {
    look,
    disarm() {
      tops = measured();
      disarmAll([...tops.keys()]);
    },
    looksArmed: (id) => !restless.has(id),
    isArmed(id) {
      look();
      return !restless.has(id);
    },
  };
}
