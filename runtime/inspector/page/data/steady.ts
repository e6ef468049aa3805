/**
 * Enables buttons only once they are at rest: a button that has just moved or appeared may be under a pointer that was
 * about to click something else. The person's own scrolling is not a move.
 * @see TRU-1 and TRU-3 in docs/specification.md
 */

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { movedOnes } from './questions.ts';

/** Longer than a double click, and than a hand takes to stop. */
const restMs = 700;

interface Steady {
  /** Measures, then returns whether the element is at rest. */
  isArmed(id: string): boolean;
  /** Returns the same without measuring, for a drawing. */
  looksArmed(id: string): boolean;
  /** Marks an element as moved, or all. */
  disarm(id?: string): void;
}

/** Watches the elements with a `data-id` in a frame. */
export function useSteady(frame: RefObject<HTMLElement | null>): Steady {
  const [, redraw] = useState(0);
  const watch = useMemo(() => createWatch(frame, () => redraw((times) => times + 1)), [frame]);
  // After every drawing, and when the frame has grown without one.
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
  /** The number of each element's last move, by id. */
  const restless = new Map<string, number>();
  let moves = 0;

  function measured(): ReadonlyMap<string, number> {
    const found = frame.current?.querySelectorAll<HTMLElement>('[data-id]') ?? [];
    // Adds the scroll offsets, so that scrolling is not a move.
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
    disarm(id) {
      // What it has moved is still to be noticed.
      if (id === undefined) tops = measured();
      disarmAll(id === undefined ? [...tops.keys()] : [id]);
    },
    looksArmed: (id) => !restless.has(id),
    isArmed(id) {
      look();
      return !restless.has(id);
    },
  };
}
