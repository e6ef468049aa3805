/**
 * sms: text messages through Twilio. Each piece costs money, so there are few. "Delivered" here means that Twilio
 * accepted the message: the carrier's result comes later, elsewhere. A standard API key may not read the account
 * resource, so it is verified by listing one message.
 * @see [Messages resource](https://www.twilio.com/docs/messaging/api/message-resource)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { deliveredAs, type SendOutcome, type VerifyOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  readCode,
  readStatus,
  type TargetPorts,
  verifiedAs,
} from './platform-target.ts';

const defaultBase = 'https://api.twilio.com';
const sender = { refusal: 'permanent', because: 'the provider refuses the sender; check platforms.sms.from' } as const;

/** @see https://www.twilio.com/docs/api/errors */
const meanings: Readonly<Record<string, CodeMeaning>> = {
  20003: 'auth',
  20404: 'auth',
  20005: 'auth',
  20429: 'rateLimited',
  14107: 'rateLimited',
  30001: 'rateLimited',
  21611: 'rateLimited',
  20500: 'transient',
  20503: 'transient',
  21211: 'notFound',
  21217: 'notFound',
  21265: 'notFound',
  21266: 'notFound',
  21604: 'notFound',
  21614: 'notFound',
  21408: { refusal: 'forbidden', because: 'the account may not write to that country; allow it with the provider' },
  21608: { refusal: 'forbidden', because: 'a trial account writes to verified numbers only' },
  21610: { refusal: 'forbidden', because: 'the recipient has opted out and must send START first' },
  21612: 'forbidden',
  21212: sender,
  21603: sender,
  21606: sender,
  21659: sender,
  21660: sender,
  21661: sender,
  21703: sender,
  21602: 'permanent',
  21605: 'tooLong',
  21617: 'tooLong',
  21658: 'tooLong',
};

export function createSms(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  const sid = optionOf(settings, 'account_sid') ?? '';
  const from = optionOf(settings, 'from');
  const service = optionOf(settings, 'messaging_service_sid');
  // An API key has a name and a secret of its own instead of the auth token.
  const [user, secret] = [
    optionOf(settings, 'api_key') ?? sid,
    optionOf(settings, 'api_secret') ?? optionOf(settings, 'auth_token') ?? '',
  ];
  const headers = { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` };
  const account = `/2010-04-01/Accounts/${encodeURIComponent(sid)}`;

  return createPieceTarget(
    {
      name: 'sms',
      limit: { most: 1_600, unit: 'utf16' },
      maxPieces: 5,
      problem:
        missing('sms', settings, 'account_sid', ...(secret === '' ? ['auth_token'] : [])) ??
        (from === undefined && service === undefined ? missing('sms', settings, 'from') : undefined),
      send({ chat, text }, signal) {
        const form = {
          To: chat,
          ...(service === undefined ? { From: from ?? '' } : { MessagingServiceSid: service }),
          Body: text,
        };
        return client.ask({ method: 'POST', path: `${account}/Messages.json`, headers, form }, signal, (answer) => {
          const { json, status } = answer;
          const taken = status === 201 && isJsonObject(json) && typeof json.sid === 'string';
          // Twilio may return a message that has already failed.
          if (taken && json.error_code !== null && json.error_code !== undefined)
            return readCode(answer, { code: json.error_code, meanings, nowMs: ports.now() });
          return taken ? deliveredAs(json.sid) : read(answer, ports.now());
        });
      },
      verify(signal) {
        const isKey = user !== sid;
        const path = isKey ? `${account}/Messages.json?PageSize=1` : `${account}.json`;
        return client.ask({ method: 'GET', path, headers }, signal, (answer): SendOutcome | VerifyOutcome => {
          const { json, status } = answer;
          if (status === 200 && isJsonObject(json) && (isKey ? Array.isArray(json.messages) : json.sid === sid))
            return isKey ? { kind: 'verified' } : verifiedAs(json.friendly_name);
          return isKey && status === 403
            ? {
                kind: 'unverifiable',
                reason: 'the API key may not read messages; whether it may send shows with the first',
              }
            : read(answer, ports.now());
        });
      },
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json } = answer;
  if (!isJsonObject(json) || typeof json.code !== 'number' || answer.status < 300) return readStatus(answer, { nowMs });
  return readCode(answer, { code: json.code, meanings, nowMs });
}
