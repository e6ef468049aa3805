/**
 * whatsapp: WhatsApp, through Meta's Cloud API, or through the user's own bridge process with a linked device. The Cloud
 * API accepts free text only within 24 hours of the recipient's last message; some refusals come later, to the webhook of
 * the app, and are not seen here.
 * @see [Cloud API error codes](https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, objectAt, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withSingleStars } from '../../../machines/dispatch/chat-markup.ts';
import {
  limitedInChat,
  refused,
  transient,
  unknownOutcome,
  type VerifyOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { bearer, type Context, createDescribedTarget, type Description } from './described-target.ts';
import {
  codes,
  optionOf,
  type PlatformTarget,
  rateLimited,
  refusedAs,
  saying,
  type TargetPorts,
  verifiedAs,
  wordOf,
} from './platform-target.ts';

const limit = { max: 4_096, unit: 'utf16' } as const;
/** One message per six seconds to the same recipient. */
const pairWaitMs = 6_000;

/**
 * The id of a user for this business, which a webhook has instead of the number of a user who hides it. In the place of a
 * number, a message to it would be accepted and lost.
 */
const scopedId = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z\d]{1,128}$/;

export function createWhatsapp(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const apiBase = optionOf(settings, 'bridge_url');
  return apiBase === undefined
    ? createDescribedTarget(cloud, settings, ports)
    : createDescribedTarget(bridge, { ...settings, apiBase }, ports);
}

const cloud: Description = {
  name: 'whatsapp',
  base: 'https://graph.facebook.com/v23.0',
  needs: ['token', 'phone_number_id'],
  limit,
  maxPieces: 10,
  inert: withSingleStars,
  places: {
    form: new RegExp(`^\\+?[1-9]\\d{5,14}$|${scopedId.source}`),
    is: 'a number such as +15551234567, or a user’s id such as US.13491208655302741918',
  },
  headers: bearer,
  call({ chat, text, extra }, context) {
    const replyTo = wordOf(extra, 'reply_to', 'thread_id');
    return {
      path: `${senderOf(context)}/messages`,
      json: {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        ...(scopedId.test(chat) ? { recipient: chat } : { to: chat }),
        type: 'text',
        text: { body: text, preview_url: false },
        context: replyTo && { message_id: replyTo },
      },
    };
  },
  accepted({ status }, { messages }) {
    const [message] = Array.isArray(messages) ? messages : [];
    return status === 200 && isJsonObject(message) ? (message.id ?? true) : undefined;
  },
  verify: (context) =>
    context.ask({ method: 'GET', path: `${senderOf(context)}?fields=verified_name` }, ({ status, json }) =>
      status === 200 && isJsonObject(json) && json.error === undefined ? verifiedAs(json.verified_name) : undefined,
    ),
  // Meta documents that clients should read the codes, not the statuses.
  // An error without a code is one too.
  code: ({ error }) => (isJsonObject(error) ? (error.code ?? '') : undefined),
  meanings: {
    ...codes('auth', 0, 190, 33, 133010),
    ...codes('forbidden', 3, 10, 131005),
    131031: { refusal: 'forbidden', because: 'the platform has locked the business account' },
    368: { refusal: 'forbidden', because: 'the platform has restricted the business account' },
    ...codes('transient', 1, 2, 131000, 131016, 133004),
    ...codes('rateLimited', 4, 80007, 130429, 131048),
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
  },
  otherwiseMs: 60_000,
  judge(answer, json, { nowMs }) {
    const { code, message, error_subcode } = objectAt(json, 'error');
    const said = saying(answer.status, code);
    if (code === 100) {
      // The platform uses 100 for any wrong parameter.
      if (/must be at most \d+ characters/i.test(scalarText(message))) return refusedAs('tooLong', said);
      return error_subcode === 33
        ? refused('auth', `the platform does not know the phone_number_id, or the token may not use it (${said})`)
        : refusedAs('permanent', said);
    }
    if (code === 131056)
      return limitedInChat(rateLimited(said, { header: answer.headers.get('retry-after') }, nowMs(), pairWaitMs));
    if (typeof code === 'number' && code >= 200 && code <= 299) return refusedAs('forbidden', said);
    return undefined;
  },
};

function senderOf({ option }: Context): string {
  return `/${encodeURIComponent(option('phone_number_id'))}`;
}

/** `POST /send {chatId, message, replyTo?}` → `{success, messageId}`, 503 if not linked; `GET /health` → `{status}`. */
const bridge: Description = {
  name: 'whatsapp',
  needs: [],
  limit,
  maxPieces: 10,
  inert: withSingleStars,
  places: {
    form: /^(?:\+?[1-9]\d{5,14}|[\d-]{6,40}@(?:s\.whatsapp\.net|g\.us|lid))$/,
    is: 'a number such as +15551234567, or an id that ends in @g.us',
  },
  headers: bearer,
  call: ({ chat, text, extra }) => ({
    path: '/send',
    json: {
      chatId: chat.includes('@') ? chat : `${chat.replace('+', '')}@s.whatsapp.net`,
      message: text,
      replyTo: wordOf(extra, 'reply_to', 'thread_id'),
    },
  }),
  accepted: ({ status }, { success, messageId }) =>
    status === 200 && success === true ? (messageId ?? true) : undefined,
  verify: ({ ask }) =>
    ask({ method: 'GET', path: '/health' }, (answer, { status }): VerifyOutcome | undefined => {
      if (answer.status !== 200 || !isJsonObject(answer.json)) return undefined;
      if (status === 'connected') return { kind: 'verified' };
      return transient('the bridge runs and is not linked to an account; pair it with the phone') as VerifyOutcome;
    }),
  judge({ status }, { success }, { call }) {
    if (call.path !== '/send') return undefined;
    // The failure may be anywhere between the bridge and the phone.
    if (status === 500) return unknownOutcome(`the bridge failed while it sent (${saying(status)})`);
    return status === 200 && success === false ? refusedAs('permanent', saying(status)) : undefined;
  },
};
