/**
 * Posts a report of a run to the user's own system, signed according to Standard Webhooks. The id is the delivery's and
 * the same in each attempt: a receiver that deduplicates by it accepts a report once, so a report that may have arrived
 * is sent again. The URL comes from the configuration only and may be private; a redirect counts as a refusal.
 * @see [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md)
 * @see DLV-6 in docs/specification.md
 */

import { isJsonObject, scalarText } from '../../../machines/base/json.ts';
import { sources } from '../../../machines/config/sources.ts';
import { signEvent } from '../../../machines/webhook/sign-event.ts';
import type { Description } from './described-target.ts';
import { saying, transientFailure } from './platform-target.ts';

// Only the signature with a shared secret.
const { byPublicKey: _, ...scheme } = sources['standard-webhooks'].schemes[0];
/** Statuses that another attempt does not change, and the limit of all reports. */
const known: ReadonlySet<number> = new Set([401, 403, 410, 413, 429]);

export const http: Description = {
  name: 'http',
  needs: ['url', 'secret'],
  limit: { max: 1_000_000, unit: 'jsonBytes' },
  maxPieces: 1,
  takesEmpty: true,
  // Longer than the day in which the last attempt is made.
  deduplicatesForMs: 172_800_000,
  places: { only: 'platforms.http.url' },
  isOrderedByEvent: true,
  async call({ text, report }, { option, settings, nowMs }) {
    const { id, type, timestamp, data } = await report();
    const json = { type, timestamp, data: { ...data, text } };
    const own = isJsonObject(settings.options.headers) ? settings.options.headers : {};
    const use = { name: 'http', secret: option('secret') };
    const signed = signEvent(scheme, use, { payload: json, id, path: '', nowMs: nowMs() });
    return {
      path: '',
      json,
      ignoresBody: true,
      headers: {
        ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name.toLowerCase(), scalarText(value)])),
        ...signed?.headers,
      },
    };
  },
  accepted: ({ status }) => (status >= 200 && status < 300 ? true : undefined),
  verify: { unverifiable: 'the receiver shows with the first report whether it accepts the signature' },
  judge(answer, _, { nowMs }) {
    const { status } = answer;
    if (status < 400 || status >= 500 || known.has(status)) return undefined;
    return transientFailure(answer, `the receiver did not accept the report (${saying(status)})`, nowMs());
  },
};
