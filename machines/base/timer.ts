/**
 * The longest wait of one timer: a longer one overflows and fires at once. Longer waits take several timers; settings stay
 * below the limit.
 * @see CFG-2 in docs/specification.md
 * @see [setTimeout](https://nodejs.org/docs/latest-v20.x/api/timers.html#settimeoutcallback-delay-args)
 */

export const maxTimerMs = 2_147_483_647;

/** The same for settings, which are in seconds: 24.8 days. */
export const maxTimerSeconds = 2_147_483;

/**
 * Returns the milliseconds until a due time that was recorded at `sinceMs`, at least 0. A clock that was set back since then
 * does not lengthen the intended wait.
 */
export function waitMs(due: { readonly dueAtMs: number; readonly sinceMs: number; readonly nowMs: number }): number {
  return Math.max(0, due.dueAtMs - Math.max(due.nowMs, due.sinceMs));
}
