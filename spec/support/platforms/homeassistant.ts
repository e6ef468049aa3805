/** Home Assistant's REST API: services by their names, an array of changed states, plain text for errors. */

import { is, type PlatformFixture, providerWords } from './fake-platform.ts';

const token = 'sec-eyJ.long.lived';

const base = {
  target: 'homeassistant',
  options: { token },
  wrongOptions: { token: 'sec-other' },
  malformedChats: ['My Phone', 'light.turn_on', '../../states'],
  limit: { max: 4_096, unit: 'utf16' },
  maxPieces: 5,
  takesEmpty: true,
  verifies: { kind: 'verified' },
  limited: { status: 429, text: '429: Too Many Requests', headers: { 'retry-after': '2' } },
  sends: ({ method, path }) => method === 'POST' && path.startsWith('/api/services/'),
  answer({ method, path, headers, json }, world) {
    if (headers.authorization !== `Bearer ${token}`) return { status: 401, text: '401: Unauthorized' };
    if (path === '/api/') return { status: 200, json: { message: 'API running.' } };
    if (method === 'GET' && path === '/api/services')
      return { status: 200, json: [{ domain: 'notify', services: { mobile_app_phone: {} } }] };
    if (method === 'GET' && path === '/api/states/notify.my_phone')
      return { status: 200, json: { entity_id: 'notify.my_phone', state: 'unknown' } };
    const [, domain, service] = /^\/api\/services\/(\w+)\/(\w+)$/.exec(path) ?? [];
    if (method !== 'POST' || domain === undefined) return { status: 404, text: '404: Not Found' };
    if (typeof json.message !== 'string') return { status: 400, text: '400: Bad Request' };
    if (domain === 'persistent_notification' && service === 'create') {
      world.take({ place: 'sidebar', text: json.message }, json.notification_id);
      return { status: 200, json: [] };
    }
    if (domain === 'notify' && service === 'send_message') {
      // What is not there is left out, and the answer is the same.
      if (json.entity_id === 'notify.my_phone') world.take({ place: 'entity', text: json.message });
      return { status: 200, json: [] };
    }
    if (domain !== 'notify' || service !== 'mobile_app_phone') return { status: 400, text: '400: Bad Request' };
    world.take({ place: 'phone', text: json.message });
    return { status: 200, json: [] };
  },
} as const satisfies Partial<PlatformFixture>;

export const homeNotice: PlatformFixture = {
  ...base,
  variant: 'notice',
  chat: 'persistent_notification',
  place: 'sidebar',
  resends: true,
  recorded: [
    ['unauthorized', { status: 401, text: '401: Unauthorized' }, is.auth],
    ['a bad request', { status: 400, text: providerWords }, is.permanent],
    ['it is starting', { status: 503, text: providerWords }, is.transient],
    [
      'states that changed',
      { status: 200, json: [{ entity_id: 'x.y', state: 'on' }] },
      { kind: 'delivered', messageId: /.+/ },
    ],
  ],
};

export const homeService: PlatformFixture = {
  ...base,
  variant: 'service',
  chat: 'notify.mobile_app_phone',
  place: 'phone',
  unknown: { chat: 'mobile_app_tablet', outcome: { ...is.notFound, reason: /notify\.mobile_app_tablet/ } },
  recorded: [
    ['a service that failed', { status: 500, text: '500 Internal Server Error' }, is.transient],
    ['an answer that is no list', { status: 200, json: { message: 'ok' } }, is.unknown],
  ],
};
