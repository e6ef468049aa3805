import { randomBytes } from 'node:crypto';
import t from 'tap';
import { weaknessOf } from '../../../machines/config/secret-strength.ts';
import { fc } from '../../support/property.ts';

t.test('SEC-6 · CLI-2 · weak secrets are reported by what is weak about them, and never quoted', (t) => {
  const rows: readonly (readonly [string, RegExp | undefined])[] = [
    ['secret', /everybody tries/],
    ['my-webhook-secret', /everybody tries/],
    ['changeme123', /everybody tries/],
    ['your_secret_here', /everybody tries/],
    ['whsec_test', /everybody tries/],
    ['k9#mQ2', /has 6 characters, fewer than 16/],
    ['aaaaaaaaaaaaaaaaaaaaaaaa', /one character, repeated/],
    ['abababababababababababab', /only 2 different/],
    ['abcdefabcdefabcdef', /repeats/],
    ['changemechangeme', /repeats/],
    ['supersecretpassword', /everybody tries/],
    ['password123456789012', /everybody tries/],
    ['1234567890123456', /row of neighbouring/],
    ['0123456789ABCDEF', /row of neighbouring/],
    ['abcdefghijklmnopqrst', /row of neighbouring/],
    ['qwertzuiopasdfghjkl', undefined],
    ['correct horse battery staple', undefined],
    [randomBytes(32).toString('hex'), undefined],
  ];
  for (const [secret, weakness] of rows) {
    const told = weaknessOf(secret);
    if (weakness === undefined) t.equal(told, undefined, secret);
    else t.match(told, weakness, secret);
    t.notOk(told?.includes(secret));
  }
  t.end();
});

t.test('CLI-2 · no secret that is made at random is called weak', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (seed) => {
      // Every byte another: what a generator gives is never a repetition.
      const key = Buffer.from(seed.map((byte, at) => byte ^ (at * 37))).toString('hex');
      return new Set(key).size < 6 || weaknessOf(key) === undefined || /^(.+?)\1+$/.test(key);
    }),
  );
  t.end();
});
