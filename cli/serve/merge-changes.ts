/**
 * Merges the changes of lists that come within a short time into one notification each, because a reload or a start changes
 * the list once for every server, and a client lists everything anew each time.
 * @see CLI-5 in docs/specification.md
 */

/** Less than a person notices. */
const windowMs = 250;

/** Returns a function that reports each kind of change once, a moment after the first of them. */
export function mergeChanges(report: (change: string) => void): (change: string) => void {
  const waiting = new Set<string>();
  return (change) => {
    const isFirst = waiting.size === 0;
    waiting.add(change);
    if (!isFirst) return;
    setTimeout(() => {
      const changes = [...waiting];
      waiting.clear();
      for (const each of changes) report(each);
    }, windowMs).unref();
  };
}
