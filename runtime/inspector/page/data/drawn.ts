/** A drawn chart, as the page's build lays it out and the page fetches it. */

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
  /** SVG path data. */
  readonly path: string;
  /** The words beside it, with a count of those that do not fit. */
  readonly words: readonly string[];
  /** All of its transitions. */
  readonly all: readonly string[];
  readonly at?: { readonly x: number; readonly y: number };
}

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
