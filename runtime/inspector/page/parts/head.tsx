/** The head of a view, 48 px: its title, a count beside it, its controls on the right. */

import type { ComponentChildren, JSX } from 'preact';
import { chooseProfile } from '../data/profile.ts';
import { Scrolled } from './basics.tsx';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

interface HeadProps {
  readonly title: string;
  /** The total of what is listed: "34 live". */
  readonly count?: ComponentChildren;
  /** The profile, if the view shows only its rows. */
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

/** Shows that the view has only the rows of one profile; a click shows all. */
function ProfileTag({ chosen }: { readonly chosen: string }): JSX.Element {
  return (
    <Button
      class="in-profile"
      aria-label={`Only of profile ${chosen}: show all`}
      title="Show all profiles"
      onClick={() => chooseProfile(undefined)}
    >
      <span class="only-s">
        <Icon name="filter" small />
      </span>
      <span class="cut">{chosen}</span>
      <Icon name="close" small />
    </Button>
  );
}

interface BodyProps {
  readonly label?: string;
  readonly children: ComponentChildren;
}

/**
 * The scrolling content below the head, for views that are not a split.
 * @param label names content without focusable elements, so that keys can scroll it
 */
export function Body({ label, children }: BodyProps): JSX.Element {
  const stack = <div class="stack">{children}</div>;
  return label === undefined ? (
    <div class="body">{stack}</div>
  ) : (
    <Scrolled class="body" label={label}>
      {stack}
    </Scrolled>
  );
}
