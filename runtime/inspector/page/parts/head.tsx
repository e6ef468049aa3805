/** The head of a view, 48 px: its title, a count beside it, its controls on the right. */

import type { ComponentChildren, JSX } from 'preact';
import { chooseProfile } from '../data/profile.ts';
import { Scrolled } from './basics.tsx';
import { Icon } from './icons.tsx';

export interface HeadProps {
  readonly title: string;
  /** "34 live"; the total of what is listed. */
  readonly count?: ComponentChildren;
  /** The profile whose rows alone the view shows. */
  readonly profile?: string | undefined;
  readonly children?: ComponentChildren;
}

export function Head({ title, count, profile, children }: HeadProps): JSX.Element {
  return (
    <div class="bar">
      <h1>{title}</h1>
      {count === undefined ? null : <span class="sub num">{count}</span>}
      {profile === undefined ? null : <ProfileTag chosen={profile} />}
      <span class="push" />
      {children}
    </div>
  );
}

/** Says that the view shows the rows of one profile alone, and shows those of all again. */
function ProfileTag({ chosen }: { readonly chosen: string }): JSX.Element {
  return (
    <button
      type="button"
      class="btn in-profile"
      aria-label={`Only of profile ${chosen}: show all`}
      title="Show all profiles"
      onClick={() => chooseProfile(undefined)}
    >
      <span class="only-s">
        <Icon name="filter" small />
      </span>
      <span class="cut">{chosen}</span>
      <Icon name="close" small />
    </button>
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
