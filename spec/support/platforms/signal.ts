/** The daemon of signal-cli: JSON-RPC, errors with HTTP 200, what became of each recipient in the result. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const account = '+15550001111';
const recipient = '+15552223333';

export function rpcError(code: number, results?: readonly object[]): FakeAnswer {
  const data = results === undefined ? null : { response: { timestamp: 1, results } };
  return { status: 200, json: { jsonrpc: '2.0', error: { code, message: `Failed ${providerWords}`, data }, id: 1 } };
}

const to = (type: string, more: object = {}) => ({ recipientAddress: { number: recipient }, type, ...more });

export const signalApi: PlatformFixture = {
  target: 'signal',
  options: { account },
  wrongOptions: { account: '+15559990000' },
  chat: recipient,
  unknown: { chat: '+15554445555', outcome: is.notFound },
  malformedChats: ['5551234', 'a group', 'u:'],
  limit: { max: 2_000, unit: 'utf8Bytes' },
  maxPieces: 20,
  verifies: { kind: 'verified', as: account },
  limited: rpcError(-5, [to('RATE_LIMIT_FAILURE', { retryAfterSeconds: 2 })]),
  recorded: [
    ['the recipient is not registered', rpcError(-1, [to('UNREGISTERED_FAILURE')]), is.notFound],
    ['the network behind the daemon', rpcError(-1, [to('NETWORK_FAILURE')]), is.transient],
    ['an untrusted identity', rpcError(-4, [to('IDENTITY_FAILURE')]), { ...is.forbidden, reason: /trust it/ }],
    [
      'a captcha',
      rpcError(-5, [to('RATE_LIMIT_FAILURE', { token: 'c-1', retryAfterSeconds: 86_000 })]),
      { ...is.waitMs(86_000_000), reason: /captcha/ },
    ],
    ['a rate limit without a wait', rpcError(-5), is.waitMs(60_000)],
    ['a rejected captcha', rpcError(-6), is.auth],
    ['an input or output error', rpcError(-3), is.transient],
    ['a user error', rpcError(-1), is.permanent],
    ['an error without a code', { status: 200, json: { error: { message: providerWords } } }, is.permanent],
    ['an unexpected error', rpcError(-32603), is.unknown],
    ['an unknown account', rpcError(-32602), { ...is.auth, reason: /account/ }],
    ['a wrong host name', { status: 421 }, { ...is.permanent, reason: /host name/ }],
    ['a notification’s answer', { status: 201 }, is.unknown],
    [
      'a group in which nobody was reached',
      { status: 200, json: { jsonrpc: '2.0', result: { timestamp: 1, results: [to('UNREGISTERED_FAILURE')] }, id: 1 } },
      is.notFound,
    ],
    [
      'a group in which somebody was reached',
      {
        status: 200,
        json: { jsonrpc: '2.0', result: { timestamp: 9, results: [to('UNREGISTERED_FAILURE'), to('SUCCESS')] }, id: 1 },
      },
      { kind: 'delivered', messageId: '9' },
    ],
  ],
  sends: ({ json }) => json.method === 'send',
  answer({ method, path, headers, json }, world) {
    if (path === '/api/v1/check') return method === 'GET' ? { status: 200 } : { status: 405 };
    if (path !== '/api/v1/rpc') return { status: 404 };
    if (method !== 'POST') return { status: 405 };
    if (!(headers['content-type'] ?? '').startsWith('application/json')) return { status: 415 };
    if (json.jsonrpc !== '2.0') return rpcError(-32600);
    if (json.method === 'listAccounts')
      return { status: 200, json: { jsonrpc: '2.0', result: [{ number: account }], id: json.id } };
    if (json.method !== 'send') return rpcError(-32601);
    const { params } = json;
    if (params.account !== account) return rpcError(-32602);
    const place = params.groupId ?? params.recipient[0];
    if (place !== recipient && params.groupId === undefined) return rpcError(-1, [to('UNREGISTERED_FAILURE')]);
    if (Buffer.byteLength(params.message) > 2_000) return rpcError(-1);
    const timestamp = world.take({ place, text: params.message });
    return { status: 200, json: { jsonrpc: '2.0', result: { timestamp, results: [to('SUCCESS')] }, id: json.id } };
  },
};
