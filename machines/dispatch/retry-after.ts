/**
 * Parses how long a platform asks to wait, in each of the formats that platforms use. The caller selects the fields.
 * @see [RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110.html#section-10.2.3)
 * @see DLV-4 in docs/specification.md
 */

/** A platform may send several; missing and invalid ones are ignored. */
export interface WaitHints {
  /** The Retry-After header: seconds, with a fraction on some platforms, or an HTTP date. */
  readonly header?: string | null | undefined;
  /** A field of the body, in seconds; a number or a decimal string. */
  readonly seconds?: unknown;
  readonly milliseconds?: unknown;
}

/** Longer waits are shortened to a day. */
const maxWaitMs = 86_400_000;
/** An HTTP date in its preferred form, and in the two obsolete ones that recipients must accept. */
const httpDate =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/** The longest of the given waits; undefined if there is none. */
export function retryAfterMs(hints: WaitHints, nowMs: number): number | undefined {
  const waits = [headerMs(hints.header, nowMs), scaled(hints.seconds, 1_000), scaled(hints.milliseconds, 1)].filter(
    (wait) => wait !== undefined,
  );
  return waits.length === 0 ? undefined : Math.min(maxWaitMs, Math.max(0, ...waits));
}

function headerMs(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (!httpDate.test(text)) return scaled(text, 1_000);
  // The third form has no zone and means GMT.
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

function scaled(value: unknown, factor: number): number | undefined {
  if (typeof value === 'string' && !/^\d{1,12}(?:\.\d{1,9})?$/.test(value)) return undefined;
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
  return Number.isFinite(number) && number >= 0 ? Math.ceil(number * factor) : undefined;
}
