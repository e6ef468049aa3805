/** The head of a view, 48 px: its title, a count beside it, its controls on the right. */

import type { ComponentChildren, JSX } from 'preact';
import { Scrolled } from './basics.tsx';

export interface HeadProps {
  readonly title: string;
  /** "34 live"; the total of what is listed. */
  readonly count?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Head({ title, count, children }: HeadProps): JSX.Element {
  return (
    <div class="bar">
      <h1>{title}</h1>
      {count === undefined ? null : <span class="sub num">{count}</span>}
      <span class="push" />
      {children}
    </div>
  );
}

/**
 * What scrolls below the head, for views that are no split.
 * @param label of content in which nothing takes the focus, so that keys can scroll it
 */
export function Body({
  label,
  children,
}: {
  readonly label?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const stack = <div class="stack">{children}</div>;
  return label === undefined ? (
    <div class="body">{stack}</div>
  ) : (
    <Scrolled class="body" label={label}>
      {stack}
    </Scrolled>
  );
}
