/**
 * sms: text messages through Twilio. Each piece costs money, so there are few. "Delivered" here means that Twilio
 * accepted the message: the carrier's result comes later, elsewhere. A standard API key may not read the account
 * resource, so it is verified by listing one message.
 * @see [Messages resource](https://www.twilio.com/docs/messaging/api/message-resource)
 * @see DLV-1 in docs/specification.md
 */

import type { VerifyOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { Context, Description } from './described-target.ts';
import { codes, verifiedAs } from './platform-target.ts';

const sender = { refusal: 'permanent', because: 'the provider refuses the sender; check platforms.sms.from' } as const;

const accountOf = ({ option }: Pick<Context, 'option'>): string =>
  `/2010-04-01/Accounts/${encodeURIComponent(option('account_sid'))}`;

export const sms: Description = {
  name: 'sms',
  base: 'https://api.twilio.com',
  needs: (option) => [
    'account_sid',
    ...(option('api_secret') === '' ? ['auth_token'] : []),
    ...(option('messaging_service_sid') === '' ? ['from'] : []),
  ],
  limit: { max: 1_600, unit: 'utf16' },
  maxPieces: 5,
  headers({ option }) {
    // An API key has a name and a secret of its own instead of the auth token.
    const user = option('api_key') || option('account_sid');
    const secret = option('api_secret') || option('auth_token');
    return { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` };
  },
  call({ chat, text }, context) {
    const service = context.option('messaging_service_sid');
    const from = service === '' ? { From: context.option('from') } : { MessagingServiceSid: service };
    return { path: `${accountOf(context)}/Messages.json`, form: { To: chat, ...from, Body: text } };
  },
  // Twilio may return a message that has already failed.
  accepted: ({ status }, { sid, error_code }) =>
    status === 201 && typeof sid === 'string' && (error_code ?? null) === null ? sid : undefined,
  async verify(context) {
    const { option } = context;
    const sid = option('account_sid');
    const isKey = !['', sid].includes(option('api_key'));
    const path = isKey ? `${accountOf(context)}/Messages.json?PageSize=1` : `${accountOf(context)}.json`;
    return context.ask({ method: 'GET', path }, ({ status }, json): VerifyOutcome | undefined => {
      if (status === 200 && (isKey ? Array.isArray(json.messages) : json.sid === sid))
        return isKey ? { kind: 'verified' } : verifiedAs(json.friendly_name);
      return isKey && status === 403
        ? {
            kind: 'unverifiable',
            reason: 'the API key may not read messages; whether it may send shows with the first',
          }
        : undefined;
    });
  },
  code: ({ code, error_code }, status) => (status < 300 ? (error_code ?? undefined) : code),
  /** @see https://www.twilio.com/docs/api/errors */
  meanings: {
    ...codes('auth', 20003, 20404, 20005),
    ...codes('rateLimited', 20429, 14107, 30001, 21611),
    ...codes('transient', 20500, 20503),
    ...codes('notFound', 21211, 21217, 21265, 21266, 21604, 21614),
    21408: { refusal: 'forbidden', because: 'the account may not write to that country; allow it with the provider' },
    21608: { refusal: 'forbidden', because: 'a trial account writes to verified numbers only' },
    21610: { refusal: 'forbidden', because: 'the recipient has opted out and must send START first' },
    21612: 'forbidden',
    ...codes(sender, 21212, 21603, 21606, 21659, 21660, 21661, 21703),
    21602: 'permanent',
    ...codes('tooLong', 21605, 21617, 21658),
  },
};
