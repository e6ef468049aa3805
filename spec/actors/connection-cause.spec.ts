import t from 'tap';
import { certificateProblem, connectionCause, connectionCode } from '../../actors/connection-cause.ts';
import { fc } from '../support/property.ts';

const coded = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('to a secret address', { cause }), { code });

t.test('OBS-1 · the innermost code is reported, and no word of the error', (t) => {
  const rows: readonly (readonly [unknown, string | undefined])[] = [
    [coded('ECONNREFUSED'), 'ECONNREFUSED'],
    [coded('UND_ERR_SOCKET', coded('ECONNRESET')), 'ECONNRESET'],
    [
      new TypeError('fetch failed', { cause: new AggregateError([coded('EHOSTUNREACH'), coded('ETIMEDOUT')]) }),
      'EHOSTUNREACH',
    ],
    [coded('token=hunter2'), undefined],
    [coded(7), undefined],
    ['no error', undefined],
  ];
  for (const [thrown, code] of rows) {
    t.equal(connectionCode(thrown), code);
    t.equal(connectionCause(thrown), code === undefined ? 'the connection failed' : `the connection failed (${code})`);
  }
  t.match(connectionCause(coded('ERR_SSL_WRONG_VERSION_NUMBER')), /NUMBER\); .* does not speak TLS .* use http:/);
  // As OpenSSL writes it until 3.4, and since.
  for (const library of ['SSLV3', 'SSL/TLS'])
    t.match(connectionCause(coded(`ERR_SSL_${library}_ALERT_HANDSHAKE_FAILURE`)), /FAILURE\); .*a client certificate/);
  const closed = (bytesRead: number) => Object.assign(coded('UND_ERR_SOCKET'), { socket: { bytesRead } });
  t.match(connectionCause(closed(0)), /SOCKET\); the other side closed it without an answer; .*a client certificate/);
  t.match(connectionCause(closed(9)), /SOCKET\)$/, 'an answer had begun');
  const loop = coded('EPIPE');
  loop.cause = loop;
  t.equal(connectionCode(loop), 'EPIPE');
  fc.assert(fc.property(fc.string(), (code) => /^[A-Z0-9_/]{3,49}$/.test(connectionCode(coded(code)) ?? 'NONE')));
  t.end();
});

t.test('DLV-4 · a certificate problem that a clock or a renewal ends is tried again, any other is not', (t) => {
  const lasting = [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'HOSTNAME_MISMATCH',
  ];
  for (const code of lasting)
    t.match(certificateProblem(coded(code)), { passes: false, why: `(${code}); correct it, or name its authority` });
  for (const code of ['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED'])
    t.match(certificateProblem(coded(code)), { passes: true, why: /not trusted \(\w+\); .*the clock of this machine/ });
  for (const code of ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'ECONNRESET'])
    t.equal(certificateProblem(coded(code)), undefined, `${code}: the other side's judgement of ours`);
  t.end();
});
