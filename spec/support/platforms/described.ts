/** The platforms whose API is one call: trackers that take comments, and pushes to an address or a topic. */

import { createHmac } from 'node:crypto';
import {
  type FakeAnswer,
  type FakeRequest,
  is,
  type PlatformFixture,
  providerWords,
  type World,
} from './fake-platform.ts';

const token = 'sec-described-token';
const wrongOptions = { token: 'sec-revoked' };
const retryAfter = { 'retry-after': '2' };

/** An error whose words must not get out, and a limit in the plain form. */
const failed = (status: number, json: object = { message: providerWords }): FakeAnswer => ({ status, json });
const limited: FakeAnswer = { ...failed(429), headers: retryAfter };

interface Tracker extends Pick<PlatformFixture, 'target' | 'chat' | 'limit' | 'recorded' | 'malformedChats'> {
  /** Another place in the right form. */
  readonly elsewhere: string;
  readonly more?: Partial<PlatformFixture>;
  /** The path that takes a comment at `chat`. */
  readonly path: string;
  /** How the credentials arrive. */
  signed(request: FakeRequest): boolean;
  /** Who asks, and at which path. */
  readonly whoami: readonly [path: string, json: object, as?: string];
  readonly textOf: (json: FakeRequest['json']) => unknown;
  readonly created: (id: number) => FakeAnswer;
}

/** A tracker with one issue, that takes comments of a limited length. */
function tracker(one: Tracker): PlatformFixture {
  const [whoamiPath, account, as] = one.whoami;
  return {
    target: one.target,
    options: { token },
    wrongOptions,
    chat: one.chat ?? '',
    unknown: { chat: one.elsewhere, outcome: is.notFound },
    malformedChats: one.malformedChats,
    limit: one.limit,
    maxPieces: 10,
    verifies: { kind: 'verified', ...(as === undefined ? {} : { as }) },
    limited,
    recorded: [
      ['the token is not accepted', failed(401), is.auth],
      ['the account may not comment', failed(403), is.forbidden],
      ['no such issue', failed(404), is.notFound],
      ['too long', failed(413), is.tooLong],
      ['a comment it cannot read', failed(422), is.permanent],
      ['its own failure', failed(500), is.transient],
      ...one.recorded,
    ],
    sends: ({ method, path }) => method === 'POST' && path !== whoamiPath,
    answer(request, world) {
      if (!one.signed(request)) return failed(401);
      if (request.method === 'GET') return request.path === whoamiPath ? { status: 200, json: account } : failed(404);
      const text = one.textOf(request.json);
      if (request.path !== one.path) return failed(404);
      if (typeof text !== 'string' || text === '') return failed(400);
      return one.created(world.take({ place: one.chat ?? '', text }));
    },
    ...one.more,
  };
}

const bearer = ({ headers }: FakeRequest): boolean => headers.authorization === `Bearer ${token}`;

export const gitlabApi = tracker({
  target: 'gitlab_comment',
  chat: 'acme/tools/app!7',
  elsewhere: 'acme/app#8',
  malformedChats: ['acme/app', 'acme/app!0', '../../user!7', 'acme/..!7', 'acme/app!7/../8', 'acme/app!7?x=1', '!7'],
  limit: { max: 1_000_000, unit: 'codePoints' },
  path: '/api/v4/projects/acme%2Ftools%2Fapp/merge_requests/7/notes',
  signed: ({ headers }) => headers['private-token'] === token,
  whoami: ['/api/v4/user', { id: 3, username: 'ops' }, 'ops'],
  textOf: ({ body }) => body,
  created: (id) => ({ status: 201, json: { id, body: '' } }),
  recorded: [['commands alone, which are no note', { status: 202, json: { commands_changes: {} } }, is.unknown]],
  more: { maxPieces: 1 },
});

export const giteaApi = tracker({
  target: 'gitea_comment',
  chat: 'acme/app#7',
  elsewhere: 'acme/app#8',
  malformedChats: ['acme#7', '../app#7', 'acme/..#7', 'acme/app#7/8', 'acme/app/x#7', 'acme/app#-1', 'acme/a pp#7'],
  limit: { max: 65_536, unit: 'utf16' },
  path: '/api/v1/repos/acme/app/issues/7/comments',
  signed: ({ headers }) => headers.authorization === `token ${token}`,
  whoami: ['/api/v1/user', { id: 3, login: 'ops' }, 'ops'],
  textOf: ({ body }) => body,
  created: (id) => ({ status: 201, json: { id } }),
  recorded: [['the repository is archived', failed(423), is.permanent]],
});

