/** A chart as it is drawn: what the build of the page lays out, and the page fetches. */

export interface DrawnBox {
  readonly id: string;
  /** With spaces. */
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
  /** The words beside it; what does not fit is counted. */
  readonly words: readonly string[];
  /** Every transition that it stands for. */
  readonly all: readonly string[];
  readonly at?: { readonly x: number; readonly y: number };
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Groups before what lies in them. */
  readonly boxes: readonly DrawnBox[];
  readonly arrows: readonly DrawnArrow[];
  readonly starts: readonly { readonly x: number; readonly y: number; readonly path: string }[];
  /** Transitions that hold in every state. */
  readonly anywhere: readonly { readonly words: string; readonly to: string }[];
}
