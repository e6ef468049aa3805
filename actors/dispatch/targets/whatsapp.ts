/**
 * whatsapp: WhatsApp, through Meta's Cloud API, or through the user's own bridge process with a linked device. The Cloud
 * API accepts free text only within 24 hours of the recipient's last message; some refusals come later, to the webhook of
 * the app, and are not seen here.
 * @see [Cloud API error codes](https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import {
  deliveredAs,
  limitedInChat,
  refused,
  type SendOutcome,
  transient,
  unknownOutcome,
  type VerifyOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
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
  refusedAs,
  saying,
  type TargetPorts,
  verifiedAs,
  wordOf,
  wrongPlace,
} from './platform-target.ts';

const defaultBase = 'https://graph.facebook.com/v23.0';
const limit = { most: 4_096, unit: 'utf16' } as const;
/** One message per six seconds to the same recipient. */
const pairWaitMs = 6_000;

/**
 * The id of a user for this business, which a webhook has instead of the number of a user who hides it. In the place of a
 * number, a message to it would be accepted and lost.
 */
const scopedId = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z\d]{1,128}$/;

/** Meta documents that clients should read the codes, not the statuses. */
const meanings: Readonly<Record<string, CodeMeaning>> = {
  0: 'auth',
  190: 'auth',
  3: 'forbidden',
  10: 'forbidden',
  131005: 'forbidden',
  131031: { refusal: 'forbidden', because: 'the platform has locked the business account' },
  368: { refusal: 'forbidden', because: 'the platform has restricted the business account' },
  1: 'transient',
  2: 'transient',
  131000: 'transient',
  131016: 'transient',
  133004: 'transient',
  4: 'rateLimited',
  80007: 'rateLimited',
  130429: 'rateLimited',
  131048: 'rateLimited',
  131056: 'rateLimited',
  33: 'auth',
  133010: 'auth',
  131026: { refusal: 'notFound', because: 'the recipient cannot be reached on the platform' },
  131021: { refusal: 'notFound', because: 'the recipient is the sender' },
  131030: { refusal: 'forbidden', because: 'a test number writes to listed recipients only' },
  131047: {
    refusal: 'forbidden',
    because: 'the recipient has not written within 24 hours; until then the platform takes approved templates only',
  },
  131049: { refusal: 'forbidden', because: 'the platform holds the message back to spare the recipient' },
  130497: { refusal: 'forbidden', because: 'the business account may not write to that country' },
  131042: { refusal: 'forbidden', because: 'the business account has an open payment matter' },
  131050: { refusal: 'forbidden', because: 'the recipient has opted out' },
};

export function createWhatsapp(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  return optionOf(settings, 'bridge_url') === undefined ? createCloud(settings, ports) : createBridge(settings, ports);
}

function createCloud(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  const headers = { authorization: `Bearer ${optionOf(settings, 'token') ?? ''}` };
  const sender = `/${encodeURIComponent(optionOf(settings, 'phone_number_id') ?? '')}`;

  return createPieceTarget(
    {
      name: 'whatsapp',
      limit,
      maxPieces: 10,
      problem: missing('whatsapp', settings, 'token', 'phone_number_id'),
      placeProblem: (chat) =>
        /^\+?[1-9]\d{5,14}$/.test(chat) || scopedId.test(chat)
          ? undefined
          : wrongPlace(chat, 'a number such as +15551234567, or a user’s id such as US.13491208655302741918'),
      send({ chat, text, extra }, signal) {
        const replyTo = wordOf(extra, 'reply_to', 'thread_id');
        const body = {
          messaging_product: 'whatsapp',
          recipient_type: 'individual',
          ...(scopedId.test(chat) ? { recipient: chat } : { to: chat }),
          type: 'text',
          text: { body: text, preview_url: false },
          ...(replyTo === undefined ? {} : { context: { message_id: replyTo } }),
        };
        return client.ask({ method: 'POST', path: `${sender}/messages`, headers, json: body }, signal, (answer) => {
          const { json, status } = answer;
          const [message] = isJsonObject(json) && Array.isArray(json.messages) ? json.messages : [];
          return status === 200 && isJsonObject(message) ? deliveredAs(message.id) : readCloud(answer, ports.now());
        });
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: `${sender}?fields=verified_name`, headers }, signal, (answer) =>
          answer.status === 200 && isJsonObject(answer.json) && answer.json.error === undefined
            ? verifiedAs(answer.json.verified_name)
            : readCloud(answer, ports.now()),
        ),
    },
    settings,
    ports,
  );
}

function readCloud(answer: HttpAnswer, nowMs: number): SendOutcome {
  const error = isJsonObject(answer.json) ? answer.json.error : undefined;
  if (!isJsonObject(error)) return readStatus(answer, { nowMs });
  const { code, message } = error;
  const said = saying(answer.status, code);
  if (code === 100) {
    // The platform uses 100 for any wrong parameter.
    if (/must be at most \d+ characters/i.test(scalarText(message))) return refusedAs('tooLong', said);
    return error.error_subcode === 33
      ? refused('auth', `the platform does not know the phone_number_id, or the token may not use it (${said})`)
      : refusedAs('permanent', said);
  }
  if (typeof code === 'number' && code >= 200 && code <= 299) return refusedAs('forbidden', said);
  const isPair = code === 131056;
  const outcome = readCode(answer, { code, meanings, nowMs, otherwiseMs: isPair ? pairWaitMs : 60_000 });
  return isPair ? limitedInChat(outcome) : outcome;
}

/** `POST /send {chatId, message, replyTo?}` → `{success, messageId}`, 503 if not linked; `GET /health` → `{status}`. */
function createBridge(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const bridge = { ...settings, apiBase: optionOf(settings, 'bridge_url') ?? '' };
  const client = createClient(bridge, '');
  const token = optionOf(settings, 'token');
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };

  return createPieceTarget(
    {
      name: 'whatsapp',
      limit,
      maxPieces: 10,
      placeProblem: (chat) =>
        /^(?:\+?[1-9]\d{5,14}|[\d-]{6,40}@(?:s\.whatsapp\.net|g\.us|lid))$/.test(chat)
          ? undefined
          : wrongPlace(chat, 'a number such as +15551234567, or an id that ends in @g.us'),
      send({ chat, text, extra }, signal) {
        const replyTo = wordOf(extra, 'reply_to', 'thread_id');
        const body = {
          chatId: chat.includes('@') ? chat : `${chat.replace('+', '')}@s.whatsapp.net`,
          message: text,
          ...(replyTo === undefined ? {} : { replyTo }),
        };
        return client.ask({ method: 'POST', path: '/send', headers, json: body }, signal, (answer) => {
          const { json, status } = answer;
          if (status === 200 && isJsonObject(json) && json.success === true) return deliveredAs(json.messageId);
          // The failure may be anywhere between the bridge and the phone.
          if (status === 500) return unknownOutcome(`the bridge failed while it sent (${saying(status)})`);
          if (status === 200 && isJsonObject(json) && json.success === false)
            return refusedAs('permanent', saying(status));
          return readStatus(answer, { nowMs: ports.now() });
        });
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: '/health', headers }, signal, (answer): VerifyOutcome | SendOutcome => {
          if (answer.status !== 200 || !isJsonObject(answer.json)) return readStatus(answer, { nowMs: ports.now() });
          return answer.json.status === 'connected'
            ? { kind: 'verified' }
            : transient('the bridge runs and is not linked to an account; pair it with the phone');
        }),
    },
    bridge,
    ports,
  );
}