export const jiraApi = tracker({
  target: 'jira',
  chat: 'OPS-7',
  elsewhere: 'OPS-8',
  malformedChats: ['ops-7', 'OPS-7/comment', '../myself', 'OPS-0', 'OPS 7'],
  limit: { max: 32_000, unit: 'utf16' },
  path: '/rest/api/2/issue/OPS-7/comment',
  signed: ({ headers }) =>
    headers.authorization === `Basic ${Buffer.from(`ops@example.org:${token}`).toString('base64')}`,
  whoami: ['/rest/api/2/myself', { accountId: 'a1', displayName: 'Ops' }, 'Ops'],
  // As its code blocks were written.
  textOf: ({ body }) => String(body).replaceAll('{noformat}', '```'),
  created: (id) => ({ status: 201, json: { id: String(id) } }),
  recorded: [['the field is too long for it', failed(400, { errors: { comment: providerWords } }), is.permanent]],
  more: { options: { token, email: 'ops@example.org' } },
});

export const jiraServer: PlatformFixture = {
  ...jiraApi,
  variant: 'server',
  options: { token },
  verifies: { kind: 'verified', as: 'Ops' },
  answer: (request, world) =>
    bearer(request)
      ? jiraApi.answer({ ...request, headers: { authorization: basicOf('ops@example.org') } }, world)
      : failed(401),
};

function basicOf(email: string): string {
  return `Basic ${Buffer.from(`${email}:${token}`).toString('base64')}`;
}

const posted = '{"detail": "You have already posted that comment."}';
const sentryTexts = new WeakMap<World, Set<string>>();

export const sentryApi = tracker({
  target: 'sentry',
  chat: 'APP-1A2',
  elsewhere: '12345',
  malformedChats: ['app', '../0', 'APP-1A2/comments', '1 2', '0'],
  limit: { max: 320_000, unit: 'utf16' },
  path: '/api/0/organizations/acme/issues/APP-1A2/comments/',
  signed: bearer,
  whoami: ['/api/0/', { version: '0', user: { username: 'ops' }, auth: { scopes: [] } }, 'ops'],
  textOf: ({ text }) => text,
  created: (id) => ({ status: 201, json: { id: String(id) } }),
  recorded: [
    ['the same comment within an hour', { status: 400, json: posted }, { kind: 'delivered' }],
    ['another wrong comment', failed(400, { text: [providerWords] }), is.permanent],
  ],
  more: { options: { token, organization: 'acme' }, resends: true, maxPieces: 1 },
});
const answerOnce = sentryApi.answer;

/** Refuses a comment that was written before, as long as the fake lives. */
export const sentryOnce: PlatformFixture = {
  ...sentryApi,
  answer(request, world) {
    const texts = sentryTexts.get(world) ?? new Set();
    sentryTexts.set(world, texts);
    const text = request.method === 'POST' ? String(request.json.text) : undefined;
    if (text !== undefined && texts.has(text)) return { status: 400, json: posted };
    const answer = answerOnce(request, world);
    if (text !== undefined && answer.status === 201) texts.add(text);
    return answer;
  },
};

export function pagerdutyError(status: number, code: number): FakeAnswer {
  return failed(status, { error: { code, message: providerWords, errors: [providerWords] } });
}

export const pagerdutyApi = tracker({
  target: 'pagerduty',
  chat: 'PT4KHLK',
  elsewhere: 'PT4KHLZ',
  malformedChats: ['pt4khlk', '../users', 'PT4KHLK/notes', 'PT4'],
  limit: { max: 25_000, unit: 'utf16' },
  path: '/incidents/PT4KHLK/notes',
  signed: ({ headers }) =>
    headers.authorization === `Token token=${token}` &&
    headers.from === 'ops@example.org' &&
    headers.accept === 'application/vnd.pagerduty+json;version=2',
  whoami: ['/incidents', { incidents: [] }],
  textOf: ({ note }) => note?.content,
  created: (id) => ({ status: 200, json: { note: { id: `N${id}` } } }),
  recorded: [
    ['no account has the address', pagerdutyError(400, 1008), { ...is.auth, reason: /pagerduty\.from/ }],
    ['no such incident', pagerdutyError(404, 2100), is.notFound],
    ['its limit, in seconds', { ...pagerdutyError(429, 2020), headers: { 'ratelimit-reset': '9' } }, is.waitMs(9_000)],
    ['its limit, without a code', { ...failed(429, {}), headers: { 'ratelimit-reset': '9' } }, is.waitMs(9_000)],
  ],
  more: { options: { token, from: 'ops@example.org' }, maxPieces: 5 },
});

