/**
 * Counts durations in bins, so that percentiles of millions are known within one percent and two counts can be added.
 * Negative durations, caused by a clock that was set back, count as 0.
 * @see INS-4 in docs/specification.md
 */

/** The count of each bin. */
export type Durations = Map<number, number>;

const growth = Math.log(1.02);

export function addDuration(durations: Durations, ms: number): void {
  const bin = Math.round(Math.log1p(Math.max(0, ms)) / growth);
  durations.set(bin, (durations.get(bin) ?? 0) + 1);
}

export function addDurations(durations: Durations, more: ReadonlyMap<number, number>): void {
  for (const [bin, count] of more) durations.set(bin, (durations.get(bin) ?? 0) + count);
}

/** Returns the percentiles for shares from 0 to 1, in milliseconds; undefined if there are no durations. */
export function percentilesOf(
  durations: ReadonlyMap<number, number>,
  shares: readonly number[],
): readonly number[] | undefined {
  const bins = [...durations].sort(([one], [other]) => one - other);
  const total = bins.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  return shares.map((share) => {
    let left = Math.max(1, Math.ceil(share * total));
    const [bin] = bins.find(([, count]) => {
      left -= count;
      return left <= 0;
    }) ?? [0];
    return Math.round(Math.expm1(bin * growth));
  });
}
