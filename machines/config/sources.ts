/**
 * The webhook sources that a route can name (`source: stripe`), as data: how requests are verified, where event type and
 * delivery id are, the handshake, and the kind of secret. Each row links to the provider's page.
 * @see SRC-1 in docs/specification.md
 */

import type { Algorithm, JwtRule, Place, SignatureScheme, Timestamp } from './signature-scheme.ts';

export interface Source {
  readonly title: string;
  /** The provider's page on its signatures. */
  readonly page: string;
  /** The first scheme whose place has a value verifies the request. */
  readonly schemes: readonly SignatureScheme[];
  /**
   * The signed text if a time is sent too. The provider lets the owner name both headers, so the route names them in
   * `signature`: the time is required only if it has a name there.
   */
  readonly timed?: string;
  /** The event type: the first that is present; the texts of a list are joined by dots. */
  readonly event: readonly (Place | readonly Place[])[];
  /** If no text gives it: the key of the body beside this one is the event type. */
  readonly eventKeyBeside?: string;
  /**
   * The places of the delivery id, which is the same in all retries: the first that is present; in a list all must be. Empty
   * if the provider sends none.
   */
  readonly id: readonly (Place | readonly Place[])[];
  /**
   * For a provider without delivery ids that signs each retry again but repeats the body, which contains the event's time:
   * the body's digest is the id. This is the place by which two bodies differ; test events fill it.
   */
  readonly bodyDiffersBy?: Place;
  /** The handshake before the first event, or now and then; absent: none. */
  readonly handshake?: HandshakeName;
  /** Absent: an object. */
  readonly body?: BodyRule;
  /** Whether events say no more than that something has changed, so that each may have the body of the one before. */
  readonly repeatsBody?: true;
  /** Whether several events may have the same body and differ only in their type, which is not signed. */
  readonly sendsBodyTwice?: true;
  /** The answer to accepted or ignored events, if 202 and the gateway's own body are not enough. */
  readonly answer?: Answer;
  /**
   * Seconds within which the provider wants an answer, if a delivery may take longer: such an event is then answered before
   * it is delivered (DIS-2).
   */
  readonly answerSeconds?: number;
  /** The header of requests that the provider was set up not to sign, and what to change there. */
  readonly unsignedBy?: { readonly header: string; readonly cure: string };
  /** The route's key for the secret; absent: `secret`. */
  readonly secretKey?: 'verify_token';
  /** What to enter at the provider, for a person who has just subscribed, with {url} and {secret}. */
  readonly setup?: string;
  /**
   * What the provider's secret is and how it looks; one with the prefix of another kind is a finding. `typed`: the owner
   * types it at the provider, so any strong text will do. `sent`: the provider sends it in its handshake, so a subscription
   * is created without it; `silently`: no person needs it.
   */
  readonly secret: {
    readonly is: string;
    readonly looks?: RegExp;
    readonly typed?: true;
    readonly sent?: true | 'silently';
  };
}

/** How a route treats a body that is an array (SRC-4): refuse it, one event per item, or one event. */
export const bodyShapes = ['object', 'each', 'raw'] as const;
export type BodyShape = (typeof bodyShapes)[number];

export interface BodyRule {
  readonly shape: BodyShape;
  /** The path of the array within an object. */
  readonly items?: string;
  /** A key whose text is JSON; the event gets the parsed value. */
  readonly json?: string;
  /** The path of a text that is base64; the event gets the decoded text, or its value if that is JSON. */
  readonly base64?: string;
  /** A key of each item that is a credential; it is removed from events. */
  readonly omit?: string;
  /** A header that is present if the body, whatever it is, is the data of one event. */
  readonly dataBy?: string;
  /** Whether an empty body is an event, with the payload `{}`. */
  readonly mayBeEmpty?: true;
}

export interface Answer {
  /** Absent: 200. */
  readonly status?: 204;
  /** Absent: the gateway's own body. */
  readonly body?: string;
  readonly contentType?: string;
  /** Whether a refusal has no body either. */
  readonly bareRefusals?: true;
}

export type HandshakeName =
  | 'slack'
  | 'woocommerce'
  | 'head'
  | 'twitch'
  | 'dropbox'
  | 'asana'
  | 'okta'
  | 'monday'
  | 'zoom'
  | 'discord'
  | 'discord-events'
  | 'meta'
  | 'notion'
  | 'microsoft-graph'
  | 'azure-event-grid'
  | 'cloudevents'
  | 'aws-sns';