export function linearError(status: number, code: string): FakeAnswer {
  return failed(status, { errors: [{ message: providerWords, extensions: { code, type: code } }] });
}

export const linearApi: PlatformFixture = {
  target: 'linear',
  options: { token },
  wrongOptions,
  chat: 'ENG-123',
  unknown: { chat: 'ENG-9', outcome: is.notFound },
  malformedChats: ['eng-123', 'ENG-0', 'ENG-1"}', '9cfb482a'],
  limit: { max: 65_536, unit: 'utf16' },
  maxPieces: 10,
  verifies: { kind: 'verified', as: 'Ops' },
  limited: { ...linearError(400, 'RATELIMITED'), headers: retryAfter },
  recorded: [
    ['an error with HTTP 200', linearError(200, 'FORBIDDEN'), is.forbidden],
    ['an expired token', linearError(401, 'AUTHENTICATION_ERROR'), is.auth],
    [
      'its limit, as a moment',
      { ...linearError(400, 'RATELIMITED'), headers: { 'x-ratelimit-requests-reset': '1793707207000' } },
      is.waitMs(7_000),
    ],
    ['a limit without a wait', linearError(400, 'RATELIMITED'), is.waitMs(30_000)],
    ['its own failure', linearError(200, 'INTERNAL_SERVER_ERROR'), is.unknown],
    ['a code of next year', linearError(200, 'TEAPOT'), is.permanent],
    ['a comment that was not made', { status: 200, json: { data: { commentCreate: { success: false } } } }, is.unknown],
    [
      'a comment without success',
      { status: 200, json: { data: { commentCreate: { success: false, comment: { id: 'c1' } } } } },
      is.unknown,
    ],
  ],
  sends: ({ json }) => String(json.query).startsWith('mutation'),
  answer(request, world) {
    if (!bearer(request)) return linearError(401, 'AUTHENTICATION_ERROR');
    if (request.path !== '/graphql') return failed(404);
    const { query, variables } = request.json;
    if (query === '{ viewer { name } }') return { status: 200, json: { data: { viewer: { name: 'Ops' } } } };
    const { issueId, body } = variables.input;
    if (issueId !== 'ENG-123') return linearError(400, 'INPUT_ERROR');
    const id = `c${world.take({ place: issueId, text: body })}`;
    return { status: 200, json: { data: { commentCreate: { success: true, comment: { id } } } } };
  },
};

export function ntfyError(code: number): FakeAnswer {
  return failed(Math.floor(code / 100), { code, http: Math.floor(code / 100), error: providerWords });
}

export const ntfyApi: PlatformFixture = {
  target: 'ntfy',
  options: { token },
  wrongOptions,
  chat: 'ops-alerts',
  malformedChats: ['ops/alerts', '../v1/account', 'a b', 'x'.repeat(65)],
  limit: { max: 4_096, unit: 'utf8Bytes' },
  maxPieces: 10,
  verifies: { kind: 'verified', as: 'ops' },
  limited: { ...ntfyError(42901), headers: retryAfter },
  recorded: [
    ['a wrong token', ntfyError(40101), is.auth],
    ['no right to the topic', ntfyError(40301), is.forbidden],
    ['the day’s messages are used up', ntfyError(42908), is.waitMs(30_000)],
    ['an invalid topic', ntfyError(40009), is.permanent],
    ['too large for it', ntfyError(41301), is.tooLong],
    ['its own failure', ntfyError(50001), is.transient],
    ['an event that is no message', { status: 200, json: { id: 'm1', event: 'keepalive' } }, is.unknown],
  ],
  sends: ({ method }) => method === 'POST',
  answer(request, world) {
    if (!bearer(request)) return ntfyError(40101);
    if (request.path === '/v1/account') return { status: 200, json: { username: 'ops', role: 'user' } };
    const { topic, message, title, priority } = request.json;
    if (request.path !== '/' || Buffer.byteLength(message) > 4_096) return ntfyError(40009);
    const id = world.take({ place: topic, text: message, thread: title ?? priority });
    return { status: 200, json: { id: `m${id}`, event: 'message', topic, message } };
  },
};

