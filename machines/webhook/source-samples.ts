/**
 * Sample events of the sources, in the formats that their pages document; the values are made up. `{id}` is replaced by a
 * fresh id and `{number}` by a fresh number if the body contains the delivery's id.
 * @see SUB-4 and SRC-1 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { SourceName } from '../config/sources.ts';

/** Payloads by event type, as the source reads it; if a header has the type, it is set there. */
type SourceSamples = Readonly<Record<string, JsonObject>>;

const at = '2026-01-15T09:30:00Z';
const atSeconds = 1_768_469_400;
const atMs = atSeconds * 1_000;
const person = { id: 'u-17', name: 'Mona Fox', email: 'mona@example.com' };

const bitbucket = {
  actor: { display_name: person.name, nickname: 'mona', type: 'user' },
  repository: { name: 'hello-world', full_name: 'mona/hello-world', is_private: true, type: 'repository' },
};
const gitea = {
  repository: { id: 7, name: 'hello-world', full_name: 'mona/hello-world', default_branch: 'main' },
  sender: { id: 1, login: 'mona', full_name: person.name },
};
const jiraIssue = {
  id: '10042',
  key: 'APP-42',
  fields: { summary: 'The greeting lacks a comma', status: { name: 'To Do' }, issuetype: { name: 'Bug' } },
};
const linear = {
  createdAt: at,
  organizationId: 'o-1',
  webhookId: 'w-1',
  url: 'https://linear.app/acme/issue/APP-42',
};
const sentryProject = { id: '3', name: 'web', slug: 'web' };
const pagerduty = (type: string): JsonObject => ({
  event: {
    id: '{id}',
    event_type: type,
    resource_type: 'incident',
    occurred_at: at,
    agent: { id: 'PLH1', type: 'user_reference' },
    data: {
      id: 'PGR0VU2',
      type: 'incident',
      number: 2,
      status: type.split('.')[1] ?? '',
      title: 'The greeting service is down',
      urgency: 'high',
      service: { id: 'PF9KMXH', summary: 'Greetings', type: 'service_reference' },
    },
  },
});
const grafana = (status: string): JsonObject => ({
  receiver: 'agent',
  status,
  alerts: [
    {
      status,
      labels: { alertname: 'HighLatency', instance: 'web-1' },
      annotations: { summary: 'Requests take longer than 2 s' },
      startsAt: at,
      endsAt: status === 'resolved' ? '2026-01-15T09:45:00Z' : '0001-01-01T00:00:00Z',
      fingerprint: 'c6eadffa33fcdf37',
    },
  ],
  groupLabels: { alertname: 'HighLatency' },
  commonLabels: { alertname: 'HighLatency' },
  title: `[${status.toUpperCase()}] HighLatency`,
  groupKey: '{}:{alertname="HighLatency"}',
});
const stripe = (type: string, object: JsonObject): JsonObject => ({
  id: 'evt_{id}',
  object: 'event',
  api_version: '2025-09-30.clover',
  created: atSeconds,
  livemode: false,
  pending_webhooks: 1,
  type,
  data: { object },
});
const order = {
  id: 820982911946154500,
  email: person.email,
  total_price: '54.00',
  currency: 'EUR',
  financial_status: 'paid',
  line_items: [{ title: 'Greeting card', quantity: 3, price: '18.00' }],
};
const square = (type: string, id: string, object: JsonObject): JsonObject => ({
  merchant_id: 'MLA1',
  type,
  event_id: '{id}',
  created_at: at,
  data: { type: type.split('.')[0] ?? '', id, object },
});
const vercel = (type: string): JsonObject => ({
  id: '{id}',
  type,
  createdAt: atMs,
  payload: {
    team: { id: 'team_1' },
    project: { id: 'prj_1' },
    deployment: { id: 'dpl_1', name: 'web', url: 'web-7f3.vercel.app' },
    target: 'production',
  },
});
const intercom = (topic: string, item: JsonObject): JsonObject => ({
  type: 'notification_event',
  app_id: 'app1',
  id: 'notif_{id}',
  topic,
  created_at: atSeconds,
  data: { type: 'notification_event_data', item },
});
const slack = (event: JsonObject): JsonObject => ({
  type: 'event_callback',
  team_id: 'T0001',
  api_app_id: 'A0001',
  event_id: 'Ev{id}',
  event_time: atSeconds,
  event,
});
const zoom = (event: string): JsonObject => ({
  event,
  event_ts: atMs,
  payload: { account_id: 'abc', object: { id: '94111222333', topic: 'Stand-up', host_id: 'h1', start_time: at } },
});
const telegramChat = { id: 111, first_name: 'Mona', type: 'private' };
const telegramUser = { id: 111, is_bot: false, first_name: 'Mona', username: 'mona' };
const mailgun = (event: string): JsonObject => ({
  'event-data': {
    event,
    id: '{id}',
    timestamp: atSeconds,
    recipient: person.email,
    message: { headers: { 'message-id': '20260115.1@example.com', subject: 'Hello', to: person.email } },
  },
});
const hubspot = (subscriptionType: string, more: JsonObject): JsonObject => ({
  eventId: '{number}',
  subscriptionId: 12,
  portalId: 33,
  appId: 1160452,
  occurredAt: atMs,
  subscriptionType,
  attemptNumber: 0,
  objectId: 123,
  ...more,
});
const sendgrid = (event: string): JsonObject => ({
  email: person.email,
  timestamp: atSeconds,
  event,
  sg_event_id: '{id}',
  sg_message_id: '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0',
  'smtp-id': '<14c5d75ce93.dfd.64b469@ismtpd-555>',
});
const notion = (type: string, entity: JsonObject): JsonObject => ({
  id: '{id}',
  timestamp: at,
  workspace_id: 'ws-1',
  subscription_id: 'sub-1',
  integration_id: 'int-1',
  type,
  authors: [{ id: person.id, type: 'person' }],
  entity,
});
const graph = (changeType: string): JsonObject => ({
  id: '{id}',
  subscriptionId: '7f105c7d-2dc5-4530-97cd-4e7ae6534c07',
  subscriptionExpirationDateTime: '2026-01-18T09:30:00Z',
  changeType,
  resource: 'users/u-17/messages/m-1',
  resourceData: { '@odata.type': '#Microsoft.Graph.Message', id: 'm-1' },
  tenantId: '84bd8158-6d4d-4958-8b9f-9d6445542f95',
});
const grid = (eventType: string): JsonObject => ({
  id: '{id}',
  topic: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/acme',
  subject: '/blobServices/default/containers/in/blobs/hello.txt',
  eventType,
  eventTime: at,
  dataVersion: '1',
  metadataVersion: '1',
  data: { api: 'PutBlob', contentType: 'text/plain', contentLength: 12, blobType: 'BlockBlob' },
});
const cloud = (type: string): JsonObject => ({
  specversion: '1.0',
  id: '{id}',
  source: '/orders',
  type,
  time: at,
  datacontenttype: 'application/json',
  data: { order: 42 },
});
const envelope = (type: string): JsonObject => ({ type, timestamp: at, data: { id: person.id, email: person.email } });
const discord = (data: JsonObject, type: number): JsonObject => ({
  id: '9{number}',
  application_id: '1',
  type,
  token: 'made-up',
  version: 1,
  guild_id: '2',
  channel_id: '3',
  member: { user: { id: '4', username: 'mona' } },
  data,
});
const discordEvent = (type: string, data: JsonObject): JsonObject => ({
  version: 1,
  application_id: '1',
  type: 1,
  event: { type, timestamp: at, data },
});
const discordUser = { id: '4', username: 'mona' };
const line = (type: string, more: JsonObject = {}): JsonObject => ({
  type,
  mode: 'active',
  timestamp: atMs,
  source: { type: 'user', userId: 'U4af4980629' },
  webhookEventId: '{id}',
  deliveryContext: { isRedelivery: false },
  ...more,
});
const paddle = (type: string, data: JsonObject): JsonObject => ({
  event_id: 'evt_{id}',
  event_type: type,
  occurred_at: at,
  notification_id: 'ntf_1',
  data,
});
const lemonsqueezy = (event: string, type: string, attributes: JsonObject): JsonObject => ({
  meta: { event_name: event, test_mode: true },
  data: { type, id: '1', attributes: { store_id: 1, user_name: person.name, user_email: person.email, ...attributes } },
});
const xero = (type: string): JsonObject => ({
  resourceUrl: 'https://api.xero.com/api.xro/2.0/1',
  resourceId: '{id}',
  eventDateUtc: at,
  eventType: type.split('.')[1] ?? '',
  eventCategory: type.split('.')[0] ?? '',
  tenantId: '1',
  tenantType: 'ORGANISATION',
});
const whatsapp = (value: JsonObject): JsonObject => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '10',
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { display_phone_number: '15550001', phone_number_id: '11' },
            ...value,
          },
        },
      ],
    },
  ],
});

