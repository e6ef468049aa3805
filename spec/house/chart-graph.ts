/**
 * Turns a chart into the elements of a drawing: boxes, and one arrow with its words for all transitions between the same
 * two states. Independent of layout and page.
 * @see INS-2 in docs/specification.md
 */

import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { Chart, ChartState, ChartTransition } from '../../runtime/control/contract/wire.ts';
import { arrowId } from '../../runtime/inspector/page/data/chart-graph.ts';
import { formatWord } from '../../runtime/inspector/page/data/format.ts';

interface GraphBox {
  readonly id: string;
  readonly parent: string | null;
  readonly state: ChartState;
  readonly width: number;
  readonly height: number;
}

interface GraphArrow {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** The words beside it, with a count of those that do not fit. */
  readonly words: readonly string[];
  readonly transitions: readonly ChartTransition[];
}

export interface Graph {
  readonly boxes: readonly GraphBox[];
  readonly arrows: readonly GraphArrow[];
  /** States in which the chart and its compound states begin. */
  readonly initials: readonly string[];
  /** Transitions that apply in every state; they are listed beside the drawing. */
  readonly anywhere: readonly ChartTransition[];
}

/** Letter widths in the drawing. */
const nameLetter = 7.4;
export const wordLetter = 5.9;
const boxHeight = 34;
const boxPadding = 34;
const maxWordLength = 30;
const maxWords = 2;

export function graphOf({ states, transitions }: Chart): Graph {
  const boxes = states.map((state) => ({
    id: state.id,
    parent: state.parent,
    state,
    width: Math.round(formatWord(state.name).length * nameLetter + boxPadding),
    height: boxHeight,
  }));
  const known = new Set(states.map(({ id }) => id));
  const between = new Map<string, ChartTransition[]>();
  const anywhere: ChartTransition[] = [];
  for (const transition of transitions) {
    const { from, to } = transition;
    if (from === null) {
      if (to !== null) anywhere.push(transition);
      continue;
    }
    // A transition that leaves no state is drawn as a pulse of its box, not as an arrow.
    if (to === null || to === from || !known.has(from) || !known.has(to)) continue;
    getOrMake(between, arrowId(from, to), () => []).push(transition);
  }
  const arrows = [...between].map(([id, all]) => ({
    id,
    from: all[0]?.from ?? '',
    to: all[0]?.to ?? '',
    words: shortened(all.map(formatTransition)),
    transitions: all,
  }));
  const initials = states.filter(({ initial }) => initial).map(({ id }) => id);
  return { boxes, arrows, initials, anywhere };
}

/** Formats a transition in a few letters: `server.connect`, `after retry`, `pollToken done`, `[isLazy]`. */
export function formatTransition({ kind, label, guard }: ChartTransition): string {
  const condition = guard === undefined ? '' : `[${formatWord(guard)}]`;
  switch (kind) {
    case 'always':
      return condition;
    case 'after':
      return `after ${formatWord(label)}`;
    case 'done':
      return condition === '' ? `${formatWord(label)} done` : condition;
    case 'error':
      return `${formatWord(label)} failed`;
    default:
      return condition === '' ? label : `${label} ${condition}`;
  }
}

function shortened(words: readonly string[]): string[] {
  const different = [...new Set(words.filter((word) => word !== ''))];
  const shown = different.slice(0, maxWords).map(cut);
  const rest = different.length - shown.length;
  return rest > 0 ? [...shown, `and ${rest} more`] : shown;
}

function cut(word: string): string {
  return word.length > maxWordLength ? `${word.slice(0, maxWordLength - 1)}…` : word;
}
