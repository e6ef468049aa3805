/** The small parts of every view: times, results, JSON, copied texts. */

import type { ComponentChildren, JSX, RefObject } from 'preact';
import { shownJson } from '../../../../machines/base/shown-json.ts';
import { useNow } from '../data/clock.ts';
import { useCopy } from '../data/copy-text.ts';
import { formatClock, formatFull } from '../data/format.ts';
import { Button } from './button.tsx';

export function Clock({ at }: { readonly at: number | string }): JSX.Element {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={formatFull(at)}>
      {formatClock(at, now)}
    </time>
  );
}

export function Refused({ why }: { readonly why: string }): JSX.Element {
  return (
    <p class="refusal" role="alert">
      {withCode(why)}
    </p>
  );
}

interface ScrolledProps {
  readonly label: string;
  readonly class?: string;
  readonly frame?: RefObject<HTMLDivElement | null>;
  readonly children: ComponentChildren;
}

/** A box that scrolls: it has a name, and a tab stop so that keys can scroll it. */
export function Scrolled({ label, class: name = '', frame, children }: ScrolledProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form.
    <div
      ref={frame ?? null}
      class={`scrolled ${name}`}
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
      tabIndex={0}
    >
      {children}
    </div>
  );
}

/** A value as indented JSON that can be copied. */
export function JsonText({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return <LongText text={shownJson(value)} label={label} />;
}

export function LongText({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const [word, copy] = useCopy(text);
  return (
    <div class="long">
      <Button class="quiet copy" onClick={copy}>
        {word}
      </Button>
      <Scrolled label={label}>
        <pre>{text}</pre>
      </Scrolled>
    </div>
  );
}

/** Formats text in backticks as code. */
export function withCode(text: string): ComponentChildren {
  return text.split('`').map((part, at) => (at % 2 === 1 ? <code key={`${at} ${part}`}>{part}</code> : part));
}
