import {
  InsufficientScopeError,
  ProtocolError,
  parseJSONRPCMessage,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
} from '@modelcontextprotocol/client';
import t from 'tap';
import { ConnectError, readConnectError, settingError } from '../../../actors/mcp/connect-errors.ts';

const file = { key: 'client_cert', path: '~/a.pem', resolved: '/home/me/a.pem' };
const tls = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
const cyclic = new Error('round');
cyclic.cause = cyclic;

function coded(message: string, code: string, name = 'Error'): Error {
  return Object.assign(new Error(message), { code, name });
}

function sdk(code: SdkErrorCode, data?: unknown, cause?: unknown): SdkError {
  return new SdkError(code, 'said so', data, { cause });
}

/** What a transport throws for a JSON answer of another kind. */
function refusedMessage(): unknown {
  try {
    return parseJSONRPCMessage({ detail: 'Not Found' });
  } catch (thrown) {
    return thrown;
  }
}

t.test('LIF-7 · every error is read into one failure', (t) => {
  for (const [thrown, expected] of [
    [refusedMessage(), { kind: 'notMcp', contentType: 'JSON that is no JSON-RPC message' }],
    [settingError('no', 'tls-file-missing', file), { kind: 'tlsFile', ...file }],
    [settingError('no', 'tls-file-unreadable', file), { kind: 'setting', message: 'no [tls-file-unreadable]' }],
    [settingError('no', 'tls-key-password', file), { kind: 'setting', message: 'no [tls-key-password]' }],
    [settingError('no', 'proxy-invalid'), { kind: 'setting', message: 'no [proxy-invalid]' }],
    [
      new ConnectError({ kind: 'notMcp', contentType: 'text/html' }, 'no'),
      { kind: 'notMcp', contentType: 'text/html' },
    ],
    [new InsufficientScopeError({ requiredScope: 'a b' }), { kind: 'http', status: 403, scope: 'a b' }],
    [
      sdk(SdkErrorCode.EraNegotiationFailed, {}, new InsufficientScopeError({})),
      { kind: 'http', status: 403, scope: '' },
    ],
    [new ProtocolError(-32601, 'unknown'), { kind: 'rpc', code: -32601, message: 'unknown' }],
    [
      new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'x', { status: 404, text: 'Session not found' }),
      { kind: 'http', status: 404, message: 'Session not found' },
    ],
    [
      new SdkHttpError(SdkErrorCode.ClientHttpFailedToOpenStream, 'no stream', { status: 500 }),
      { kind: 'http', status: 500, message: 'no stream' },
    ],
    [sdk(SdkErrorCode.RequestTimeout, { timeout: 5 }), { kind: 'timeout', afterMs: 5 }],
    [sdk(SdkErrorCode.InvalidResult), { kind: 'malformed', message: 'said so' }],
    [new Error("Server's protocol version is not supported: 1999-01-01"), { kind: 'revision', offered: '1999-01-01' }],
    [sdk(SdkErrorCode.RequestTimeout), { kind: 'timeout', afterMs: 700 }],
    [
      sdk(SdkErrorCode.ClientHttpUnexpectedContent, { contentType: 'text/plain' }),
      { kind: 'notMcp', contentType: 'text/plain' },
    ],
    [
      sdk(SdkErrorCode.ClientHttpUnexpectedContent, { contentType: null }),
      { kind: 'notMcp', contentType: 'no content type' },
    ],
    [sdk(SdkErrorCode.ConnectionClosed), { kind: 'network', message: 'said so' }],
    [sdk(SdkErrorCode.EraNegotiationFailed), { kind: 'notStateless' }],
    [
      sdk(SdkErrorCode.EraNegotiationFailed, {}, new TypeError('fetch failed', { cause: tls })),
      { kind: 'tls', message: 'self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)' },
    ],
    [
      new TypeError('fetch failed', { cause: coded('80CC:error:0A00010B:', 'ERR_SSL_WRONG_VERSION_NUMBER') }),
      { kind: 'tls', message: 'the other side answers without TLS (ERR_SSL_WRONG_VERSION_NUMBER)' },
    ],
    [new TypeError('fetch failed', { cause: new Error('bad port') }), { kind: 'network', message: /^its port is one/ }],
    [new TypeError('fetch failed', { cause: coded('', 'ECONNREFUSED') }), { kind: 'network', message: 'ECONNREFUSED' }],
    [
      new TypeError('fetch failed', { cause: coded('Proxy response (407)', 'UND_ERR_ABORTED', 'AbortError') }),
      { kind: 'network', message: 'Proxy response (407)' },
    ],
    [new DOMException('gone', 'AbortError'), { kind: 'timeout', afterMs: 700 }],
    [new SseError(503, 'Non-200 status code (503)', {} as never), { kind: 'http', status: 503 }],
    [
      new Error('Endpoint origin does not match connection origin: http://inner:8000'),
      { kind: 'setting', message: /^names http:\/\/inner:8000 for messages, .* put that origin in url, or ask/ },
    ],
    [new SseError(undefined, 'fetch failed: certificate has expired', {} as never), { kind: 'tls' }],
    [
      new Error('Error POSTing to endpoint (HTTP 404): gone\naway'),
      { kind: 'http', status: 404, message: 'gone\naway' },
    ],
    [cyclic, { kind: 'network', message: 'round' }],
    ['a string', { kind: 'network', message: 'a string' }],
    [undefined, { kind: 'network', message: 'undefined' }],
  ] as const) {
    t.match(readConnectError(thrown, { timeoutMs: 700 }), expected, String(thrown));
  }
  t.end();
});

t.test('TRU-2 · a closed connection of a child that ended says how', (t) => {
  for (const code of [SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected, SdkErrorCode.SendFailed]) {
    t.same(readConnectError(sdk(code), { timeoutMs: 1, exitStatus: 'SIGSEGV' }), { kind: 'exited', status: 'SIGSEGV' });
  }
  const answered = new ProtocolError(-32600, 'no');
  const named = new Error('Endpoint origin does not match connection origin: http://hub.test');
  t.match(
    readConnectError(named, { timeoutMs: 1, url: 'https://hub.test/sse' }),
    { message: /not the origin of url; ask its operator to have it name only a path$/ },
    'an address without TLS is not advised',
  );
  t.match(readConnectError(answered, { timeoutMs: 1, exitStatus: 1 }), { kind: 'rpc' }, 'what it said before counts');
  t.end();
});
