/** The mark of how something stands: a colour, a shape of its own, and the state's name. One language for every view. */

import type { JSX } from 'preact';
import { type Standing, standingWords } from '../data/standing.ts';

/** Full, half, turning, hollow, diamond, cross: told apart without colours. */
const shapes: Readonly<Record<Standing, JSX.Element>> = {
  working: (
    <>
      <circle cx="6" cy="6" r="4.2" class="hollow" />
      <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" class="full" />
    </>
  ),
  resting: <circle cx="6" cy="6" r="4.2" class="full" />,
  retrying: (
    <>
      <path d="M9.9 4.2A4.3 4.3 0 1 0 10.3 6" class="turn" />
      <path d="M11.4 1.6v3.6H7.8z" class="full" />
    </>
  ),
  needsUser: <path d="M6 .8 11.2 6 6 11.2.8 6z" class="full" />,
  failed: <path d="M2.2 2.2 9.8 9.8M9.8 2.2 2.2 9.8" class="line" />,
  ended: <circle cx="6" cy="6" r="3.9" class="hollow" />,
};

export function Mark({ standing }: { readonly standing: Standing }): JSX.Element {
  return (
    <svg class={`mark ${standing}`} viewBox="0 0 12 12" aria-hidden="true">
      {shapes[standing]}
    </svg>
  );
}

export function Chip({ standing, text }: { readonly standing: Standing; readonly text: string }): JSX.Element {
  return (
    <span class={`chip ${standing}`}>
      <Mark standing={standing} />
      <span>{text}</span>
      <span class="unseen">, {standingWords[standing]}</span>
    </span>
  );
}