const teamsUrl = 'https://prod.example/workflows/sec-flow/invoke?sig=sec-sig';

export const teamsApi: PlatformFixture = {
  target: 'teams',
  options: { url: teamsUrl },
  wrongOptions: { url: teamsUrl.replace('sig=sec-sig', 'sig=sec-other') },
  place: 'channel',
  limit: { max: 27_000, unit: 'jsonBytes' },
  maxPieces: 10,
  verifies: { kind: 'unverifiable' },
  limited,
  recorded: [
    ['a wrong signature', failed(401, { error: { code: 'DirectApiAuthorizationRequired' } }), is.auth],
    ['the workflow was deleted', failed(404, { error: { code: 'WorkflowNotFound' } }), is.notFound],
    [
      'the workflow is off',
      failed(400, { error: { code: 'WorkflowTriggerIsNotEnabled' } }),
      { ...is.forbidden, reason: /switched off/ },
    ],
    ['too large', failed(413, { error: { code: 'RequestEntityTooLarge' } }), is.tooLong],
    ['its own failure', failed(502, { error: { code: 'NoResponse' } }), is.transient],
  ],
  sends: () => true,
  answer({ path, query, json, text }, world) {
    if (path !== '/workflows/sec-flow/invoke' || query.get('sig') !== 'sec-sig')
      return failed(401, { error: { code: 'DirectApiAuthorizationRequired' } });
    const [{ contentType, content }] = json.attachments;
    if (json.type !== 'message' || contentType !== 'application/vnd.microsoft.card.adaptive') return failed(400);
    if (Buffer.byteLength(text) > 28 * 1_024) return failed(413);
    world.take({ place: 'channel', text: content.body[0].inlines[0].text });
    return { status: 202 };
  },
};

export function chatError(code: number, status: string): FakeAnswer {
  return failed(code, { error: { code, message: providerWords, status } });
}

const chatUrl = 'https://chat.example/v1/spaces/AAAA/messages?key=sec-key&token=sec-token';

const lineChat = `U${'0af1'.repeat(8)}`;

export const lineApi: PlatformFixture = {
  target: 'line',
  options: { token },
  wrongOptions,
  chat: lineChat,
  unknown: { chat: `C${'0af1'.repeat(8)}`, outcome: is.permanent },
  malformedChats: ['U0af1', lineChat.toUpperCase(), `${lineChat}0`, '@official'],
  limit: { max: 5_000, unit: 'utf16' },
  maxPieces: 5,
  resends: true,
  verifies: { kind: 'verified', as: 'Ops' },
  limited: { ...failed(429), headers: retryAfter },
  recorded: [
    ['the token has run out', failed(401), is.auth],
    ['the plan has no push messages', failed(403), is.forbidden],
    ['too many requests', failed(429, { message: 'The API rate limit has been exceeded.' }), is.waitMs(30_000)],
    [
      'the messages of the month are used up',
      failed(429, { message: 'You have reached your monthly limit.' }),
      { ...is.forbidden, reason: /of the month/ },
    ],
    ['its own failure', failed(500), is.transient],
  ],
  sends: ({ path }) => path === '/v2/bot/message/push',
  answer(request, world) {
    if (!bearer(request)) return failed(401);
    if (request.path === '/v2/bot/info')
      return { status: 200, json: { userId: 'U1', basicId: '@1', displayName: 'Ops' } };
    const { to, messages } = request.json;
    const key = String(request.headers['x-line-retry-key']);
    if (to !== lineChat || !/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/.test(key)) return failed(400);
    const [{ type, text, quoteToken }, ...more] = messages;
    if (type !== 'text' || text.length > 5_000 || more.length > 0) return failed(400);
    const before = world.messages.length;
    const id = world.take({ place: to, text, thread: quoteToken }, key);
    const isKnown = world.messages.length === before;
    const said = isKnown ? { message: 'The retry key is already accepted' } : {};
    return { status: isKnown ? 409 : 200, json: { ...said, sentMessages: [{ id: String(id), quoteToken: 'q' }] } };
  },
};