const paypal = (type: string, status: string): JsonObject => ({
  id: 'WH-{id}',
  event_version: '1.0',
  create_time: at,
  resource_type: 'capture',
  event_type: type,
  summary: 'A payment of 54.00 EUR',
  resource: { id: '42311647XV020574X', status, amount: { value: '54.00', currency_code: 'EUR' } },
});
const sns = (type: string, more: JsonObject): JsonObject => ({
  Type: type,
  MessageId: '{id}',
  TopicArn: 'arn:aws:sns:eu-central-1:123456789012:alarms',
  ...more,
  SignatureVersion: '2',
  SigningCertURL:
    'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem',
});

/** https://cloud.google.com/pubsub/docs/push */
const pubsub = (subscription: string, data: object, attributes?: JsonObject): JsonObject => ({
  message: {
    data: Buffer.from(JSON.stringify(data)).toString('base64'),
    messageId: '{id}',
    message_id: '{id}',
    publishTime: at,
    publish_time: at,
    ...(attributes === undefined ? {} : { attributes }),
  },
  subscription: `projects/my-project/subscriptions/${subscription}`,
});
const googleChat = (type: string, more: JsonObject): JsonObject => ({
  type,
  eventTime: at,
  space: { name: 'spaces/AAAA', type: 'ROOM', displayName: 'Deploys' },
  user: { name: 'users/{id}', displayName: person.name, email: person.email, type: 'HUMAN' },
  ...more,
});