const header = (name: string): Place => ({ header: name });
const field = (path: string): Place => ({ field: path });
const query = (name: string): Place => ({ query: name });
/** Exactly 200, with the gateway's own body. */
const ok: Answer = {};

/** HMAC-SHA256 of the body as hex, unless `more` overrides it. */
function hmac(name: string, more: Partial<SignatureScheme> = {}): SignatureScheme {
  return {
    at: header(name),
    algorithm: 'hmac-sha256',
    encoding: 'hex',
    signed: '{body}',
    key: 'text',
    ...more,
  };
}

function token(at: Place, prefix?: string): SignatureScheme {
  return { ...hmac(''), at, algorithm: 'token', ...(prefix === undefined ? {} : { prefix }) };
}

/**
 * For providers whose retries have, or may have, the first request's time: a shorter tolerance would lose an event that is
 * refused once. The last retry comes after 8 hours and 5 minutes (Mailgun), 6 hours (Amazon SNS) or 7 hours (Linear). A
 * captured request is recognized by its signature for the same time (SEC-6).
 */
const ofRetries = 30_300;

function seconds(at: Timestamp['at'], toleranceSeconds = 300): Timestamp {
  return { at, unit: 's', toleranceSeconds };
}

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
function standard(prefix: string, more: Partial<SignatureScheme> = {}): SignatureScheme {
  return hmac(`${prefix}-signature`, {
    encoding: 'base64',
    part: 'v1',
    list: 'spaces',
    signed: '{id}.{timestamp}.{body}',
    key: 'base64',
    id: header(`${prefix}-id`),
    timestamp: seconds(header(`${prefix}-timestamp`)),
    ...more,
  });
}

/** The asymmetric form of the same specification. */
const orEd25519 = { byPublicKey: { algorithm: 'ed25519', part: 'v1a' } } as const;

/** `t=…,v1=…`: Stripe's format, used by others too. */
function stamped(name: string, part = 'v1', toleranceSeconds?: number): SignatureScheme {
  return hmac(name, { part, signed: '{timestamp}.{body}', timestamp: seconds({ part: 't' }, toleranceSeconds) });
}

/** `v0=…` over `v0:{timestamp}:{body}`: Slack's format, which Zoom uses too. */
function versioned(prefix: string, toleranceSeconds?: number): SignatureScheme {
  return hmac(`${prefix}-signature`, {
    prefix: 'v0=',
    signed: 'v0:{timestamp}:{body}',
    timestamp: seconds(header(`${prefix}-request-timestamp`), toleranceSeconds),
  });
}

/** A token of Google, which covers no body. */
function googleToken(signed: string, jwt: JwtRule): SignatureScheme {
  return hmac('authorization', { algorithm: 'jwt', prefix: 'Bearer ', signed, jwt });
}

/**
 * The block that Mailgun signs is in the body. A retry, after ten minutes or more, has the same one:
 * https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries
 */
function mailgunBlock(path: string, more: Partial<SignatureScheme> = {}): SignatureScheme {
  return hmac('', {
    at: field(`${path}signature`),
    signed: '{timestamp}{id}',
    id: field(`${path}token`),
    timestamp: seconds(field(`${path}timestamp`), ofRetries),
    ...more,
  });
}

const standardSecret = {
  is: 'the signing secret, which begins with whsec_, or the public key, which begins with whpk_',
  looks: /^(?:whsec_[A-Za-z0-9+/=_-]+|whpk_.*)$/,
};
const sha1: Algorithm = 'hmac-sha1';

const byDiscord = hmac('x-signature-ed25519', {
  algorithm: 'ed25519',
  signed: '{timestamp}{body}',
  timestamp: seconds(header('x-signature-timestamp')),
});
const discordKey = { is: 'the public key of the application, 64 hexadecimal digits', looks: /^[0-9a-f]{64}$/i };

