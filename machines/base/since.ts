/**
 * Times as texts: ISO 8601, and the start of a period such as "90s", "15m", "2h" and "3d".
 * @see CLI-6 in docs/specification.md
 */

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the start in Unix milliseconds; undefined if the text has none of these forms. */
export function sinceMs(text: string, nowMs: number): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (unitMs[unit] ?? 0);
  const time = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?$/.test(text) ? timeMs(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** Returns Unix milliseconds; NaN if the text is no time, also for a day that its month does not have. */
export function timeMs(text: string): number {
  const atMs = Date.parse(text);
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  // `Date.parse` alone takes 30 February for 2 March.
  const isReal = day === undefined || Number.isNaN(atMs) || new Date(Date.parse(day)).toISOString().startsWith(day);
  return isReal ? atMs : Number.NaN;
}

/** Formats Unix milliseconds as UTC, to the millisecond. */
export function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
