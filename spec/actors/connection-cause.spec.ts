import t from 'tap';
import { connectionCause, connectionCode } from '../../actors/connection-cause.ts';
import { fc } from '../support/property.ts';

const coded = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('to a secret address', { cause }), { code });

t.test('OBS-1 · the innermost code is told, and no word of the error', (t) => {
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
  const loop = coded('EPIPE');
  loop.cause = loop;
  t.equal(connectionCode(loop), 'EPIPE');
  fc.assert(fc.property(fc.string(), (code) => /^[A-Z0-9_]{3,49}$/.test(connectionCode(coded(code)) ?? 'NONE')));
  t.end();
});
