import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import t from 'tap';
import { type CallCircumstances, type CallOutcome, readCallError } from '../../../actors/mcp/call-outcome.ts';
import { ConnectError, LongHeaderFailure, settingError } from '../../../actors/mcp/connect-errors.ts';

const usual: CallCircumstances = { timeoutMs: 700, hadSession: true, exitStatus: undefined, whyClosed: undefined };
const read = (thrown: unknown, more: Partial<CallCircumstances> = {}): CallOutcome =>
  readCallError(thrown, { ...usual, ...more });
const http = (status: number, text: string): SdkHttpError =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'x', { status, text });
/** As Node says it: `connect` where no connection came about, `read` or `write` where one broke. */
const network = (code: string, doing = 'connect'): TypeError =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(`${doing} ${code} 192.0.2.1:80`), { code }) });
/** Each address of a name was tried. */
const eachAddress = (...codes: string[]): TypeError =>
  new TypeError('fetch failed', {
    cause: Object.assign(
      new AggregateError(codes.map((code) => network(code).cause)),
      codes[0] === undefined ? {} : { code: codes[0] },
    ),
  });
const sdk = (code: SdkErrorCode, cause?: unknown): SdkError => new SdkError(code, 'said so', undefined, { cause });

t.test('LIF-3 · LIF-8 · an answer that says no, and a time that ran out, are read as such', (t) => {
  const rows: readonly (readonly [unknown, object])[] = [
    [
      new ProtocolError(-32602, 'no such tool'),
      { kind: 'refused', message: 'error -32602: no such tool', rpc: { code: -32602, message: 'no such tool' } },
    ],
    [
      new ProtocolError(-32603, `kubectl failed: ${'a warning '.repeat(300)}refused`),
      { kind: 'refused', message: /refused$/ },
    ],
    [
      new ProtocolError(Number('E_X'), 'a code of letters'),
      { kind: 'refused', message: 'an error: a code of letters' },
    ],
    [new ProtocolError(-1, ''), { kind: 'refused', message: 'error -1' }],
    [http(403, 'Forbidden'), { kind: 'refused', message: 'HTTP 403 Forbidden' }],
    [http(429, ''), { kind: 'refused', message: 'HTTP 429' }],
    [new LongHeaderFailure('was not sent'), { kind: 'refused', message: 'was not sent' }],
    [sdk(SdkErrorCode.RequestTimeout), { kind: 'timedOut', afterMs: 700 }],
  ];
  for (const [thrown, expected] of rows) t.match(read(thrown), expected, String(thrown));
  t.end();
});

t.test('SRV-1 · a call that is refused until an address was opened names the address', (t) => {
  const data = (...elicitations: unknown[]): unknown => ({ elicitations });
  const asking = (given: unknown): unknown => ProtocolError.fromError(-32_042, 'Authorization is required', given);
  const url = 'https://gateway.test/authorize?request_uri=urn%3Aa%3Ab';
  const message = `Authorization is required; it asks you to open ${url} in a browser and to call again`;
  const form = { mode: 'url', elicitationId: 'e1', message: 'Allow it', url };
  t.match(read(asking(data({ ...form, url: 'javascript:alert(1)' }, form, null, 5, { url: 5 }))), {
    kind: 'refused',
    message: `error -32042: ${message}`,
    rpc: { code: -32_042, message },
  });
  for (const given of [undefined, data(), { elicitations: 'none' }, data({ ...form, url: 'x'.repeat(5_000) })])
    t.match(read(asking(given)), { kind: 'refused', message: /^error -32042: Authorization is required$/ });
  t.end();
});

t.test('OAU-1 · refused credentials are reported as such, with a session and without', (t) => {
  t.same(read(http(401, 'Unauthorized')), { kind: 'unauthorized' });
  t.same(read(http(401, ''), { hadSession: false }), { kind: 'unauthorized' });
  t.end();
});

t.test(
  'TRU-2 · TRU-4 · OAU-1 · a call whose token cannot be renewed now was not sent, and its session continues',
  (t) => {
    const thrown = new ConnectError({
      kind: 'token',
      message: 'mcp server "hub": its access token cannot be renewed now',
    });
    const unsent = { kind: 'unsent', why: thrown.message };
    t.same(read(thrown), unsent);
    t.same(read(sdk(SdkErrorCode.SendFailed, thrown)), unsent);
    t.end();
  },
);

