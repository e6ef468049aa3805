/** What starts a program, or lowers a guard, needs a link that was opened just now. @see SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { Banner } from './panel.tsx';

/** The page has no password to ask for: a link shows that the person has a terminal of this computer. */
export function NeedsFresh({ what, button }: { readonly what: string; readonly button: string }): JSX.Element {
  return (
    <Banner mark="waiting" alert>
      <b class="strong">{what}</b> What starts a program, or gives it more rights, needs a link that was opened in the
      last 10 minutes. Run <code>agent inspect --web</code> on this computer and open its link in this browser, then
      come back and press <b>{button}</b> again.
    </Banner>
  );
}
