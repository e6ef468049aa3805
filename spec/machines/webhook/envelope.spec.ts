import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { type SourceName, sourceOf } from '../../../machines/config/sources.ts';
import {
  deliveryIdOf,
  eventMatcher,
  eventTypeOf,
  idReader,
  isPing,
  typeReader,
} from '../../../machines/webhook/envelope.ts';
import { fc } from '../../support/property.ts';

const body = Buffer.from('{}');

t.test('EVT-1 · the real header wins, then the neutral one, then the payload', (t) => {
  t.equal(eventTypeOf({ 'x-github-event': 'push', 'x-hosta-event': 'other' }, { event_type: 'body' }), 'push');
  t.equal(eventTypeOf({ 'x-hosta-event': 'issues', 'x-gitlab-event': 'x' }, {}), 'issues');
  t.equal(eventTypeOf({ 'x-gitlab-event': 'Push Hook', 'x-hostb-event': 'x' }, {}), 'Push Hook');
  t.equal(eventTypeOf({ 'x-hostb-event': 'Push Hook' }, {}), 'Push Hook');
  t.equal(eventTypeOf({ 'x-github-event': '' }, { event_type: 'body', type: 't' }), 'body');
  t.equal(eventTypeOf({}, { type: 't' }), 't');
  t.equal(eventTypeOf({}, { type: 7 }), 'unknown');
  t.end();
});

t.test('EVT-1 · a type that is too long, or no one line of text, is none', (t) => {
  const fits = 'é'.repeat(256);
  const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  for (const invalid of [
    `${fits}x`,
    'x'.repeat(250_000),
    'a\0b',
    'a\tb',
    'a\nb',
    'a\u007fb',
    'a\u0085b',
    '\u001b[2J',
    '',
  ]) {
    const title = JSON.stringify(invalid.slice(0, 12));
    t.equal(eventTypeOf({}, { event_type: invalid, type: 'next' }), 'next', `${title} in the body`);
    t.equal(eventTypeOf({}, { type: invalid }), 'unknown', `${title} alone`);
    t.equal(
      eventTypeOf({ 'x-github-event': latin1(invalid), 'x-gitlab-event': 'next' }, {}),
      'next',
      `${title} in a header`,
    );
    t.equal(
      eventTypeOf({ 'x-github-event': latin1(invalid) }, { type: 'body' }),
      'body',
      `${title} in the only header`,
    );
  }
  t.equal(eventTypeOf({}, { event_type: fits }), fits);
  t.equal(eventTypeOf({ 'x-github-event': latin1(fits) }, {}), fits);
  t.end();
});

t.test('EVT-2 · both spellings of GitLab match each other', (t) => {
  const accepts = (events: readonly string[], type: string): boolean => eventMatcher(events)(type);
  t.ok(accepts(['merge_request'], 'Merge Request Hook'));
  t.ok(accepts(['Merge Request Hook'], 'merge_request'));
  t.ok(accepts(['Tag Push Hook'], 'tag_push'));
  t.notOk(accepts(['push'], 'tag_push'));
  t.ok(accepts([], 'anything'), 'an empty list takes all');
  t.end();
});

t.test('IDM-2 · the delivery id by its headers, one that is empty or too long as none', (t) => {
  t.equal(deliveryIdOf({ 'x-github-delivery': 'a'.repeat(1_025), 'x-request-id': 'd' }, body), 'd');
  t.equal(deliveryIdOf({ 'x-github-delivery': 'a', 'x-hosta-delivery': 'b', 'webhook-id': 'c' }, body), 'a');
  t.equal(deliveryIdOf({ 'x-hosta-delivery': 'b', 'webhook-id': 'c' }, body), 'b');
  t.equal(deliveryIdOf({ 'webhook-id': 'c', 'x-request-id': 'd' }, body), 'c');
  t.equal(deliveryIdOf({ 'x-github-delivery': '', 'x-request-id': 'd' }, body), 'd');
  t.equal(deliveryIdOf({}, body), undefined);
  t.end();
});

t.test('IDM-2 · an id beyond visible ASCII never stands for two different events', (t) => {
  const idOf = (id: string, bytes: string): string | undefined =>
    deliveryIdOf({ 'webhook-id': Buffer.from(id, 'utf8').toString('latin1') }, Buffer.from(bytes));
  t.match(idOf('a-é-1', '{}'), /^a-é-1~[\w-]{22}$/);
  t.equal(
    deliveryIdOf({ 'webhook-id': 'a\xe9' }, body),
    deliveryIdOf({ 'webhook-id': 'a\xe8' }, body),
    'same bytes kept',
  );
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string(), fc.string(), (id, one, other) => {
      const ascii = /^[\x20-\x7e]+$/.test(id);
      if (ascii) return idOf(id, one) === id;
      return (idOf(id, one) === idOf(id, other)) === (one === other);
    }),
  );
  t.end();
});

t.test('EVT-1 · an event header is read as UTF-8', (t) => {
  const sent = Buffer.from('événement_créé', 'utf8').toString('latin1');
  t.equal(eventTypeOf({ 'x-github-event': sent }, {}), 'événement_créé');
  t.equal(eventTypeOf({ 'x-github-event': 'a\xffb' }, {}), 'a\uFFFDb');
  t.equal(eventTypeOf({ 'x-github-event': '\xef\xbb\xbfx' }, {}), '\uFEFFx', 'no byte of it is lost');
  t.end();
});

t.test('EVT-1 · a ping of GitHub is distinguished from every other event', (t) => {
  t.same(['ping', 'Ping', 'pinged', 'push'].map(isPing), [true, false, false, false]);
  t.end();
});

