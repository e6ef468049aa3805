import { createHmac } from 'node:crypto';
import t from 'tap';
import { hmacSha256 } from '../../../machines/webhook/hmac.ts';
import { fc, runs } from '../../support/property.ts';

const platform = (key: Uint8Array, prefix: string, body: Uint8Array, suffix = ''): string =>
  createHmac('sha256', key).update(prefix, 'latin1').update(body).update(suffix, 'latin1').digest('hex');
const latin1 = fc.string({
  maxLength: 40,
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
});

t.test('SIG-1 · the digest is that of RFC 2104, whatever the key, the body and what is around it', (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      latin1,
      fc.uint8Array({ maxLength: 3_000 }),
      latin1,
      (key, prefix, body, suffix) =>
        hmacSha256(key)(prefix, body, suffix).toString('hex') === platform(key, prefix, body, suffix),
    ),
    { numRuns: runs(300) },
  );
  t.end();
});

t.test('SIG-1 · keys around a block and bodies around what is copied are no different', (t) => {
  for (const keyBytes of [0, 1, 63, 64, 65, 1_000]) {
    const key = Buffer.alloc(keyBytes, 7);
    const digest = hmacSha256(key);
    for (const bodyBytes of [0, 1, 65_533, 65_534, 65_535, 65_536, 65_537, 1_048_576]) {
      const body = Buffer.alloc(bodyBytes, 9);
      for (const [prefix, suffix] of [
        ['1.', ''],
        ['1', '.'],
      ] as const)
        t.equal(
          digest(prefix, body, suffix).toString('hex'),
          platform(key, prefix, body, suffix),
          `${keyBytes}, ${bodyBytes}`,
        );
    }
  }
  t.end();
});

t.test('SIG-1 · one digest is not changed by the next', (t) => {
  const digest = hmacSha256(Buffer.from('key'));
  const first = digest('', Buffer.from('one'));
  const kept = Buffer.from(first);

  digest('', Buffer.from('two'));

  t.same(first, kept);
  t.end();
});
