/**
 * Posts a report of a run to a system of the user's own, signed as Standard Webhooks has it. The id is that of the delivery
 * and the same in each attempt: a receiver that remembers it takes a report once, so one that may have arrived is sent again.
 * The address comes from the configuration alone and may be private; a redirect is a refusal.
 * @see [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md)
 * @see DLV-6 in docs/specification.md
 */

import { isJsonObject, scalarText } from '../../../machines/base/json.ts';
import { sources } from '../../../machines/config/sources.ts';
import { transient } from '../../../machines/dispatch/send-outcome.ts';
import { sealEvent } from '../../../machines/webhook/scheme.ts';
import type { Description } from './described-target.ts';
import { saying } from './platform-target.ts';

// Signed by a secret alone.
const { byPublicKey: _, ...scheme } = sources['standard-webhooks'].schemes[0];
/** Statuses below 500 that another attempt does not change; the reading of statuses knows the waits. */
const final: ReadonlySet<number> = new Set([401, 403, 410, 413]);
const known: ReadonlySet<number> = new Set([408, 425, 429]);

export const http: Description = {
  name: 'http',
  needs: ['url', 'secret'],
  limit: { most: 1_000_000, unit: 'jsonBytes' },
  maxPieces: 1,
  takesEmpty: true,
  // Later attempts end within a day.
  deduplicatesForMs: 172_800_000,
  places: { only: 'platforms.http.url' },
  async call({ text, report }, { option, settings, nowMs }) {
    const { id, type, timestamp, data } = await report();
    const json = { type, timestamp, data: { ...data, text } };
    const own = isJsonObject(settings.options.headers) ? settings.options.headers : {};
    const use = { name: 'http', secret: option('secret') };
    const sealed = sealEvent(scheme, use, { payload: json, id, path: '', nowMs });
    return {
      path: '',
      json,
      headers: {
        ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name.toLowerCase(), scalarText(value)])),
        ...sealed?.headers,
      },
    };
  },
  accepted: ({ status }) => (status >= 200 && status < 300 ? true : undefined),
  verify: { unverifiable: 'the receiver shows with the first report whether it accepts the signature' },
  judge({ status }) {
    if (status < 400 || status >= 500 || final.has(status) || known.has(status)) return undefined;
    return transient(`the receiver did not accept the report (${saying(status)})`);
  },
};