t.test(
  'SRC-1 · where a provider has its type or its id in several places, each of them is read, in their order',
  (t) => {
    /** Headers, payload, type and id. Each is read alone, and beside the next one, which it goes before. */
    const rows: Readonly<
      Partial<Record<SourceName, readonly (readonly [JsonObject, JsonObject, (string | undefined)?, string?])[]>>
    > = {
      gitlab: [
        [{ 'webhook-id': 'w' }, {}, undefined, 'w'],
        [{ 'x-gitlab-event': 'Push Hook', 'idempotency-key': 'k' }, {}, 'Push Hook', 'k'],
      ],
      gitea: [
        [{ 'x-gitea-event': 'push', 'x-gitea-delivery': 'g' }, {}, 'push', 'g'],
        [{ 'x-forgejo-event': 'issues', 'x-forgejo-delivery': 'f' }, {}, 'issues', 'f'],
      ],
      linear: [
        [{ 'linear-event': 'Issue', 'linear-delivery': 'l' }, {}, 'Issue', 'l'],
        [{}, { type: 'Comment' }, 'Comment'],
      ],
      sentry: [[{ 'sentry-hook-resource': 'issue' }, { action: 'created' }, 'issue.created']],
      pagerduty: [
        [{}, { event: { id: 'e', event_type: 'incident.triggered' } }, 'incident.triggered', 'e'],
        [{ 'x-webhook-id': 'h' }, {}, undefined, 'h'],
      ],
      svix: [
        [{ 'svix-id': 's' }, {}, undefined, 's'],
        [{ 'webhook-id': 'w' }, { type: 'user.created' }, 'user.created', 'w'],
      ],
      slack: [
        [{}, { event: { type: 'message' } }, 'message'],
        [{}, { type: 'block_actions' }, 'block_actions'],
        [{}, { command: '/deploy', event_id: 'e' }, '/deploy', 'e'],
      ],
      discord: [
        [{}, { data: { name: 'ask' } }, 'ask'],
        [{}, { id: 'd', data: { custom_id: 'button' } }, 'button', 'd'],
      ],
      meta: [
        [{}, { object: 'page', entry: [{ changes: [{ value: { messages: [{ id: 'm' }] } }] }] }, 'page', 'm'],
        [{}, { entry: [{ messaging: [{ message: { mid: 'i', is_deleted: true } }] }] }, undefined, 'i true'],
        [{}, { entry: [{ messaging: [{ message: { mid: 'i' } }] }] }, undefined, 'i'],
      ],
      mailgun: [
        [{}, { 'event-data': { event: 'opened', id: 'm' } }, 'opened', 'm'],
        [{}, { signature: { token: 't' } }, undefined, 't'],
      ],
      twilio: [
        [{ 'i-twilio-idempotency-token': 'i' }, { EventType: 'onMessageAdded' }, 'onMessageAdded', 'i'],
        [{}, { MessageSid: 'S', MessageStatus: 'sent' }, 'sent', 'S sent'],
        [{}, { CallStatus: 'busy' }, 'busy'],
        [{}, { MessageSid: 'S', SmsStatus: 'received' }, 'received', 'S received'],
      ],
      'microsoft-graph': [
        [{}, { lifecycleEvent: 'missed' }, 'missed'],
        [{}, { id: 'n', changeType: 'created' }, 'created', 'n'],
      ],
      'azure-event-grid': [
        [{}, { eventType: 'Blob' }, 'Blob'],
        [{}, { id: 'a', type: 'Queue' }, 'Queue', 'a'],
      ],
      cloudevents: [
        [{ 'ce-type': 'a', 'ce-source': 's', 'ce-id': '1' }, {}, 'a', 's 1'],
        [
          { 'ce-type': 'Euro%20%E2%82%ac%2525', 'ce-source': '/a%3fb', 'ce-id': '"1\\"%7E"' },
          {},
          'Euro €%25',
          '/a?b 1"~',
        ],
        [{}, { type: 'b', source: 't', id: '2' }, 'b', 't 2'],
      ],
      // One place of the id is missing, so there is none: the others alone are not unique.
      hubspot: [
        [{}, { subscriptionId: 1, eventId: 2, objectId: 3, occurredAt: 4 }, undefined, '1 2 3 4'],
        [
          {},
          {
            subscriptionType: 'deal.creation',
            subscriptionId: 1,
            eventId: 2,
            fromObjectId: 5,
            toObjectId: 6,
            occurredAt: 4,
          },
          'deal.creation',
          '1 2 5 6 4',
        ],
        [
          {},
          { subscriptionType: 'deal.merge', subscriptionId: 1, eventId: 2, primaryObjectId: 7, occurredAt: 4 },
          'deal.merge',
          '1 2 7 4',
        ],
        [{}, { subscriptionId: 1, eventId: 2, fromObjectId: 5, occurredAt: 4 }],
      ],
    };
    for (const [name, requests] of Object.entries(rows)) {
      const source = sourceOf(name);
      for (const [at, [headers, payload, type, id]] of requests.entries()) {
        const [laterHeaders, laterPayload] = requests[at + 1] ?? [{}, {}];
        for (const [sent, held] of [
          [headers, payload],
          [
            { ...laterHeaders, ...headers },
            { ...laterPayload, ...payload },
          ],
        ] as const) {
          const title = `${name} ${JSON.stringify([sent, held])}`;
          if (type !== undefined) t.equal(typeReader(source)(sent as never, held), type, title);
          if (id !== undefined) t.equal(idReader({}, source)(sent as never, held, body, false), id, title);
        }
      }
    }
    t.equal(
      idReader({}, sourceOf('hubspot'))({}, { subscriptionId: 1, eventId: 2, objectId: 3 }, body, false),
      undefined,
    );
    for (const name of [undefined, 'constructor', '__proto__']) t.equal(sourceOf(name), undefined);
    t.end();
  },
);