t.test('TRU-2 · a session that the server forgot is expired, and only where there was one', (t) => {
  t.same(read(http(404, 'Session not found')), { kind: 'expired' });
  t.same(read(http(400, 'Bad Request: No valid session ID provided')), { kind: 'expired' });
  t.same(read(http(401, 'Unauthorized: Session not found')), { kind: 'expired' });
  t.equal(read(http(400, 'Bad Request: arguments')).kind, 'refused');
  t.equal(read(http(404, 'Session not found'), { hadSession: false }).kind, 'refused');
  t.end();
});

t.test('TRU-2 · a connection that was never made sent nothing', (t) => {
  for (const thrown of [
    network('ECONNREFUSED'),
    network('ENOTFOUND'),
    network('EHOSTUNREACH'),
    network('UND_ERR_CONNECT_TIMEOUT'),
    network('CERT_HAS_EXPIRED'),
    network('SELF_SIGNED_CERT_IN_CHAIN'),
    network('ERR_TLS_CERT_ALTNAME_INVALID'),
    eachAddress('EHOSTUNREACH', 'ENETUNREACH'),
    sdk(SdkErrorCode.NotConnected),
    sdk(SdkErrorCode.SendFailed),
    settingError('client_cert file not found', 'tls-file-missing'),
  ])
    t.match(read(thrown), { kind: 'lost', dispatched: false }, String(thrown));
  t.end();
});

t.test('TRU-4 · TRU-2 · whatever else breaks may have reached the server', (t) => {
  for (const thrown of [
    network('ECONNRESET'),
    network('UND_ERR_SOCKET'),
    network('EPIPE'),
    // TLS 1.3: the refusal of a client without a certificate follows its request.
    network('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'read'),
    network('EHOSTUNREACH', 'read'),
    network('ENETUNREACH', 'write'),
    eachAddress('ECONNRESET', 'ECONNREFUSED'),
    sdk(SdkErrorCode.ConnectionClosed),
    new Error('anything'),
    'a text',
    undefined,
  ])
    t.match(read(thrown), { kind: 'lost', dispatched: true }, String(thrown));
  t.end();
});

t.test('TRU-2 · LIF-8 · an answer of no use leaves open whether the tool ran, and the session stands', (t) => {
  const rows: readonly (readonly [unknown, boolean, RegExp])[] = [
    [http(500, 'Internal'), false, /^it answered HTTP 500 Internal$/],
    [http(502, '<html>'), true, /HTTP 502/],
    [http(503, ''), true, /HTTP 503/],
    [http(504, ''), true, /HTTP 504/],
    [http(408, ''), false, /HTTP 408/],
    [http(499, ''), false, /HTTP 499/],
    [new SyntaxError('Unexpected token <'), false, /no JSON: Unexpected token <$/],
    [new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, 'x', { contentType: 'text/html' }), false, /text\/html$/],
  ];
  for (const [thrown, behind, why] of rows) t.match(read(thrown), { kind: 'unclear', behind, why }, String(thrown));
  t.end();
});

t.test('LIF-13 · the words are one line without secrets and invisible characters, the child’s own first', (t) => {
  const secret = read(http(403, 'sent Authorization: Bearer sk-live-4f9c2a7d8e1b6035\n\nto you\u{e0041}'));
  t.match(secret, { kind: 'refused' });
  t.notMatch(JSON.stringify(secret), /sk-live|\\n|\u{e0041}/u);
  t.match(read(sdk(SdkErrorCode.ConnectionClosed), { exitStatus: 3, whyClosed: 'ended with 3: no licence' }), {
    kind: 'lost',
    why: 'ended with 3: no licence',
  });
  const last = sdk(SdkErrorCode.ConnectionClosed);
  t.match(read(last, { exitStatus: 3, whyClosed: 'it said:\nBearer sk-live-4f9c2a7d8e1b6035' }), {
    kind: 'lost',
    why: 'it said: Bearer [redacted]',
  });
  t.ok(JSON.stringify(read(http(500, 'x'.repeat(100_000)))).length < 1_000);
  t.end();
});
