/**
 * A chart's drawing as the page's build lays it out (spec/house/lay-out-charts.ts) and the page shows it.
 * @see INS-2 in docs/specification.md
 */

export interface DrawnBox {
  readonly id: string;
  /** The state's name with spaces. */
  readonly name: string;
  readonly kind: string;
  readonly tags: readonly string[];
  readonly about: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly isGroup: boolean;
}

export interface DrawnArrow {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** The words beside it, with a count of those that do not fit. */
  readonly words: readonly string[];
  /** SVG path data. */
  readonly path: string;
  /** All of its transitions. */
  readonly all: readonly string[];
  readonly at?: { readonly x: number; readonly y: number };
}

/** A chart as the page’s build lays it out and the page fetches it. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Groups come before the boxes in them. */
  readonly boxes: readonly DrawnBox[];
  readonly arrows: readonly DrawnArrow[];
  readonly starts: readonly { readonly x: number; readonly y: number; readonly path: string }[];
  /** Transitions that apply in every state. */
  readonly anywhere: readonly { readonly words: string; readonly to: string }[];
}

export const wordLine = 13;

/** The id of the arrow for all transitions between two states. */
export function arrowId(from: string, to: string): string {
  return `${from}→${to}`;
}

/** Returns the active states with their parents: `up.running` is in `up`. */
export function activeStates(state: string): ReadonlySet<string> {
  const active = new Set<string>();
  for (const leaf of state.split(' ')) {
    const parts = leaf.split('.');
    for (let length = 1; length <= parts.length; length += 1) active.add(parts.slice(0, length).join('.'));
  }
  return active;
}
