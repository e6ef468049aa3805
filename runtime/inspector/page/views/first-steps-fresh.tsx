/** A change of the first steps: done at once, or with a link that was opened just now. @see SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { wordsOf } from '../data/rpc.ts';
import { withCode } from '../parts/basics.tsx';
import { Banner } from '../parts/panel.tsx';

export interface Change {
  /** What is being done; undefined while nothing is. */
  readonly busy: string | undefined;
  /** Why the last one was refused. */
  readonly refused: { readonly why: string; readonly code: string } | undefined;
  run(words: string, act: () => Promise<void>): void;
}

export function useChange(): Change {
  const [busy, setBusy] = useState<string | undefined>(undefined);
  const [refused, setRefused] = useState<Change['refused']>(undefined);
  return {
    busy,
    refused,
    run(words, act) {
      setBusy(words);
      setRefused(undefined);
      act()
        .catch((error: unknown) => setRefused(wordsOf(error)))
        .finally(() => setBusy(undefined));
    },
  };
}

/** Why nothing was changed. The page has no password to ask for: a link shows that the person has a terminal here. */
export function WhyNot({ refused }: Pick<Change, 'refused'>): JSX.Element | null {
  if (refused === undefined) return null;
  if (refused.code !== 'link-not-fresh') {
    return (
      <Banner mark="failed" alert>
        {withCode(refused.why)}
      </Banner>
    );
  }
  return (
    <Banner mark="waiting" alert>
      <b>Nothing was changed yet.</b> This needs a link that was opened in the last 10 minutes. Run{' '}
      <code>agent inspect --web</code> on this computer, open its link in this browser, then press the button again.
    </Banner>
  );
}
