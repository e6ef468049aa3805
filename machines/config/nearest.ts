/** Finds the known word nearest to a mistyped one, for "did you mean". */

/** With more edits it is another word, not a typing error. */
const maxEdits = 2;

export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestEdits = maxEdits + 1;
  for (const candidate of known) {
    // Also avoids comparing an overlong name, which a caller may send, with each known one.
    if (Math.abs(candidate.length - word.length) >= bestEdits) continue;
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < bestEdits && edits < Math.max(word.length, candidate.length)) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** The remedy for an unknown name: the nearest known one, or where they are listed. */
export function meantOr(word: string, known: readonly string[], otherwise: string): string {
  const near = nearest(word, known);
  return near === undefined ? otherwise : `did you mean "${near}"?`;
}

/** Levenshtein distance; the words are short. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const same = one[at - 1] === other[to - 1] ? 0 : 1;
      next.push(Math.min((next[to - 1] ?? 0) + 1, (row[to] ?? 0) + 1, (row[to - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
