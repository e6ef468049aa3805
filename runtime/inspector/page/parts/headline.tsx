/** The head of an opened item: its name with its state, facts in a line, and buttons. */

import type { ComponentChildren, JSX } from 'preact';
import type { Standing } from '../data/standing.ts';
import { Clock, withCode } from './basics.tsx';
import { toneOf } from './chip.tsx';
import { Verdict } from './panel.tsx';

interface HeadlineProps {
  readonly title: string;
  /** Its state. */
  readonly chip: ComponentChildren;
  readonly meta: ComponentChildren;
  /** Buttons and links. */
  readonly children?: ComponentChildren;
}

export function Headline({ title, chip, meta, children }: HeadlineProps): JSX.Element {
  return (
    <header class="headline">
      <div>
        <h2>
          {title} &nbsp;{chip}
        </h2>
        <p class="meta">{meta}</p>
      </div>
      {children === undefined || children === null ? null : <div class="btns push">{children}</div>}
    </header>
  );
}

interface MetaFactProps {
  readonly name: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A fact of a headline; nothing without a value. */
export function MetaFact({ name, children }: MetaFactProps): JSX.Element | null {
  if (children === undefined) return null;
  return (
    <span>
      {name} <b class="num">{children}</b>
    </span>
  );
}

export function MetaTime({ name, at }: { readonly name: string; readonly at: number | string }): JSX.Element {
  return (
    <MetaFact name={name}>
      <Clock at={at} />
    </MetaFact>
  );
}

interface WhyProps {
  readonly standing: Standing;
  readonly why: string | undefined;
}

/** Why an item is in its state. */
export function Why({ standing, why }: WhyProps): JSX.Element | null {
  if (why === undefined) return null;
  return <Verdict mark={standing === 'failed' ? 'failed' : 'waiting'} tone={toneOf(standing)} title={withCode(why)} />;
}
