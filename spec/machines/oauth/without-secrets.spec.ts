import t from 'tap';
import { basicEncoded } from '../../../machines/base/secret-encodings.ts';
import { clientSecrets, withoutSecrets } from '../../../machines/oauth/without-secrets.ts';
import { fc } from '../../support/property.ts';

t.test('OBS-1 · a secret is taken out as it is, as a form spells it, and as JSON does', (t) => {
  const secret = 'p@ss/wörd"1~ !';
  for (const encoded of [secret, encodeURIComponent(secret), encode(secret), JSON.stringify(secret)]) {
    const clean = withoutSecrets(`bad ${encoded}!`, [undefined, secret]);
    t.notMatch(clean, /p@ss|rd.?1|%40ss|1~|%7E/, encoded);
    t.match(clean, '[redacted]', encoded);
  }
  t.equal(withoutSecrets('a bad code', ['code']), 'a bad code', 'a short one would hide ordinary words');
  t.end();
});

t.test('OBS-1 · whatever surrounds it', (t) => {
  const secret = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_.~'), minLength: 6, maxLength: 40 });
  fc.assert(
    fc.property(fc.string(), secret, fc.string(), (before, each, after) => {
      const clean = withoutSecrets(`${before}${each}${after}`, [each], 10_000);
      return !clean.replaceAll('[redacted]', ' ').includes(each);
    }),
  );
  t.end();
});

t.test('OAU-7 · one short line', (t) => {
  t.equal(withoutSecrets(' <h1>\n\n\u0007Bad\tgateway</h1> ', []), '<h1> Bad gateway</h1>');
  t.equal(withoutSecrets('x'.repeat(1_000), []).length, 301);
  t.end();
});

t.test('OBS-1 · the basic form of a client’s secret is one of its spellings', (t) => {
  const text = fc.string({ minLength: 6, maxLength: 40 });
  const utf8 = (pair: string): string => Buffer.from(pair).toString('base64');
  fc.assert(
    fc.property(text, text, (clientId, clientSecret) => {
      const quoted = [String, encode, basicEncoded].map((each) => utf8(`${each(clientId)}:${each(clientSecret)}`));
      return quoted.every(
        (each) => withoutSecrets(`Basic ${each}`, clientSecrets({ clientId, clientSecret })).length < 24,
      );
    }),
  );
  t.same(clientSecrets({ clientId: 'c' }), []);
  t.end();
});

function encode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