/** Without GitHub and GitLab, whose samples a route without a source accepts too. */
const trello = (type: string, data: JsonObject): JsonObject => ({
  action: {
    id: '{id}',
    idMemberCreator: 'm-17',
    type,
    date: at,
    data: {
      board: { id: 'b-1', name: 'Greetings', shortLink: 'Ab12Cd34' },
      card: { id: 'c-42', name: 'The greeting lacks a comma', idShort: 42, shortLink: 'Ef56Gh78' },
      ...data,
    },
    memberCreator: { id: 'm-17', fullName: person.name, username: 'mona' },
  },
  model: { id: 'b-1', name: 'Greetings', url: 'https://trello.com/b/Ab12Cd34/greetings' },
});
const asana = (action: string, more: JsonObject): JsonObject => ({
  user: { gid: '17', resource_type: 'user' },
  resource: { gid: '1337', resource_type: 'task', resource_subtype: 'default_task' },
  action,
  created_at: at,
  parent: null,
  ...more,
});
const twitch = (type: string, version: string, more: JsonObject): JsonObject => ({
  subscription: {
    id: 's-1',
    type,
    version,
    status: 'enabled',
    condition: { broadcaster_user_id: '1337' },
    created_at: at,
  },
  event: {
    user_name: 'mona',
    broadcaster_user_id: '1337',
    broadcaster_user_login: 'greetings',
    broadcaster_user_name: 'Greetings',
    ...more,
  },
});

