/** A choice without words beside it, as in the head of a view. */

import type { JSX } from 'preact';

export interface BareSelectProps {
  readonly label: string;
  readonly class?: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly onChoose: (value: string) => void;
}

export function BareSelect({ label, class: look = '', value, options, onChoose }: BareSelectProps): JSX.Element {
  return (
    <select class={look} aria-label={label} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
      {options.map(([one, words]) => (
        <option key={one} value={one}>
          {words}
        </option>
      ))}
    </select>
  );
}
