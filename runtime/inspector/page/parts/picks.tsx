/** A few named choices as buttons, one of them chosen. */

import type { ComponentChildren, JSX } from 'preact';

interface PicksProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly name: string; readonly title: string }[];
  readonly onChoose: (name: string) => void;
  /** After the choices. */
  readonly children?: ComponentChildren;
}

export function Picks({ label, value, options, onChoose, children }: PicksProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form.
    <div class="sources" role="group" aria-label={label}>
      {options.map(({ name, title }) => (
        <button key={name} type="button" class="pick" aria-pressed={name === value} onClick={() => onChoose(name)}>
          {title}
        </button>
      ))}
      {children}
    </div>
  );
}
