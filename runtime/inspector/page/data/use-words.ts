/**
 * The words that filter a list. The address has them too, so that Back and a bookmark keep them; they stay when an item of
 * the list is opened.
 * @see INS-2 in docs/specification.md
 */

import { useLayoutEffect, useState } from 'preact/hooks';
import type { Place } from './hash.ts';
import { goFiltered } from './place.ts';

export function useWords({ query }: Place): readonly [words: string, type: (words: string) => void] {
  const [words, setWords] = useState(query.q ?? '');
  // Before the next key, which would be lost.
  useLayoutEffect(() => {
    if (query.q !== undefined) setWords(query.q);
  }, [query.q]);
  return [
    words,
    (q) => {
      setWords(q);
      goFiltered({ ...query, q });
    },
  ];
}
