import t from 'tap';
import type { ConnectFailure } from '../../../machines/mcp/connect-failure.ts';
import { firstAttempt, type Handshake, nextAttempt } from '../../../machines/mcp/era.ts';
import type { Protocol } from '../../../machines/mcp/server-settings.ts';

const rpc = (code: number): ConnectFailure => ({ kind: 'rpc', code, message: 'no' });
const http = (status: number, rpcCode?: number): ConnectFailure => ({
  kind: 'http',
  status,
  message: '<html>',
  ...(rpcCode === undefined ? {} : { rpcCode }),
});

const refusals: readonly ConnectFailure[] = [
  ...[-32022, -32020, -32021, -32601, -32602, -32600].flatMap((code) => [rpc(code), http(422, code)]),
  ...[400, 404, 405, 406, 415, 501].map((status) => http(status)),
  http(400, -32000),
  { kind: 'notStateless' },
];
const noRefusals: readonly ConnectFailure[] = [
  { kind: 'timeout', afterMs: 60_000 },
  { kind: 'network', message: 'ECONNREFUSED' },
  { kind: 'tls', message: 'SELF_SIGNED_CERT_IN_CHAIN' },
  { kind: 'tlsFile', key: 'client_cert', path: '~/a', resolved: '/a' },
  { kind: 'spawn', code: 'ENOENT', command: 'x' },
  { kind: 'exited', status: 1 },
  { kind: 'notMcp', contentType: 'text/html' },
  ...[401, 403, 408, 429, 500, 502, 503, 504].flatMap((status) => [http(status), http(status, -32601)]),
  http(409),
  { kind: 'http', status: 404, message: 'Session not found', sessionGone: true },
];

function follows(protocol: Protocol, handshake: Handshake, failure: ConnectFailure): Handshake | 'failed' {
  const next = nextAttempt(protocol, [{ handshake, failure }]);
  return next.kind === 'attempt' ? next.handshake : 'failed';
}

t.test('ERA-1 · auto and legacy begin with initialize, stateless with server/discover', (t) => {
  t.equal(firstAttempt('auto'), 'initialize');
  t.equal(firstAttempt('stateless'), 'discover');
  t.equal(firstAttempt('legacy'), 'initialize');
  t.end();
});

t.test('ERA-1 · what the server took last time leads auto, and only auto', (t) => {
  t.equal(firstAttempt('auto', 'discover'), 'discover');
  t.equal(firstAttempt('auto', 'initialize'), 'initialize');
  t.equal(firstAttempt('stateless', 'initialize'), 'discover');
  t.equal(firstAttempt('legacy', 'discover'), 'initialize');
  t.end();
});

t.test('ERA-1 · ERA-2 · auto probes server/discover when initialize is answered and refused', (t) => {
  for (const failure of refusals) t.equal(follows('auto', 'initialize', failure), 'discover', JSON.stringify(failure));
  t.end();
});

t.test('ERA-2 · nothing but a refusal makes a fallback, in any protocol', (t) => {
  for (const failure of noRefusals) {
    t.equal(follows('auto', 'initialize', failure), 'failed', JSON.stringify(failure));
    t.equal(follows('stateless', 'discover', failure), 'failed', JSON.stringify(failure));
  }
  for (const code of [-32603, -32700, -32000, 1])
    t.equal(follows('auto', 'initialize', rpc(code)), 'failed', String(code));
  t.end();
});

t.test('ERA-1 · what is refused after an accepted initialize is no matter of the era', (t) => {
  for (const failure of refusals)
    t.equal(nextAttempt('auto', [{ handshake: 'initialize', failure, accepted: true }]).kind, 'failed');
  t.equal(nextAttempt('auto', [{ handshake: 'discover', failure: rpc(-32601), accepted: true }]).kind, 'attempt');
  t.end();
});

t.test('ERA-1 · stateless retries once with initialize when the discovery is refused', (t) => {
  for (const failure of refusals)
    t.equal(follows('stateless', 'discover', failure), 'initialize', JSON.stringify(failure));
  for (const code of [-32603, -32000, -32002])
    t.equal(follows('stateless', 'discover', rpc(code)), 'initialize', String(code));
  t.end();
});

t.test('ERA-1 · auto that began with server/discover falls back to initialize', (t) => {
  t.equal(follows('auto', 'discover', rpc(-32601)), 'initialize');
  t.end();
});

t.test('ERA-1 · legacy knows the handshake only', (t) => {
  for (const failure of [...refusals, ...noRefusals]) t.equal(follows('legacy', 'initialize', failure), 'failed');
  t.end();
});

t.test('ERA-1 · two failures end it, the original error first and that of the probe second', (t) => {
  for (const protocol of ['auto', 'stateless'] as const) {
    const next = nextAttempt(protocol, [
      { handshake: firstAttempt(protocol), failure: http(400, -32022) },
      { handshake: 'discover', failure: rpc(-32601) },
    ]);
    t.same(next, { kind: 'failed', failures: [http(400, -32022), rpc(-32601)] });
  }
  t.end();
});