export const sources = {
  github: {
    title: 'GitHub',
    page: 'https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries',
    schemes: [hmac('x-hub-signature-256', { prefix: 'sha256=' })],
    event: [header('x-github-event')],
    id: [header('x-github-delivery')],
    secret: { is: 'the secret that you type into the webhook', typed: true },
  },
  gitlab: {
    title: 'GitLab',
    page: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
    schemes: [standard('webhook'), token(header('x-gitlab-token'))],
    event: [header('x-gitlab-event')],
    id: [header('webhook-id'), header('idempotency-key')],
    secret: { is: 'the secret token or the signing token of the webhook', typed: true },
  },
  bitbucket: {
    title: 'Bitbucket',
    page: 'https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/',
    schemes: [hmac('x-hub-signature', { prefix: 'sha256=' })],
    event: [header('x-event-key')],
    id: [header('x-request-uuid')],
    secret: { is: 'the secret that you type into the webhook', typed: true },
  },
  gitea: {
    title: 'Gitea, Forgejo',
    page: 'https://docs.gitea.com/usage/webhooks',
    // Both sign the JSON, and then put it into a form if the webhook has that content type.
    schemes: [hmac('x-gitea-signature', { signsPayload: true }), hmac('x-forgejo-signature', { signsPayload: true })],
    event: [header('x-gitea-event'), header('x-forgejo-event')],
    id: [header('x-gitea-delivery'), header('x-forgejo-delivery')],
    secret: { is: 'the secret that you type into the webhook', typed: true },
  },
  jira: {
    title: 'Jira',
    page: 'https://developer.atlassian.com/cloud/jira/platform/webhooks/',
    schemes: [hmac('x-hub-signature', { prefix: 'sha256=' })],
    event: [field('webhookEvent')],
    id: [header('x-atlassian-webhook-identifier')],
    secret: {
      is: 'the secret typed into the webhook (System > WebHooks) or given to the REST API; one without is unsigned',
      typed: true,
    },
  },
  trello: {
    title: 'Trello',
    page: 'https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/',
    schemes: [hmac('x-trello-webhook', { algorithm: sha1, encoding: 'base64', signed: '{body}{url}' })],
    event: [field('action.type')],
    id: [field('action.id')],
    // Any other status is a failure, after which Trello sends again.
    answer: ok,
    handshake: 'head',
    secret: { is: 'the secret of the Power-Up, on its page API key, below that key' },
  },
  asana: {
    title: 'Asana',
    page: 'https://developers.asana.com/docs/webhooks-guide',
    schemes: [hmac('x-hook-signature')],
    event: [[field('resource.resource_type'), field('action')]],
    id: [],
    // Without events every eight hours.
    body: { shape: 'each', items: 'events' },
    answer: ok,
    answerSeconds: 10,
    handshake: 'asana',
    secret: { is: 'the X-Hook-Secret that Asana sends first', sent: 'silently' },
  },
  monday: {
    title: 'monday.com',
    page: 'https://developer.monday.com/api-reference/reference/webhooks',
    schemes: [token(query('token'))],
    event: [field('event.type')],
    id: [field('event.triggerUuid')],
    answer: ok,
    handshake: 'monday',
    secret: { is: 'the text that you put behind ?token= in the address', typed: true },
  },
  linear: {
    title: 'Linear',
    page: 'https://linear.app/developers/webhooks',
    schemes: [
      // Linear retries after a minute, an hour and six. Its page advises 60 s, and does not say that a retry has a new time.
      hmac('linear-signature', {
        timestamp: { at: field('webhookTimestamp'), unit: 'ms', toleranceSeconds: ofRetries },
      }),
    ],
    event: [header('linear-event'), field('type')],
    id: [header('linear-delivery')],
    answerSeconds: 5,
    // By its page a push that is answered with another status has failed: it is sent again, and the webhook may be disabled.
    answer: ok,
    secret: { is: 'the signing secret on the webhook’s page', looks: /^(?!lin_api_|lin_oauth_)/ },
  },
  sentry: {
    title: 'Sentry',
    page: 'https://docs.sentry.io/organization/integrations/integration-platform/webhooks/',
    schemes: [hmac('sentry-hook-signature'), hmac('sentry-app-signature')],
    event: [[header('sentry-hook-resource'), field('action')]],
    id: [header('request-id')],
    body: { shape: 'object', mayBeEmpty: true },
    answerSeconds: 1,
    secret: { is: 'the client secret of the integration' },
  },
  pagerduty: {
    title: 'PagerDuty',
    page: 'https://developer.pagerduty.com/docs/webhooks/webhook-signatures/',
    schemes: [hmac('x-pagerduty-signature', { part: 'v1' })],
    event: [field('event.event_type')],
    id: [field('event.id'), header('x-webhook-id')],
    answerSeconds: 5,
    secret: { is: 'the secret that PagerDuty showed when the subscription was made' },
  },
  grafana: {
    title: 'Grafana',
    page: 'https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/',
    schemes: [hmac('x-grafana-alerting-signature')],
    timed: '{timestamp}:{body}',
    event: [field('status')],
    id: [],
    secret: {
      is: 'the secret of the contact point’s HMAC signature, whose timestamp header, if it has one, the route must name',
      typed: true,
    },
  },
  stripe: {
    title: 'Stripe',
    page: 'https://docs.stripe.com/webhooks/signature',
    schemes: [stamped('stripe-signature')],
    event: [field('type')],
    id: [field('id')],
    secret: { is: 'the endpoint’s signing secret, which begins with whsec_', looks: /^whsec_\w+$/ },
  },
  paddle: {
    title: 'Paddle',
    page: 'https://developer.paddle.com/webhooks/signature-verification',
    schemes: [
      hmac('paddle-signature', {
        part: 'h1',
        list: 'semicolons',
        signed: '{timestamp}:{body}',
        timestamp: seconds({ part: 'ts' }),
      }),
    ],
    event: [field('event_type')],
    id: [field('event_id')],
    // https://developer.paddle.com/webhooks/respond-to-webhooks
    answer: ok,
    answerSeconds: 5,
    secret: {
      is: 'the secret key of the notification destination, which begins with pdl_ntfset_',
      looks: /^pdl_ntfset_/,
    },
  },
  lemonsqueezy: {
    title: 'Lemon Squeezy',
    page: 'https://docs.lemonsqueezy.com/help/webhooks/signing-requests',
    schemes: [hmac('x-signature')],
    event: [field('meta.event_name'), header('x-event-name')],
    id: [],
    bodyDiffersBy: field('data.id'),
    // https://docs.lemonsqueezy.com/help/webhooks/webhook-requests
    answer: ok,
    secret: { is: 'the signing secret that you type into the webhook', typed: true },
  },
  elevenlabs: {
    title: 'ElevenLabs',
    page: 'https://elevenlabs.io/docs/product-guides/administration/webhooks',
    // Its page accepts half an hour, has a last retry after 41 minutes, and does not say
    // whether that is signed anew.
    schemes: [stamped('elevenlabs-signature', 'v0', ofRetries)],
    event: [field('type')],
    id: [],
    bodyDiffersBy: field('data.conversation_id'),
    // Ten answers with another status disable the webhook:
    // https://elevenlabs.io/docs/eleven-agents/workflows/post-call-webhooks
    answer: ok,
    secret: { is: 'the secret of the webhook' },
  },
  calendly: {
    title: 'Calendly',
    page: 'https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures',
    schemes: [stamped('calendly-webhook-signature')],
    event: [field('event')],
    id: [],
    bodyDiffersBy: field('payload.uri'),
    secret: { is: 'the signing key of the subscription' },
  },
  shopify: {
    title: 'Shopify',
    page: 'https://shopify.dev/docs/apps/build/webhooks/subscribe/https',
    schemes: [hmac('x-shopify-hmac-sha256', { encoding: 'base64' })],
    event: [header('x-shopify-topic')],
    id: [header('x-shopify-webhook-id')],
    // An order that is paid at once is sent as `orders/create` and as `orders/paid`.
    sendsBodyTwice: true,
    answerSeconds: 5,
    secret: { is: 'the client secret of the app, or the secret on the notifications page of the shop' },
  },
  woocommerce: {
    title: 'WooCommerce',
    page: 'https://woocommerce.com/document/webhooks/',
    schemes: [hmac('x-wc-webhook-signature', { encoding: 'base64' })],
    event: [header('x-wc-webhook-topic')],
    // All that a webhook sends within a second has the same `x-wc-webhook-delivery-id`.
    id: [],
    // A new order is sent as `order.created` and `order.updated`; of what is deleted the body has only the id.
    sendsBodyTwice: true,
    handshake: 'woocommerce',
    secret: { is: 'the secret that you type into the webhook', typed: true },
  },
  square: {
    title: 'Square',
    page: 'https://developer.squareup.com/docs/webhooks/step3validate',
    schemes: [hmac('x-square-hmacsha256-signature', { encoding: 'base64', signed: '{url}{body}' })],
    event: [field('type')],
    id: [field('event_id')],
    secret: { is: 'the signature key of the subscription' },
  },
  xero: {
    title: 'Xero',
    page: 'https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/',
    schemes: [hmac('x-xero-signature', { encoding: 'base64' })],
    event: [[field('eventCategory'), field('eventType')]],
    id: [[field('resourceId'), field('eventDateUtc')]],
    // Without events where it tests the address: it wants 200 if the signature is genuine, else 401, without a body.
    body: { shape: 'each', items: 'events' },
    answer: { body: '', contentType: 'text/plain; charset=utf-8', bareRefusals: true },
    answerSeconds: 5,
    secret: { is: 'the webhooks key of the app, 88 characters' },
  },
  vercel: {
    title: 'Vercel',
    page: 'https://vercel.com/docs/webhooks/webhooks-api',
    schemes: [hmac('x-vercel-signature', { algorithm: sha1 })],
    event: [field('type')],
    id: [field('id')],
    secret: { is: 'the secret that Vercel showed when the webhook was made, or the client secret of its integration' },
  },
  intercom: {
    title: 'Intercom',
    page: 'https://developers.intercom.com/docs/webhooks',
    schemes: [hmac('x-hub-signature', { algorithm: sha1, prefix: 'sha1=' })],
    event: [field('topic')],
    id: [field('id')],
    handshake: 'head',
    secret: { is: 'the client secret of the app' },
  },
  svix: {
    title: 'Svix (Clerk, Resend and others)',
    page: 'https://docs.svix.com/receiving/verifying-payloads/how-manual',
    schemes: [standard('svix', orEd25519), standard('webhook', orEd25519)],
    event: [field('type')],
    id: [header('svix-id'), header('webhook-id')],
    secret: standardSecret,
  },
  'standard-webhooks': {
    title: 'Standard Webhooks (OpenAI, Replicate and others)',
    page: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    schemes: [standard('webhook', orEd25519)],
    event: [field('type')],
    id: [header('webhook-id')],
    secret: standardSecret,
  },
  slack: {
    title: 'Slack',
    page: 'https://docs.slack.dev/authentication/verifying-requests-from-slack',
    schemes: [versioned('x-slack')],
    event: [field('event.type'), field('type'), field('command')],
    id: [field('event_id')],
    answerSeconds: 3,
    // Any other body in the answer to a slash command is shown as a message:
    // https://tools.slack.dev/java-slack-sdk/guides/slash-commands
    answer: { body: '', contentType: 'text/plain; charset=utf-8' },
    handshake: 'slack',
    secret: { is: 'the signing secret of the app', looks: /^[0-9a-f]{32}$/ },
  },
  zoom: {
    title: 'Zoom',
    page: 'https://developers.zoom.us/docs/api/webhooks/',
    // Zoom retries after 5, 20 and 60 minutes, and does not say whether a retry has a new time.
    schemes: [versioned('x-zm', ofRetries)],
    event: [field('event')],
    id: [],
    bodyDiffersBy: field('payload.object.uuid'),
    answerSeconds: 3,
    answer: ok,
    handshake: 'zoom',
    secret: { is: 'the secret token of the app’s feature page' },
  },
  discord: {
    title: 'Discord (interactions)',
    page: 'https://discord.com/developers/docs/interactions/overview',
    schemes: [byDiscord],
    event: [field('data.name'), field('data.custom_id')],
    id: [field('id')],
    handshake: 'discord',
    answerSeconds: 3,
    // Without its own kind of answer, Discord shows that the interaction has failed; 64: visible only to its author.
    answer: { body: '{"type":4,"data":{"content":"Received.","flags":64}}' },
    secret: discordKey,
  },
  'discord-events': {
    title: 'Discord (webhook events)',
    page: 'https://docs.discord.com/developers/events/webhook-events',
    schemes: [byDiscord],
    event: [field('event.type')],
    id: [],
    bodyDiffersBy: field('event.timestamp'),
    handshake: 'discord-events',
    answerSeconds: 3,
    answer: { status: 204, body: '' },
    secret: discordKey,
  },
  twitch: {
    title: 'Twitch (EventSub)',
    page: 'https://dev.twitch.tv/docs/eventsub/handling-webhook-events/',
    schemes: [
      hmac('twitch-eventsub-message-signature', {
        prefix: 'sha256=',
        signed: '{id}{timestamp}{body}',
        id: header('twitch-eventsub-message-id'),
        // By its page, older messages are captured ones.
        timestamp: { at: header('twitch-eventsub-message-timestamp'), unit: 'iso', toleranceSeconds: 600 },
      }),
    ],
    event: [header('twitch-eventsub-subscription-type')],
    id: [header('twitch-eventsub-message-id')],
    // A few seconds, by its page.
    answerSeconds: 3,
    handshake: 'twitch',
    secret: { is: 'the secret that you give when you make the subscription', typed: true },
  },
  dropbox: {
    title: 'Dropbox',
    page: 'https://www.dropbox.com/developers/reference/webhooks',
    schemes: [hmac('x-dropbox-signature')],
    event: [],
    eventKeyBeside: 'delta',
    id: [],
    repeatsBody: true,
    // Dropbox sends again after any other status, or after ten seconds.
    answer: ok,
    answerSeconds: 10,
    handshake: 'dropbox',
    secret: { is: 'the app secret' },
  },
  line: {
    title: 'LINE',
    page: 'https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/',
    schemes: [hmac('x-line-signature', { encoding: 'base64' })],
    event: [field('type')],
    id: [field('webhookEventId')],
    // Without events where its owner presses Verify.
    body: { shape: 'each', items: 'events' },
    answer: ok,
    answerSeconds: 2,
    secret: { is: 'the channel secret, 32 hexadecimal digits', looks: /^[0-9a-f]{32}$/ },
  },
  meta: {
    title: 'Meta (WhatsApp, Messenger, Instagram)',
    page: 'https://developers.facebook.com/docs/graph-api/webhooks/getting-started',
    schemes: [hmac('x-hub-signature-256', { prefix: 'sha256=' })],
    event: [field('object')],
    // What a person of Instagram unsends is reported with the message's own id.
    id: [
      field('entry.0.changes.0.value.messages.0.id'),
      [field('entry.0.messaging.0.message.mid'), field('entry.0.messaging.0.message.is_deleted')],
      field('entry.0.messaging.0.message.mid'),
    ],
    answer: ok,
    handshake: 'meta',
    secret: { is: 'the app secret', looks: /^[0-9a-f]{32}$/ },
  },
  telegram: {
    title: 'Telegram',
    page: 'https://core.telegram.org/bots/api#setwebhook',
    schemes: [token(header('x-telegram-bot-api-secret-token'))],
    event: [],
    // By its page an update has at most one other key; each year adds some.
    eventKeyBeside: 'update_id',
    id: [field('update_id')],
    secret: {
      is: 'the secret_token that you give to setWebhook, not the token of the bot',
      typed: true,
      looks: /^[A-Za-z0-9_-]{1,256}$/,
    },
  },
  mailgun: {
    title: 'Mailgun',
    page: 'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
    schemes: [
      // The second is of a subaccount's event, by the key of the primary account.
      mailgunBlock('signature.', { alsoAt: field('signature.parent-signature') }),
      // An email that one of its routes forwards or stores is a form, and the block three of its fields:
      // https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http
      mailgunBlock(''),
    ],
    event: [field('event-data.event')],
    id: [field('event-data.id'), field('signature.token'), field('token')],
    // Mailgun retries after every status other than 200 and 406.
    answer: ok,
    secret: { is: 'the HTTP webhook signing key of the account, not an API key' },
  },
  hubspot: {
    title: 'HubSpot',
    page: 'https://developers.hubspot.com/docs/guides/apps/authentication/validating-requests',
    schemes: [
      hmac('x-hubspot-signature-v3', {
        encoding: 'base64',
        signed: '{method}{url}{body}{timestamp}',
        decodesUrl: true,
        timestamp: { at: header('x-hubspot-request-timestamp'), unit: 'ms', toleranceSeconds: 300 },
      }),
    ],
    event: [field('subscriptionType')],
    // The page says that eventId alone is not unique. A change of an association has two objects, and a merge its winner:
    // https://developers.hubspot.com/changelog/new-subscription-types-for-webhooks
    id: [
      [field('subscriptionId'), field('eventId'), field('objectId'), field('occurredAt')],
      [field('subscriptionId'), field('eventId'), field('fromObjectId'), field('toObjectId'), field('occurredAt')],
      [field('subscriptionId'), field('eventId'), field('primaryObjectId'), field('occurredAt')],
    ],
    body: { shape: 'each' },
    answerSeconds: 5,
    secret: { is: 'the client secret of the app' },
  },
  sendgrid: {
    title: 'SendGrid',
    page: 'https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features',
    schemes: [
      hmac('x-twilio-email-event-webhook-signature', {
        algorithm: 'ecdsa-sha256',
        encoding: 'base64',
        signed: '{timestamp}{body}',
        timestamp: seconds(header('x-twilio-email-event-webhook-timestamp')),
      }),
    ],
    event: [field('event')],
    id: [field('sg_event_id')],
    body: { shape: 'each' },
    secret: {
      is: 'the verification key of the signed event webhook, or that of a security policy of Inbound Parse: a public key that begins with MFkw',
      looks: /^(?:MFkw|-----BEGIN PUBLIC KEY)/,
    },
  },
  twilio: {
    title: 'Twilio',
    page: 'https://www.twilio.com/docs/usage/webhooks/webhooks-security',
    schemes: [
      hmac('x-twilio-signature', { algorithm: sha1, encoding: 'base64', signed: '{url}{sorted form}', form: 'twilio' }),
    ],
    event: [field('EventType'), field('MessageStatus'), field('CallStatus'), field('SmsStatus')],
    id: [
      header('i-twilio-idempotency-token'),
      [field('MessageSid'), field('MessageStatus')],
      [field('MessageSid'), field('SmsStatus')],
    ],
    // Twilio executes an answer, and logs one that is not TwiML as an error.
    answer: { body: '<Response></Response>', contentType: 'text/xml; charset=utf-8' },
    secret: { is: 'the auth token of the account, 32 hexadecimal digits', looks: /^[0-9a-f]{32}$/ },
  },
  notion: {
    title: 'Notion',
    page: 'https://developers.notion.com/reference/webhooks',
    schemes: [hmac('x-notion-signature', { prefix: 'sha256=' })],
    event: [field('type')],
    id: [field('id')],
    handshake: 'notion',
    secret: { is: 'the verification token that Notion sends first', sent: true },
  },
  okta: {
    title: 'Okta (event hooks)',
    page: 'https://developer.okta.com/docs/concepts/event-hooks/',
    schemes: [token(header('authorization'))],
    event: [field('eventType')],
    id: [field('uuid')],
    body: { shape: 'each', items: 'data.events' },
    answer: ok,
    answerSeconds: 3,
    handshake: 'okta',
    secret: { is: 'the authentication secret of the hook, whose field is Authorization', typed: true },
  },
  google: {
    title: 'Google (Calendar, Drive)',
    page: 'https://developers.google.com/workspace/calendar/api/guides/push',
    schemes: [token(header('x-goog-channel-token'))],
    event: [header('x-goog-resource-state')],
    id: [[header('x-goog-channel-id'), header('x-goog-message-number')]],
    body: { shape: 'object', mayBeEmpty: true },
    secret: { is: 'the token that you give when you make the channel', typed: true },
  },
  'microsoft-graph': {
    title: 'Microsoft Graph',
    page: 'https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks',
    schemes: [token({ field: 'clientState', of: 'value' })],
    event: [field('lifecycleEvent'), field('changeType')],
    id: [field('id')],
    body: { shape: 'each', items: 'value', omit: 'clientState' },
    handshake: 'microsoft-graph',
    // Graph delays, and finally drops, the notifications of an endpoint that takes longer.
    answerSeconds: 10,
    secretKey: 'verify_token',
    secret: { is: 'the clientState of the subscription, given as verify_token', typed: true },
  },
  'azure-event-grid': {
    title: 'Azure Event Grid',
    page: 'https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema',
    schemes: [token(query('code'))],
    event: [field('eventType'), field('type')],
    id: [field('id')],
    body: { shape: 'each' },
    handshake: 'azure-event-grid',
    secret: { is: 'the text that you put behind ?code= in the address of the endpoint', typed: true },
  },
  cloudevents: {
    title: 'CloudEvents',
    page: 'https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md',
    schemes: [token(header('authorization'), 'Bearer '), token(query('access_token'))],
    event: [header('ce-type'), field('type')],
    id: [
      [header('ce-source'), header('ce-id')],
      [field('source'), field('id')],
    ],
    body: { shape: 'each', dataBy: 'ce-id' },
    handshake: 'cloudevents',
    secret: { is: 'the access token that the sender sends', typed: true },
  },
  paypal: {
    title: 'PayPal',
    page: 'https://developer.paypal.com/api/rest/webhooks/rest/',
    schemes: [
      hmac('paypal-transmission-sig', {
        algorithm: 'rsa',
        encoding: 'base64',
        signed: '{id}|{timestamp}|{webhook id}|{CRC-32 of the body}',
        form: 'paypal',
        id: header('paypal-transmission-id'),
        timestamp: { at: header('paypal-transmission-time'), unit: 'iso', toleranceSeconds: ofRetries },
      }),
    ],
    event: [field('event_type')],
    id: [field('id')],
    answer: ok,
    secret: { is: 'the id that PayPal gave to the webhook', looks: /^[A-Z0-9]{10,50}$/ },
  },
  'aws-sns': {
    title: 'Amazon SNS',
    page: 'https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html',
    schemes: [
      hmac('', {
        at: field('Signature'),
        algorithm: 'rsa',
        encoding: 'base64',
        signed: 'Message, MessageId, Subject, {timestamp}, TopicArn, Type',
        form: 'sns',
        timestamp: { at: field('Timestamp'), unit: 'iso', toleranceSeconds: ofRetries },
      }),
    ],
    event: [field('Type')],
    id: [field('MessageId')],
    body: { shape: 'object', json: 'Message' },
    answer: ok,
    handshake: 'aws-sns',
    // https://docs.aws.amazon.com/sns/latest/dg/sns-large-payload-raw-message-delivery.html
    unsignedBy: {
      header: 'x-amz-sns-rawdelivery',
      cure: 'Amazon SNS does not sign raw messages: switch raw message delivery off in the subscription.',
    },
    secret: { is: 'the ARN of the topic', looks: /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w.-]+$/ },
  },
  'google-pubsub': {
    title: 'Google Cloud Pub/Sub (Gmail and others)',
    page: 'https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions',
    schemes: [
      googleToken('{url}', {
        issuers: ['https://accounts.google.com', 'accounts.google.com'],
        keysUrl: 'https://www.googleapis.com/oauth2/v3/certs',
        secretIs: 'email',
      }),
    ],
    // Attributes of CloudEvents, as of Google Workspace Events, and of Cloud Storage; Gmail has none.
    event: [field('message.attributes.ce-type'), field('message.attributes.eventType')],
    // https://cloud.google.com/pubsub/docs/payload-unwrapping
    id: [field('message.messageId'), header('x-goog-pubsub-message-id')],
    // A job of Cloud Scheduler needs no body.
    body: { shape: 'object', base64: 'message.data', dataBy: 'x-goog-pubsub-message-id', mayBeEmpty: true },
    // The acknowledgement deadline of a subscription, unless it is set to another.
    answerSeconds: 10,
    setup: `gcloud pubsub subscriptions create <subscription> --topic=<topic> \\
  --push-endpoint={url} \\
  --push-auth-service-account={secret}`,
    secret: {
      is: 'the email of the service account with which the subscription authenticates',
      looks: /^[\w.-]+@[\w.-]+\.gserviceaccount\.com$/,
    },
  },
  'google-chat': {
    title: 'Google Chat',
    page: 'https://developers.google.com/workspace/chat/verify-requests-from-chat',
    schemes: [
      googleToken('{project number}', {
        issuers: ['chat@system.gserviceaccount.com'],
        keysUrl: 'https://www.googleapis.com/service_accounts/v1/metadata/x509/chat@system.gserviceaccount.com',
        secretIs: 'audience',
      }),
    ],
    event: [field('type')],
    // The message of a card that is clicked has the same name each time.
    id: [[field('eventTime'), field('user.name')]],
    // Any other object would be read as a message.
    answer: { body: '{}' },
    answerSeconds: 30,
    setup: `Google Cloud console > Google Chat API > Configuration > Connection settings:
  HTTP endpoint URL        {url}
  Authentication audience  Project Number`,
    secret: { is: 'the number of the project in the Google Cloud console', looks: /^\d{6,20}$/ },
  },
} as const satisfies Readonly<Record<string, Source>>;

