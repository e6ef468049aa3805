/** Starting a program or lowering a guard needs a recently opened link. @see SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { guest } from '../data/session.ts';
import { withCode } from './basics.tsx';
import { Banner } from './panel.tsx';
import { SignIn } from './sign-in.tsx';

/** Asks for a link, or for the password again, which shows that it is still the same person. */
export function NeedsFresh({ what, button }: { readonly what: string; readonly button?: string }): JSX.Element {
  const who = useCell(guest);
  const again = button === undefined ? 'the button' : <b>{button}</b>;
  if (who?.isByPassword) {
    return (
      <Banner mark="waiting" alert>
        <b class="strong">{what}</b> What starts a program, or gives it more rights, needs your password again. Then
        press {again} again.
        <SignIn name={who.who} />
      </Banner>
    );
  }
  return (
    <Banner mark="waiting" alert>
      <b class="strong">{what}</b> What starts a program, or gives it more rights, needs a link that was opened in the
      last 10 minutes. Run <code>agent inspect --web</code> on this computer and open its link in this browser, then
      come back and press {again} again.
    </Banner>
  );
}

/** As `wordsOf` returns it. */
export interface Refusal {
  readonly why: string;
  readonly code: string;
}

interface WhyNotProps {
  readonly refused: Refusal | undefined;
  /** What was not done, where the session must be renewed first. */
  readonly what?: string;
  /** The button to press again; not needed if there is one button. */
  readonly button?: string;
}

/** Shows why nothing was changed. */
export function WhyNot({ refused, button, what = 'Nothing was changed yet.' }: WhyNotProps): JSX.Element | null {
  if (refused === undefined) return null;
  if (refused.code === 'link-not-fresh') {
    return <NeedsFresh what={what} {...(button === undefined ? {} : { button })} />;
  }
  return (
    <Banner mark="failed" alert>
      {withCode(refused.why)}
    </Banner>
  );
}
