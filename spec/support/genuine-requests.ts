/**
 * A genuine request of each source, as its provider's page says that it signs, computed without a line of ours.
 * @see SRC-1 in docs/specification.md
 */

import { createHash, createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import zlib from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import type { JsonObject } from '../../machines/base/json.ts';
import { defaultProfile } from '../../machines/base/names.ts';
import { readRoute } from '../../machines/config/read-route.ts';
import { type Source, type SourceName, sources } from '../../machines/config/sources.ts';
import { parseBody, splitItems } from '../../machines/webhook/body.ts';
import { type CompiledRoute, compileRoute } from '../../machines/webhook/compile-route.ts';
import type { SignatureVerdict } from '../../machines/webhook/signature.ts';
import { selfSigned } from './tls.ts';

export const nowMs = 1_700_000_000_000;
export const seconds = String(nowMs / 1_000);
export const publicUrl = 'https://hooks.example.com';
export const key = Buffer.from('a key of thirty-two bytes, or so').toString('base64');
export const whsec = `whsec_${key}`;
export const plain = 'a-secret-of-the-sender-0123';

export function routeOf(written: object): CompiledRoute {
  const read = readRoute('in', written as never, {
    source: 'static',
    profile: defaultProfile,
    host: '0.0.0.0',
    publicUrl,
    checkFilters: () => [],
  });
  if (!read.ok) throw new Error(read.findings.map(({ message }) => message).join('\n'));
  return compileRoute(read.value);
}

export interface Sent {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly query?: string | undefined;
  /** POST to `/webhooks/in` unless given. */
  readonly method?: string;
  readonly path?: string;
}

export function verdictOf(route: CompiledRoute, sent: Sent, atMs = nowMs): SignatureVerdict {
  const { headers, body, query, method = 'POST', path = '/webhooks/in' } = sent;
  return route.verify({
    headers,
    body: Buffer.from(body),
    nowMs: atMs,
    method,
    path,
    query,
    payload: () => payloadOf(route, { headers, body }),
    certificate: (url) => published[url],
  });
}

export const certificates = {
  paypal: 'https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77',
  sns: 'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem',
};
export const { pem, key: rsaKey } = selfSigned();
/** A JWK set, and certificates by the ids of their keys. */
export const googleKeys = 'https://www.googleapis.com/oauth2/v3/certs';
const chatKeys = 'https://www.googleapis.com/service_accounts/v1/metadata/x509/chat@system.gserviceaccount.com';
export const jwk = { ...createPublicKey(pem).export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' };
export const published: Readonly<Record<string, string>> = {
  [certificates.paypal]: pem,
  [certificates.sns]: pem,
  [googleKeys]: JSON.stringify({ keys: [jwk] }),
  [chatKeys]: JSON.stringify({ k1: pem }),
};
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
export const signedToken = (claims: object, header: object = {}): string => {
  const text = `${base64url({ alg: 'RS256', kid: 'k1', typ: 'JWT', ...header })}.${base64url(claims)}`;
  return `Bearer ${text}.${sign('sha256', Buffer.from(text), rsaKey).toString('base64url')}`;
};
export const pushAccount = 'push@my-project.iam.gserviceaccount.com';
export const projectNumber = '1234567890';
export const pushClaims = {
  aud: `${publicUrl}/webhooks/in`,
  azp: '113774264463038321964',
  email: pushAccount,
  email_verified: true,
  exp: nowMs / 1_000 + 3_600,
  iat: nowMs / 1_000,
  iss: 'https://accounts.google.com',
  sub: '113774264463038321964',
};
export const chatClaims = {
  aud: projectNumber,
  exp: nowMs / 1_000 + 3_600,
  iat: nowMs / 1_000,
  iss: 'chat@system.gserviceaccount.com',
};

function payloadOf({ body: rule }: CompiledRoute, { headers, body }: Sent): JsonObject | undefined {
  const parsed = parseBody(body, headers, rule);
  return parsed.ok ? parsed.value : undefined;
}

/** The one event of a request, as the gateway would take it from an array. */
export function eventOf(route: CompiledRoute, { headers, body }: Sent): JsonObject {
  const parsed = parseBody(body, headers, route.body);
  if (!parsed.ok) throw new Error(parsed.why);
  const split = route.body.shape === 'each' ? splitItems(parsed, route.body.items) : undefined;
  return (split?.ok === true ? split.items[0] : undefined) ?? parsed.value;
}

export const hmac = (algorithm: string, secret: string | Buffer, text: string) =>
  createHmac(algorithm, secret).update(text);
export const hex = (text: string, secret: string | Buffer = plain): string =>
  hmac('sha256', secret, text).digest('hex');
export const url = `${publicUrl}/webhooks/in`;
const event = '{"id":"evt_1","type":"a.b"}';
const mail = { timestamp: seconds, token: 'tok', signature: hex(`${seconds}tok`) };

const discord = generateKeyPairSync('ed25519');
const discordKey = discord.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
const command = '{"id":"d1","type":2,"data":{"name":"deploy"}}';
const authorized = '{"type":1,"event":{"type":"APPLICATION_AUTHORIZED","timestamp":"2026-01-15T09:30:00Z"}}';
const chat = '{"destination":"U1","events":[{"type":"message","webhookEventId":"01H"}]}';
const transaction = '{"event_id":"evt_1","event_type":"transaction.completed"}';
const lemonOrder = '{"meta":{"event_name":"order_created"},"data":{"id":"1"}}';
const invoices =
  '{"events":[{"resourceId":"r1","eventDateUtc":"2026-01-15T09:30:00.000","eventType":"UPDATE","eventCategory":"INVOICE"}]}';
export const hexSecret = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const contact =
  '[{"eventId":100,"subscriptionId":1,"objectId":9,"occurredAt":1700000000000,"subscriptionType":"contact.creation"}]';
const mails = '[{"event":"delivered","sg_event_id":"sg1"}]';
const versioned = (secret: string, body: string): string => `v0=${hex(`v0:${seconds}:${body}`, secret)}`;

export const capture = '{"id":"WH-1","event_type":"PAYMENT.CAPTURE.COMPLETED"}';
export const isoTime = '2023-11-14T22:13:20Z';
const nanoTime = isoTime.replace('Z', '.123456789Z');
export const webhookId = '9XL90610J3647323C';
const idOfBody = (body: string): string => createHash('sha256').update(body).digest('base64url').slice(0, 22);
const rsa = (text: string, hash = 'sha256'): string => sign(hash, Buffer.from(text), rsaKey).toString('base64');
export const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';
export const alarm = {
  Type: 'Notification',
  MessageId: 'mid',
  TopicArn: topic,
  Message: '{"hé":1}',
  Timestamp: isoTime,
};
export const alarmText = `Message\n${alarm.Message}\nMessageId\nmid\nTimestamp\n${isoTime}\nTopicArn\n${topic}\nType\nNotification\n`;
export const bySns = (message: object, text: string, version = '2'): string =>
  JSON.stringify({
    ...message,
    SignatureVersion: version,
    SigningCertURL: certificates.sns,
    Signature: rsa(text, version === '2' ? 'sha256' : 'sha1'),
  });
export const byPaypal = {
  'paypal-transmission-id': 'tid',
  'paypal-transmission-time': isoTime,
  'paypal-auth-algo': 'SHA256withRSA',
  'paypal-cert-url': certificates.paypal,
  // CRC-32 of the body by zlib.
  'paypal-transmission-sig': rsa(`tid|${isoTime}|${webhookId}|${zlib.crc32(capture)}`),
};

export const genuine: Readonly<
  Record<SourceName, readonly [secret: string, sent: Sent, event: string, id: string | undefined]>
> = {
  github: [
    plain,
    {
      headers: { 'x-hub-signature-256': `sha256=${hex('{}')}`, 'x-github-event': 'push', 'x-github-delivery': 'g1' },
      body: '{}',
    },
    'push',
    'g1',
  ],
  gitlab: [
    plain,
    { headers: { 'x-gitlab-token': plain, 'x-gitlab-event': 'Push Hook', 'idempotency-key': 'k1' }, body: '{}' },
    'Push Hook',
    'k1',
  ],
  bitbucket: [
    plain,
    {
      headers: { 'x-hub-signature': `sha256=${hex('{}')}`, 'x-event-key': 'repo:push', 'x-request-uuid': 'u' },
      body: '{}',
    },
    'repo:push',
    'u',
  ],
  gitea: [
    plain,
    { headers: { 'x-gitea-signature': hex('{}'), 'x-gitea-event': 'push', 'x-gitea-delivery': 'd' }, body: '{}' },
    'push',
    'd',
  ],
  jira: [
    plain,
    {
      headers: {
        'x-hub-signature': `sha256=${hex('{"webhookEvent":"jira:issue_updated"}')}`,
        'x-atlassian-webhook-identifier': 'w',
      },
      body: '{"webhookEvent":"jira:issue_updated"}',
    },
    'jira:issue_updated',
    'w',
  ],
  linear: [
    plain,
    {
      headers: { 'linear-signature': hex(`{"type":"Issue","webhookTimestamp":${nowMs}}`), 'linear-delivery': 'l' },
      body: `{"type":"Issue","webhookTimestamp":${nowMs}}`,
    },
    'Issue',
    'l',
  ],
  sentry: [
    plain,
    {
      headers: {
        'sentry-hook-signature': hex('{"action":"created"}'),
        'sentry-hook-resource': 'issue',
        'request-id': 's',
      },
      body: '{"action":"created"}',
    },
    'issue.created',
    's',
  ],
  pagerduty: [
    plain,
    {
      headers: {
        'x-pagerduty-signature': `v1=${'0'.repeat(64)},v1=${hex('{"event":{"id":"p","event_type":"incident.triggered"}}')}`,
      },
      body: '{"event":{"id":"p","event_type":"incident.triggered"}}',
    },
    'incident.triggered',
    'p',
  ],
  grafana: [
    plain,
    { headers: { 'x-grafana-alerting-signature': hex('{"status":"firing"}') }, body: '{"status":"firing"}' },
    'firing',
    undefined,
  ],
  stripe: [
    'whsec_stripeSecret0123',
    {
      headers: { 'stripe-signature': `t=${seconds},v1=${hex(`${seconds}.${event}`, 'whsec_stripeSecret0123')},v0=00` },
      body: event,
    },
    'a.b',
    'evt_1',
  ],
  paddle: [
    'pdl_ntfset_0123456789',
    {
      headers: {
        'paddle-signature': `ts=${seconds};h1=${hex(`${seconds}:${transaction}`, 'pdl_ntfset_0123456789')}`,
      },
      body: transaction,
    },
    'transaction.completed',
    'evt_1',
  ],
  lemonsqueezy: [
    plain,
    { headers: { 'x-signature': hex(lemonOrder) }, body: lemonOrder },
    'order_created',
    idOfBody(lemonOrder),
  ],
  elevenlabs: [
    plain,
    { headers: { 'elevenlabs-signature': `t=${seconds},v0=${hex(`${seconds}.${event}`)}` }, body: event },
    'a.b',
    idOfBody(event),
  ],
  calendly: [
    plain,
    {
      headers: { 'calendly-webhook-signature': `t=${seconds},v1=${hex(`${seconds}.{"event":"invitee.created"}`)}` },
      body: '{"event":"invitee.created"}',
    },
    'invitee.created',
    idOfBody('{"event":"invitee.created"}'),
  ],
  shopify: [
    plain,
    {
      headers: {
        'x-shopify-hmac-sha256': hmac('sha256', plain, '{}').digest('base64'),
        'x-shopify-topic': 'orders/create',
        'x-shopify-webhook-id': 'sh',
      },
      body: '{}',
    },
    'orders/create',
    'sh',
  ],
  woocommerce: [
    plain,
    {
      headers: {
        'x-wc-webhook-signature': hmac('sha256', plain, '{"id":727}').digest('base64'),
        'x-wc-webhook-topic': 'order.created',
        'x-wc-webhook-delivery-id': 'of the webhook and the second',
      },
      body: '{"id":727}',
    },
    'order.created',
    undefined,
  ],
  xero: [
    plain,
    { headers: { 'x-xero-signature': hmac('sha256', plain, invoices).digest('base64') }, body: invoices },
    'INVOICE.UPDATE',
    'r1 2026-01-15T09:30:00.000',
  ],
  square: [
    plain,
    {
      headers: {
        'x-square-hmacsha256-signature': hmac(
          'sha256',
          plain,
          `${url}{"type":"payment.created","event_id":"q"}`,
        ).digest('base64'),
      },
      body: '{"type":"payment.created","event_id":"q"}',
    },
    'payment.created',
    'q',
  ],
  trello: [
    plain,
    {
      headers: {
        'x-trello-webhook': hmac('sha1', plain, `{"action":{"id":"t","type":"createCard"}}${url}`).digest('base64'),
      },
      body: '{"action":{"id":"t","type":"createCard"}}',
    },
    'createCard',
    't',
  ],
  asana: [
    plain,
    {
      headers: { 'x-hook-signature': hex('{"events":[{"action":"added","resource":{"resource_type":"task"}}]}') },
      body: '{"events":[{"action":"added","resource":{"resource_type":"task"}}]}',
    },
    'task.added',
    undefined,
  ],
  twitch: [
    plain,
    {
      headers: {
        'twitch-eventsub-message-id': 'w1',
        'twitch-eventsub-message-timestamp': nanoTime,
        'twitch-eventsub-message-signature': `sha256=${hex(`w1${nanoTime}{"event":{}}`)}`,
        'twitch-eventsub-message-type': 'notification',
        'twitch-eventsub-subscription-type': 'channel.follow',
      },
      body: '{"event":{}}',
    },
    'channel.follow',
    'w1',
  ],
  dropbox: [
    plain,
    {
      headers: { 'x-dropbox-signature': hex('{"list_folder":{"accounts":["a"]},"delta":{"users":[1]}}') },
      body: '{"list_folder":{"accounts":["a"]},"delta":{"users":[1]}}',
    },
    'list_folder',
    undefined,
  ],
  vercel: [
    plain,
    { headers: { 'x-vercel-signature': hmac('sha1', plain, event).digest('hex') }, body: event },
    'a.b',
    'evt_1',
  ],
  intercom: [
    plain,
    {
      headers: { 'x-hub-signature': `sha1=${hmac('sha1', plain, '{"topic":"user.created","id":"i"}').digest('hex')}` },
      body: '{"topic":"user.created","id":"i"}',
    },
    'user.created',
    'i',
  ],
  svix: [
    whsec,
    {
      headers: {
        'svix-id': 'm',
        'svix-timestamp': seconds,
        'svix-signature': `v1a,AAAA ${new Webhook(key).sign('m', new Date(nowMs), event)}`,
      },
      body: event,
    },
    'a.b',
    'm',
  ],
  'standard-webhooks': [
    whsec,
    {
      headers: {
        'webhook-id': 'm',
        'webhook-timestamp': seconds,
        'webhook-signature': new Webhook(key).sign('m', new Date(nowMs), event),
      },
      body: event,
    },
    'a.b',
    'm',
  ],
  telegram: [
    'bot-secret-token_0',
    {
      headers: { 'x-telegram-bot-api-secret-token': 'bot-secret-token_0' },
      body: '{"update_id":7,"callback_query":{}}',
    },
    'callback_query',
    '7',
  ],
  slack: [
    hexSecret,
    {
      headers: {
        'x-slack-request-timestamp': seconds,
        'x-slack-signature': versioned(
          hexSecret,
          '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}',
        ),
      },
      body: '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}',
    },
    'app_mention',
    'Ev1',
  ],
  zoom: [
    plain,
    {
      headers: { 'x-zm-request-timestamp': seconds, 'x-zm-signature': versioned(plain, '{"event":"meeting.started"}') },
      body: '{"event":"meeting.started"}',
    },
    'meeting.started',
    idOfBody('{"event":"meeting.started"}'),
  ],
  discord: [
    discordKey,
    {
      headers: {
        'x-signature-timestamp': seconds,
        'x-signature-ed25519': sign(null, Buffer.from(seconds + command), discord.privateKey).toString('hex'),
      },
      body: command,
    },
    'deploy',
    'd1',
  ],
  'discord-events': [
    discordKey,
    {
      headers: {
        'x-signature-timestamp': seconds,
        'x-signature-ed25519': sign(null, Buffer.from(seconds + authorized), discord.privateKey).toString('hex'),
      },
      body: authorized,
    },
    'APPLICATION_AUTHORIZED',
    idOfBody(authorized),
  ],
  line: [
    hexSecret,
    { headers: { 'x-line-signature': hmac('sha256', hexSecret, chat).digest('base64') }, body: chat },
    'message',
    '01H',
  ],
  meta: [
    hexSecret,
    {
      headers: {
        'x-hub-signature-256': `sha256=${hex('{"object":"page","entry":[{"messaging":[{"message":{"mid":"m1"}}]}]}', hexSecret)}`,
      },
      body: '{"object":"page","entry":[{"messaging":[{"message":{"mid":"m1"}}]}]}',
    },
    'page',
    'm1',
  ],
  hubspot: [
    plain,
    {
      headers: {
        'x-hubspot-request-timestamp': String(nowMs),
        'x-hubspot-signature-v3': hmac('sha256', plain, `POST${url}${contact}${nowMs}`).digest('base64'),
      },
      body: contact,
    },
    'contact.creation',
    '1 100 9 1700000000000',
  ],
  sendgrid: [
    ec.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    {
      headers: {
        'x-twilio-email-event-webhook-timestamp': seconds,
        'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(seconds + mails), ec.privateKey).toString(
          'base64',
        ),
      },
      body: mails,
    },
    'delivered',
    'sg1',
  ],
  twilio: [
    hexSecret,
    {
      headers: {
        'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
        'x-twilio-signature': hmac(
          'sha1',
          hexSecret,
          `${url}Bodyhé & hoFrom+1555MessageSidSM1SmsStatusreceived`,
        ).digest('base64'),
      },
      body: 'MessageSid=SM1&From=%2B1555&Body=h%C3%A9+%26+ho&SmsStatus=received',
    },
    'received',
    'SM1 received',
  ],
  paypal: [webhookId, { headers: byPaypal, body: capture }, 'PAYMENT.CAPTURE.COMPLETED', 'WH-1'],
  'aws-sns': [topic, { headers: {}, body: bySns(alarm, alarmText) }, 'Notification', 'mid'],
  'google-pubsub': [
    pushAccount,
    {
      headers: { authorization: signedToken(pushClaims) },
      body: '{"message":{"data":"e30=","messageId":"m1","attributes":{"eventType":"OBJECT_FINALIZE"}},"subscription":"s"}',
    },
    'OBJECT_FINALIZE',
    'm1',
  ],
  'google-chat': [
    projectNumber,
    {
      headers: { authorization: signedToken(chatClaims) },
      body: '{"type":"MESSAGE","eventTime":"2023-11-14T22:13:20Z","user":{"name":"users/1"}}',
    },
    'MESSAGE',
    '2023-11-14T22:13:20Z users/1',
  ],
  notion: [
    plain,
    {
      headers: { 'x-notion-signature': `sha256=${hex('{"id":"n","type":"page.created"}')}` },
      body: '{"id":"n","type":"page.created"}',
    },
    'page.created',
    'n',
  ],
  'microsoft-graph': [
    plain,
    { headers: {}, body: JSON.stringify({ value: [{ id: 'm', changeType: 'updated', clientState: plain }] }) },
    'updated',
    'm',
  ],
  monday: [
    plain,
    { headers: {}, query: `token=${plain}`, body: '{"event":{"type":"create_pulse","triggerUuid":"u"}}' },
    'create_pulse',
    'u',
  ],
  okta: [
    plain,
    { headers: { authorization: plain }, body: '{"data":{"events":[{"uuid":"o","eventType":"user.session.start"}]}}' },
    'user.session.start',
    'o',
  ],
  google: [
    plain,
    {
      headers: {
        'x-goog-channel-token': plain,
        'x-goog-channel-id': 'c',
        'x-goog-message-number': '10',
        'x-goog-resource-state': 'exists',
      },
      body: '',
    },
    'exists',
    'c 10',
  ],
  'azure-event-grid': [
    plain,
    { headers: {}, query: `code=${plain}`, body: '[{"id":"e","eventType":"Microsoft.Storage.BlobCreated","data":{}}]' },
    'Microsoft.Storage.BlobCreated',
    'e',
  ],
  cloudevents: [
    plain,
    {
      headers: { authorization: `Bearer ${plain}`, 'ce-type': 'com.example.made', 'ce-source': '/made', 'ce-id': 'c' },
      body: '{}',
    },
    'com.example.made',
    '/made c',
  ],
  mailgun: [
    plain,
    {
      headers: {},
      body: JSON.stringify({ signature: mail, 'event-data': { event: 'delivered', id: 'e' } }),
    },
    'delivered',
    'e',
  ],
};

const standardBy = (prefix: string): Record<string, string> => ({
  [`${prefix}-id`]: 'm',
  [`${prefix}-timestamp`]: seconds,
  [`${prefix}-signature`]: new Webhook(key).sign('m', new Date(nowMs), event),
});
const json = '{"property": "value", "boolean": true}';
const jsonQuery = `bodySHA256=${createHash('sha256').update(json).digest('hex')}`;
const confirmation = { ...alarm, Type: 'SubscriptionConfirmation', Token: 'tok', SubscribeURL: 'https://s' };
const confirmed = `Message\n${alarm.Message}\nMessageId\nmid\nSubscribeURL\nhttps://s\nTimestamp\n${isoTime}\nToken\ntok\nTopicArn\n${topic}\nType\nSubscriptionConfirmation\n`;

/** Standard Webhooks by a key pair. */
export const whpk = `whpk_${discord.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('base64')}`;
export const standardByKey = (prefix: string, text = event): Record<string, string> => ({
  [`${prefix}-id`]: 'm',
  [`${prefix}-timestamp`]: seconds,
  [`${prefix}-signature`]: `v1a,${sign(null, Buffer.from(`m.${seconds}.${text}`), discord.privateKey).toString('base64')}`,
});
export const grafanaTime = 'x-grafana-alerting-timestamp';
export const grafanaNames = {
  signature: { header: 'X-Grafana-Alerting-Signature', timestamp: { header: grafanaTime } },
};

/** A request with the secret and the keys of the route that it needs. */
export type Genuine = readonly [secret: string, sent: Sent, route?: object];

/** Of those that sign in more than one way, the other ways. */
const otherwise: Partial<Record<SourceName, readonly Genuine[]>> = {
  grafana: [
    [
      plain,
      { headers: { 'x-grafana-alerting-signature': hex(`${seconds}:{}`), [grafanaTime]: seconds }, body: '{}' },
      grafanaNames,
    ],
  ],
  'standard-webhooks': [[whpk, { headers: standardByKey('webhook'), body: event }]],
  gitlab: [[whsec, { headers: standardBy('webhook'), body: event }]],
  mailgun: [[plain, { headers: {}, body: JSON.stringify(mail) }]],
  gitea: [[plain, { headers: { 'x-forgejo-signature': hex('{}') }, body: '{}' }]],
  sentry: [[plain, { headers: { 'sentry-app-signature': hex('{"action":"created"}') }, body: '{"action":"created"}' }]],
  svix: [
    [whsec, { headers: standardBy('webhook'), body: event }],
    [whpk, { headers: standardByKey('svix'), body: event }],
  ],
  cloudevents: [[plain, { headers: {}, query: `access_token=${plain}`, body: '{}' }]],
  twilio: [
    [
      hexSecret,
      {
        headers: {
          'content-type': 'application/json',
          'x-twilio-signature': hmac('sha1', hexSecret, `${url}?${jsonQuery}`).digest('base64'),
        },
        query: jsonQuery,
        body: json,
      },
    ],
  ],
  'aws-sns': [
    [topic, { headers: {}, body: bySns(alarm, alarmText, '1') }],
    [topic, { headers: {}, body: bySns(confirmation, confirmed) }],
  ],
};

/** A request for each way in which a source signs. */
export function genuineByScheme(name: SourceName): readonly Genuine[] {
  const [secret, sent] = genuine[name];
  return [[secret, sent], ...(otherwise[name] ?? [])];
}

export const routeFor = (name: SourceName, secret = genuine[name][0], more: object = {}): CompiledRoute => {
  const source: Source = sources[name];
  const credential = source.secretKey === 'verify_token' ? {} : { secret };
  const token = source.secretKey === 'verify_token' ? secret : 'v';
  return routeOf({ source: name, verify_token: token, ...credential, ...more });
};