const monday = (type: string, more: JsonObject): JsonObject => ({
  event: {
    type,
    userId: 17,
    boardId: 1771812698,
    groupId: 'topics',
    pulseId: 1772099344,
    pulseName: 'The greeting lacks a comma',
    triggerTime: at,
    subscriptionId: 73759690,
    triggerUuid: '{id}',
    ...more,
  },
});
const okta = (eventType: string): JsonObject => ({
  uuid: '{id}',
  published: at,
  eventType,
  severity: 'INFO',
  outcome: { result: 'SUCCESS' },
  actor: { id: 'u-17', type: 'User', displayName: person.name, alternateId: person.email },
  target: [{ id: 'u-18', type: 'User', alternateId: 'max@example.com' }],
});

const each = (payloadOf: (type: string) => JsonObject, ...types: readonly string[]): SourceSamples =>
  Object.fromEntries(types.map((type) => [type, payloadOf(type)]));

export const sourceSamples: Readonly<Record<Exclude<SourceName, 'github' | 'gitlab'>, SourceSamples>> = {
  bitbucket: {
    'repo:push': {
      ...bitbucket,
      push: { changes: [{ new: { type: 'branch', name: 'main' }, commits: [{ message: 'Greet with a comma' }] }] },
    },
    'pullrequest:created': {
      ...bitbucket,
      pullrequest: { id: 7, title: 'Greet with a comma', state: 'OPEN', source: { branch: { name: 'comma' } } },
    },
  },
  gitea: {
    push: { ref: 'refs/heads/main', commits: [{ id: '6dcb09b5', message: 'Greet with a comma' }], ...gitea },
    issues: { action: 'opened', number: 12, issue: { number: 12, title: 'No comma', state: 'open' }, ...gitea },
  },
  jira: {
    'jira:issue_created': { timestamp: atMs, webhookEvent: 'jira:issue_created', issue: jiraIssue },
    'jira:issue_updated': {
      timestamp: atMs,
      webhookEvent: 'jira:issue_updated',
      issue: jiraIssue,
      changelog: { id: '1', items: [{ field: 'status', fromString: 'To Do', toString: 'Done' }] },
    },
  },
  linear: {
    Issue: { action: 'create', type: 'Issue', data: { id: 'i-1', title: 'No comma', priority: 2 }, ...linear },
    Comment: { action: 'create', type: 'Comment', data: { id: 'c-1', body: 'I can have a look.' }, ...linear },
  },
  sentry: {
    'issue.created': {
      action: 'created',
      data: {
        issue: { id: '42', title: 'TypeError: greeting is undefined', status: 'unresolved', project: sentryProject },
      },
      actor: { type: 'application', id: 'sentry', name: 'Sentry' },
    },
    'event_alert.triggered': {
      action: 'triggered',
      data: { event: { event_id: 'e1', title: 'TypeError', level: 'error' }, triggered_rule: 'Errors' },
      actor: { type: 'application', id: 'sentry', name: 'Sentry' },
    },
  },
  pagerduty: each(pagerduty, 'incident.triggered', 'incident.resolved'),
  grafana: each(grafana, 'firing', 'resolved'),
  stripe: {
    'checkout.session.completed': stripe('checkout.session.completed', {
      id: 'cs_test_1',
      object: 'checkout.session',
      amount_total: 5400,
      currency: 'eur',
      mode: 'payment',
      payment_status: 'paid',
      customer_details: { name: person.name, email: person.email },
    }),
    'invoice.paid': stripe('invoice.paid', {
      id: 'in_1',
      object: 'invoice',
      number: 'A-0042',
      amount_paid: 5400,
      currency: 'eur',
      customer_email: person.email,
    }),
  },
  paddle: {
    'transaction.completed': paddle('transaction.completed', {
      id: 'txn_1',
      status: 'completed',
      currency_code: 'EUR',
      details: { totals: { total: '5400' } },
    }),
    'subscription.canceled': paddle('subscription.canceled', { id: 'sub_1', status: 'canceled', customer_id: 'ctm_1' }),
  },
  lemonsqueezy: {
    order_created: lemonsqueezy('order_created', 'orders', { status: 'paid', total: 5400, currency: 'EUR' }),
    subscription_cancelled: lemonsqueezy('subscription_cancelled', 'subscriptions', { status: 'cancelled' }),
  },
  elevenlabs: {
    post_call_transcription: {
      type: 'post_call_transcription',
      event_timestamp: atSeconds,
      data: { agent_id: 'a1', conversation_id: 'c1', status: 'done', transcript: [{ role: 'user', message: 'Hello' }] },
    },
    post_call_audio: {
      type: 'post_call_audio',
      event_timestamp: atSeconds,
      data: { agent_id: 'a1', conversation_id: 'c1', full_audio: '' },
    },
  },
  calendly: {
    'invitee.created': {
      event: 'invitee.created',
      created_at: at,
      payload: { name: person.name, email: person.email, status: 'active', timezone: 'Europe/Berlin' },
    },
    'invitee.canceled': {
      event: 'invitee.canceled',
      created_at: at,
      payload: { name: person.name, email: person.email, status: 'canceled', cancellation: { reason: 'ill' } },
    },
  },
  shopify: { 'orders/create': order, 'orders/paid': order },
  woocommerce: {
    'order.created': { id: 727, status: 'processing', currency: 'EUR', total: '54.00', billing: person },
    'product.updated': { id: 99, name: 'Greeting card', status: 'publish', price: '18.00', stock_quantity: 3 },
  },
  square: {
    'payment.created': square('payment.created', 'p1', {
      payment: { id: 'p1', status: 'APPROVED', amount_money: { amount: 100, currency: 'USD' } },
    }),
    'order.created': square('order.created', 'o1', { order_created: { order_id: 'o1', state: 'OPEN', version: 1 } }),
  },
  xero: each(xero, 'INVOICE.UPDATE', 'CONTACT.CREATE'),
  vercel: each(vercel, 'deployment.created', 'deployment.error'),
  intercom: {
    'conversation.user.created': intercom('conversation.user.created', {
      type: 'conversation',
      id: '1',
      state: 'open',
    }),
    'contact.created': intercom('contact.created', { type: 'contact', ...person }),
  },
  svix: each(envelope, 'user.created', 'email.delivered'),
  'standard-webhooks': each(envelope, 'contact.created', 'response.completed'),
  slack: {
    app_mention: slack({
      type: 'app_mention',
      user: 'U1',
      text: '<@U0> hello',
      ts: '1768469400.0001',
      channel: 'C0123456789',
    }),
    message: slack({ type: 'message', user: 'U1', text: 'hello', ts: '1768469400.0002', channel: 'C0123456789' }),
  },
  zoom: each(zoom, 'meeting.started', 'meeting.ended'),
  discord: {
    deploy: discord({ id: '5', name: 'deploy', type: 1 }, 2),
    approve: discord({ custom_id: 'approve', component_type: 2 }, 3),
  },
  'discord-events': {
    APPLICATION_AUTHORIZED: discordEvent('APPLICATION_AUTHORIZED', { user: discordUser, scopes: ['bot'] }),
    APPLICATION_DEAUTHORIZED: discordEvent('APPLICATION_DEAUTHORIZED', { user: discordUser }),
  },
  line: {
    message: line('message', { replyToken: 'made-up', message: { type: 'text', id: '1', text: 'hello' } }),
    follow: line('follow', { replyToken: 'made-up' }),
  },
  meta: {
    whatsapp_business_account: whatsapp({
      contacts: [{ profile: { name: person.name }, wa_id: '15550002' }],
      messages: [
        { from: '15550002', id: 'wamid.{id}', timestamp: `${atSeconds}`, type: 'text', text: { body: 'hello' } },
      ],
    }),
    page: {
      object: 'page',
      entry: [
        {
          id: '10',
          time: atMs,
          messaging: [{ sender: { id: '1' }, recipient: { id: '10' }, message: { mid: 'm_{id}', text: 'hello' } }],
        },
      ],
    },
  },
  telegram: {
    message: {
      update_id: '{number}',
      message: { message_id: 1, from: telegramUser, chat: telegramChat, date: atSeconds, text: '/start' },
    },
    callback_query: {
      update_id: '{number}',
      callback_query: { id: '1', from: telegramUser, chat_instance: '1', data: 'yes' },
    },
  },
  mailgun: each(mailgun, 'delivered', 'failed'),
  hubspot: {
    'contact.creation': hubspot('contact.creation', { changeFlag: 'CREATED', changeSource: 'CRM' }),
    'contact.propertyChange': hubspot('contact.propertyChange', {
      propertyName: 'email',
      propertyValue: person.email,
      changeSource: 'CRM',
    }),
  },
  sendgrid: each(sendgrid, 'delivered', 'bounce'),
  twilio: {
    received: {
      MessageSid: 'SM{id}',
      SmsStatus: 'received',
      AccountSid: 'AC1',
      From: '+15550001',
      To: '+15550002',
      Body: 'hello there',
      NumMedia: '0',
    },
    delivered: {
      MessageSid: 'SM{id}',
      MessageStatus: 'delivered',
      AccountSid: 'AC1',
      From: '+15550002',
      To: '+15550001',
    },
  },
  notion: {
    'page.created': notion('page.created', { id: 'p-1', type: 'page' }),
    'comment.created': notion('comment.created', { id: 'c-1', type: 'comment' }),
  },
  'microsoft-graph': each(graph, 'created', 'updated'),
  'azure-event-grid': each(grid, 'Microsoft.Storage.BlobCreated', 'Microsoft.Storage.BlobDeleted'),
  paypal: {
    'PAYMENT.CAPTURE.COMPLETED': paypal('PAYMENT.CAPTURE.COMPLETED', 'COMPLETED'),
    'PAYMENT.CAPTURE.DENIED': paypal('PAYMENT.CAPTURE.DENIED', 'DECLINED'),
  },
  'aws-sns': {
    Notification: sns('Notification', { Subject: 'Alarm', Message: '{"AlarmName":"high-latency"}' }),
    UnsubscribeConfirmation: sns('UnsubscribeConfirmation', { Message: 'You have chosen to deactivate.', Token: 't' }),
  },
  'google-pubsub': {
    // https://developers.google.com/workspace/gmail/api/guides/push
    gmail: pubsub('gmail', { emailAddress: person.email, historyId: '9876543210' }),
    OBJECT_FINALIZE: pubsub(
      'uploads',
      { kind: 'storage#object', name: 'report.pdf', bucket: 'my-bucket', contentType: 'application/pdf', size: '1024' },
      { eventType: 'OBJECT_FINALIZE', bucketId: 'my-bucket', objectId: 'report.pdf', payloadFormat: 'JSON_API_V1' },
    ),
  },
  'google-chat': {
    MESSAGE: googleChat('MESSAGE', {
      message: { name: 'spaces/AAAA/messages/BBBB', text: '@Agent hello', argumentText: ' hello', createTime: at },
    }),
    ADDED_TO_SPACE: googleChat('ADDED_TO_SPACE', {}),
  },
  trello: {
    createCard: trello('createCard', {}),
    updateCard: trello('updateCard', { listBefore: { name: 'To do' }, listAfter: { name: 'Done' } }),
  },
  asana: {
    'task.changed': asana('changed', { change: { field: 'due_on', action: 'changed' } }),
    'task.added': asana('added', { parent: { gid: '1201', resource_type: 'project' } }),
  },
  twitch: {
    'channel.follow': twitch('channel.follow', '2', { followed_at: at }),
    'stream.online': twitch('stream.online', '1', { id: '9001', type: 'live', started_at: at }),
  },
  monday: {
    create_pulse: monday('create_pulse', {}),
    update_column_value: monday('update_column_value', { columnId: 'status' }),
  },
  okta: each(okta, 'user.lifecycle.create', 'user.session.start'),
  google: { exists: {}, update: { kind: 'drive#changes' } },
  dropbox: {
    list_folder: {
      list_folder: { accounts: ['dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc'] },
      delta: { users: [12345678] },
    },
  },
  cloudevents: each(cloud, 'com.example.order.created', 'com.example.order.paid'),
};
