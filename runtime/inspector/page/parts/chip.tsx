/**
 * A status: a mark with its own shape, a colour, and a word. The same in every view.
 * @see INS-2 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { type Standing, standingWords } from '../data/standing.ts';

/** Colours of a status; each has the shape of its mark beside it, so that colour is never the only difference. */
export type Tone = 'working' | 'resting' | 'wait' | 'bad' | 'ended';

const turning = (
  <>
    <path d="M9.9 4.2A4.3 4.3 0 1 0 10.3 6" class="h" />
    <path d="M11.4 1.6v3.6H7.8z" class="f" />
  </>
);
const ring = <circle cx="6" cy="6" r="4.3" class="h" />;

/** Half disc, lines, diamond, turn arrow, ✓ ring, disc, ✕; slashed, empty, barred and double ring; hollow diamond. */
const marks = {
  working: [
    'working',
    <>
      <circle cx="6" cy="6" r="4.5" class="h" />
      <path d="M6 1.5a4.5 4.5 0 0 1 0 9z" class="f" />
    </>,
  ],
  batching: ['working', <path d="M2 3.5h8M2 6h8M2 8.5h8" class="l thin" />],
  waiting: ['wait', <path d="M6 .8 11.2 6 6 11.2.8 6z" class="f" />],
  retrying: ['wait', turning],
  delivered: [
    'resting',
    <>
      <circle cx="6" cy="6" r="5" class="h" />
      <path d="m3.7 6.2 1.6 1.6 3-3.4" class="l thin" />
    </>,
  ],
  healthy: ['resting', <circle cx="6" cy="6" r="4.2" class="f" />],
  failed: ['bad', <path d="M2.2 2.2 9.8 9.8M9.8 2.2 2.2 9.8" class="l" />],
  refused: [
    'bad',
    <>
      <circle cx="6" cy="6" r="4.5" class="h" />
      <path d="M2.9 9.1 9.1 2.9" class="l thin" />
    </>,
  ],
  unconfirmed: [
    'wait',
    <>
      <path d="M6 1.3 10.7 6 6 10.7 1.3 6z" class="h" />
      <path d="M6 4v2.3M6 8v.01" class="l thin" />
    </>,
  ],
  queued: ['ended', ring],
  ignored: ['ended', ring],
  disabled: [
    'ended',
    <>
      {ring}
      <path d="M4 6h4" class="l thin" />
    </>,
  ],
  duplicate: [
    'ended',
    <>
      <circle cx="4.5" cy="6" r="3.3" class="h" />
      <circle cx="7.5" cy="6" r="3.3" class="h" />
    </>,
  ],
} satisfies Readonly<Record<string, readonly [Tone, ComponentChildren]>>;

export type MarkName = keyof typeof marks;

const markOfStanding: Readonly<Record<Standing, MarkName>> = {
  working: 'working',
  resting: 'healthy',
  retrying: 'retrying',
  needsUser: 'waiting',
  failed: 'failed',
  ended: 'ignored',
};

/** The mark alone, if its word is beside it or announced to screen readers. */
export function StatusMark({ name, tone }: { readonly name: MarkName; readonly tone?: Tone }): JSX.Element {
  const [usual, lines] = marks[name];
  return (
    <svg class={`mark ${tone ?? usual}`} viewBox="0 0 12 12" aria-hidden="true">
      {lines}
    </svg>
  );
}

interface StatusProps {
  readonly mark: MarkName;
  /** The word in grey and black, for a normal status. */
  readonly calm?: boolean;
  readonly children: ComponentChildren;
}

export function Status({ mark, calm = false, children }: StatusProps): JSX.Element {
  const [tone] = marks[mark];
  return (
    <span class={`status ${tone}${calm ? ' calm' : ''}`}>
      <StatusMark name={mark} />
      <span class="cut">{children}</span>
    </span>
  );
}

/** The status on a ground of its colour, beside a headline. */
export function StatusChip({ mark, children }: Omit<StatusProps, 'calm'>): JSX.Element {
  const [tone] = marks[mark];
  return (
    <span class={`chip ${tone}`}>
      <StatusMark name={mark} />
      <span>{children}</span>
    </span>
  );
}

export function Mark({ standing }: { readonly standing: Standing }): JSX.Element {
  return <StatusMark name={markOfStanding[standing]} />;
}

export function markOf(standing: Standing): MarkName {
  return markOfStanding[standing];
}

export function toneOf(standing: Standing): Tone {
  return marks[markOfStanding[standing]][0];
}

export function Chip({ standing, text }: { readonly standing: Standing; readonly text: string }): JSX.Element {
  const name = markOfStanding[standing];
  return (
    <span class={`chip ${marks[name][0]}`}>
      <StatusMark name={name} />
      <span>{text}</span>
      <span class="unseen">, {standingWords[standing]}</span>
    </span>
  );
}