export type SourceName = keyof typeof sources;
export const sourceNames = Object.keys(sources) as readonly SourceName[];

/** The source of that name; undefined if there is none. */
export function sourceOf(name: string | undefined): Source | undefined {
  return name !== undefined && Object.hasOwn(sources, name) ? sources[name as SourceName] : undefined;
}

/** The source of a route as a person reads it. */
export function sourceWords({ sender, signature }: { readonly sender?: string; readonly signature?: unknown }): string {
  return sourceOf(sender)?.title ?? (signature === undefined ? 'Any sender' : 'Own signature');
}

/** How a route's bodies are read: by its source's rule, in the shape that the route names. */
export function bodyRuleOf({ body, sender }: { readonly body?: BodyShape; readonly sender?: string }): BodyRule {
  const rule = sourceOf(sender)?.body;
  return body === undefined ? (rule ?? { shape: 'object' }) : { ...rule, shape: body };
}

/** Whether verifying a source's requests requires fetching a certificate or keys. */
export function isCertified(name: string | undefined): boolean {
  return sourceOf(name)?.schemes.some(({ algorithm }) => algorithm === 'rsa' || algorithm === 'jwt') === true;
}

/** Whether that algorithm's secret is public. */
export function isAsymmetric(algorithm: unknown): boolean {
  return algorithm === 'ed25519' || algorithm === 'ecdsa-sha256' || algorithm === 'rsa' || algorithm === 'jwt';
}
