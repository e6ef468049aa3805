/** A change that a person has asked for: under way, or refused. */

import { useState } from 'preact/hooks';
import { wordsOf } from '../data/rpc.ts';
import type { Refusal } from './needs-fresh.tsx';

export interface Attempt {
  /** What is under way: "Removing…"; undefined if nothing is. */
  readonly busy: string | undefined;
  /** Why the last change was refused, and its words. */
  readonly refused: (Refusal & { readonly words: string }) | undefined;
  /**
   * Resolves with whether the change was begun: not while another one is under way.
   * @param failed is called instead of setting `refused`
   */
  attempt(words: string, change: () => Promise<unknown>, failed?: (refusal: Refusal) => void): Promise<boolean>;
}

export function useAttempt(): Attempt {
  const [busy, setBusy] = useState<string>();
  const [refused, setRefused] = useState<Attempt['refused']>();
  return {
    busy,
    refused,
    async attempt(words, change, failed) {
      // The keys and the palette do not know that the button is disabled.
      if (busy !== undefined) return false;
      setBusy(words);
      setRefused(undefined);
      try {
        await change();
      } catch (error) {
        const { why, code } = wordsOf(error);
        if (failed === undefined) setRefused({ why, code, words });
        else failed({ why, code });
      } finally {
        setBusy(undefined);
      }
      return true;
    },
  };
}
