/**
 * Pushes to a user, group or room of LINE as an official account. The platform deduplicates a message by its retry key for a
 * day, and answers a repeated one with 409. A push counts towards the messages of the month that the account's plan includes.
 * @see [Send push message](https://developers.line.biz/en/reference/messaging-api/#send-push-message) and
 * [retries](https://developers.line.biz/en/docs/messaging-api/retrying-api-request/)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, scalarText } from '../../../machines/base/json.ts';
import { refused } from '../../../machines/dispatch/send-outcome.ts';
import { bearer, type Description } from './described-target.ts';
import { saying, wordOf } from './platform-target.ts';

export const line: Description = {
  name: 'line',
  base: 'https://api.line.me',
  needs: ['token'],
  limit: { max: 5_000, unit: 'utf16' },
  // Each counts towards the plan.
  maxPieces: 5,
  // An hour less than the platform remembers.
  deduplicatesForMs: 82_800_000,
  headers: bearer,
  call: ({ chat, text, extra, key, index }) => ({
    path: '/v2/bot/message/push',
    headers: { 'x-line-retry-key': uuidOf(key) },
    json: {
      to: chat,
      messages: [{ type: 'text', text, quoteToken: index === 0 ? wordOf(extra, 'quote_token') : undefined }],
    },
  }),
  accepted({ status }, { sentMessages }) {
    if (status !== 200 && status !== 409) return undefined;
    const [sent] = Array.isArray(sentMessages) ? sentMessages : [];
    return isJsonObject(sent) ? (sent.id ?? true) : status === 409 || undefined;
  },
  verify: {
    call: { path: '/v2/bot/info' },
    account: ({ userId, displayName }) => (typeof userId === 'string' ? (displayName ?? '') : undefined),
  },
  // A limit of requests passes; that of the month does so only with the next one, or another plan.
  judge: ({ status }, { message }) =>
    status === 429 && /monthly limit/i.test(scalarText(message))
      ? refused('forbidden', `the account has used up its messages of the month (${saying(status)})`)
      : undefined,
};

/** The key in the form of a UUID, version 4. */
function uuidOf(key: string): string {
  const hex = Buffer.from(key, 'base64url').toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
