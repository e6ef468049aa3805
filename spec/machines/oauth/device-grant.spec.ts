import t from 'tap';
import { defaultIntervalMs, readPollError } from '../../../machines/oauth/device-grant.ts';

t.test('DEV-4 · pending keeps the interval, slow_down adds five seconds, everything else stops', (t) => {
  t.equal(defaultIntervalMs, 5_000);
  const rows: readonly (readonly [string, number, object])[] = [
    ['authorization_pending', 1_000, { kind: 'wait', intervalMs: 1_000 }],
    ['slow_down', 1_000, { kind: 'wait', intervalMs: 6_000 }],
    ['slow_down', 6_000, { kind: 'wait', intervalMs: 11_000 }],
    ['access_denied', 1_000, { kind: 'stop', why: /denied on the other device/ }],
    ['expired_token', 1_000, { kind: 'stop', why: /expired before it was entered; begin again/ }],
    [
      'invalid_grant',
      1_000,
      { kind: 'stop', why: /refused the device login: invalid_grant$/, errorCode: 'invalid_grant' },
    ],
    ['', 1_000, { kind: 'stop' }],
    ['AUTHORIZATION_PENDING', 1_000, { kind: 'stop' }],
  ];
  for (const [error, intervalMs, verdict] of rows) t.match(readPollError(error, intervalMs), verdict, error);
  const kept = 'x'.repeat(100);
  t.same(
    readPollError('x'.repeat(10_000), 1),
    { kind: 'stop', why: `the token endpoint refused the device login: ${kept}`, errorCode: kept },
    'a stranger does not fill the screen',
  );
  t.end();
});