export const googleChatApi: PlatformFixture = {
  target: 'google_chat',
  options: { url: chatUrl },
  wrongOptions: { url: chatUrl.replace('token=sec-token', 'token=sec-other') },
  place: 'spaces/AAAA',
  limit: { max: 27_000, unit: 'jsonBytes' },
  maxPieces: 10,
  resends: true,
  verifies: { kind: 'unverifiable' },
  limited: { ...chatError(429, 'RESOURCE_EXHAUSTED'), headers: retryAfter },
  recorded: [
    ['a wrong token', chatError(401, 'UNAUTHENTICATED'), is.auth],
    ['webhooks are switched off', chatError(403, 'PERMISSION_DENIED'), is.forbidden],
    ['the space is gone', chatError(404, 'NOT_FOUND'), is.notFound],
    ['a limit without a wait', chatError(429, 'RESOURCE_EXHAUSTED'), is.waitMs(30_000)],
    ['a wrong message', chatError(400, 'INVALID_ARGUMENT'), is.permanent],
    ['busy', chatError(503, 'UNAVAILABLE'), is.transient],
    ['its own failure', chatError(500, 'INTERNAL'), is.unknown],
  ],
  sends: () => true,
  answer({ path, query, json }, world) {
    if (path !== '/v1/spaces/AAAA/messages' || query.get('token') !== 'sec-token')
      return chatError(401, 'UNAUTHENTICATED');
    if (Buffer.byteLength(JSON.stringify(json)) > 32_000) return chatError(400, 'INVALID_ARGUMENT');
    const replies = query.get('messageReplyOption') === 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD';
    const thread = replies ? json.thread?.threadKey : undefined;
    const id = world.take({ place: 'spaces/AAAA', text: json.text, thread }, query.get('requestId') ?? undefined);
    return { status: 200, json: { name: `spaces/AAAA/messages/${id}` } };
  },
};

const reportSecret = `whsec_${Buffer.from('sec-a key of thirty-two letters!').toString('base64')}`;

/** A receiver of reports, which checks their signature and remembers their ids. */
export const httpApi: PlatformFixture = {
  target: 'http',
  options: { url: 'https://follower.example/reports?tenant=acme', secret: reportSecret },
  wrongOptions: { secret: 'whsec_c2VjLWFub3RoZXIta2V5LWFsdG9nZXRoZXI=' },
  place: 'follower',
  limit: { max: 1_000_000, unit: 'jsonBytes' },
  maxPieces: 1,
  takesEmpty: true,
  resends: true,
  accepts2xx: true,
  verifies: { kind: 'unverifiable' },
  limited: { ...limited, status: 429 },
  recorded: [
    ['any status of success', { status: 299, text: providerWords }, { kind: 'delivered' }],
    ['a signature that it does not accept', failed(401), is.auth],
    ['the receiver is gone', failed(410), { ...is.notFound, reason: /HTTP 410/ }],
    ['too large for it', failed(413), is.tooLong],
    ['another refusal, which it may take back', failed(404), is.transient],
    ['a report that it cannot read yet', failed(422), is.transient],
    ['busy, with a wait', { ...failed(503), headers: retryAfter }, is.waitMs(2_000)],
    ['its own failure', failed(500), is.transient],
    ['its own failure, with a wait', { ...failed(500), headers: retryAfter }, { ...is.transient, notBeforeMs: 2_000 }],
    ['too early, with a wait', { ...failed(409), headers: retryAfter }, { ...is.transient, notBeforeMs: 2_000 }],
    ['too early, with a wait of nothing', { ...failed(409), headers: { 'retry-after': '0' } }, is.transient],
  ],
  sends: () => true,
  answer({ method, path, query, headers, json, text }, world) {
    if (method !== 'POST' || path !== '/reports' || query.get('tenant') !== 'acme') return failed(404);
    const { 'webhook-id': id = '', 'webhook-timestamp': time, 'webhook-signature': signature } = headers;
    const key = Buffer.from(reportSecret.slice('whsec_'.length), 'base64');
    const expected = createHmac('sha256', key).update(`${id}.${time}.${text}`).digest('base64');
    if (signature !== `v1,${expected}`) return failed(401);
    world.take({ place: 'follower', text: json.data.text }, String(id));
    return { status: 204 };
  },
};

export const describedApis: readonly PlatformFixture[] = [
  gitlabApi,
  giteaApi,
  linearApi,
  jiraApi,
  jiraServer,
  sentryOnce,
  pagerdutyApi,
  ntfyApi,
  teamsApi,
  googleChatApi,
  lineApi,
  httpApi,
];
