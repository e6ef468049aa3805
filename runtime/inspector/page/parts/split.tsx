/** A list, and beside it what was opened. Below 1101 px the opened one replaces the list, with a Back button. */

import type { ComponentChildren, JSX } from 'preact';
import { Button } from './button.tsx';

interface SplitProps {
  readonly list: ComponentChildren;
  /** What the list contains, for screen readers. */
  readonly label: string;
  /** Whether something is opened. */
  readonly opened: boolean;
  /** For a list of 392 px. */
  readonly middle?: boolean;
  /** "All servers" */
  readonly back: string;
  readonly onBack: () => void;
  readonly children: ComponentChildren;
}

export function Split({ list, label, opened, middle = false, back, onBack, children }: SplitProps): JSX.Element {
  return (
    <div class={`split${middle ? ' mid' : ''}${opened ? ' chosen' : ''}`}>
      <section class="list" aria-label={label}>
        {list}
      </section>
      <div class="pane">
        {opened ? (
          <Button icon="back" class="quiet back" onClick={onBack}>
            {back}
          </Button>
        ) : null}
        <div class="stack">{children}</div>
      </div>
    </div>
  );
}
