/**
 * Runs work that cannot be interrupted by itself, a schema's compilation or a check against it, for so long and no longer:
 * whatever a stranger's schema makes it do, the thread is free again. Knows nothing of schemas.
 * @see LIF-13 in docs/specification.md
 */

import { createContext, Script } from 'node:vm';

export type TimedVerdict<Value> = { readonly kind: 'done'; readonly value: Value } | { readonly kind: 'late' };

const idle = (): void => {};
const place: { work: () => void } = { work: idle };
createContext(place);
/** The engine's own watchdog ends what is called from a script, and there is no other way to. */
const script = new Script('work()');

/** Throws what the work throws. About a tenth of a millisecond dearer than the work. */
export function withinTime<Value>(limitMs: number, work: () => Value): TimedVerdict<Value> {
  let verdict: TimedVerdict<Value> = { kind: 'late' };
  place.work = () => {
    verdict = { kind: 'done', value: work() };
  };
  try {
    script.runInContext(place, { timeout: limitMs });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
  } finally {
    place.work = idle;
  }
  return verdict;
}
