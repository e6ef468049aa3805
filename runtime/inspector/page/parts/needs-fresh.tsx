/** What starts a program, or lowers a guard, needs a link that was opened just now. @see SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { guest } from '../data/session.ts';
import { Banner } from './panel.tsx';
import { SignIn } from './sign-in.tsx';

/** A link, or the password again, shows that it is still the same person. */
export function NeedsFresh({ what, button }: { readonly what: string; readonly button: string }): JSX.Element {
  const who = useCell(guest);
  if (who?.isByPassword) {
    return (
      <Banner mark="waiting" alert>
        <b class="strong">{what}</b> What starts a program, or gives it more rights, needs your password again. Then
        press <b>{button}</b> again.
        <SignIn name={who.who} />
      </Banner>
    );
  }
  return (
    <Banner mark="waiting" alert>
      <b class="strong">{what}</b> What starts a program, or gives it more rights, needs a link that was opened in the
      last 10 minutes. Run <code>agent inspect --web</code> on this computer and open its link in this browser, then
      come back and press <b>{button}</b> again.
    </Banner>
  );
}
