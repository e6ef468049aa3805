/** A change of the first steps, and why it was refused. @see SEC-1 in docs/specification.md */

import { useState } from 'preact/hooks';
import { wordsOf } from '../data/rpc.ts';
import type { Refusal } from '../parts/needs-fresh.tsx';

export interface Change {
  /** The current change; undefined if there is none. */
  readonly busy: string | undefined;
  /** Why the last change was refused. */
  readonly refused: Refusal | undefined;
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
