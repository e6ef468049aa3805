import t from 'tap';
import { basicEncoded, encodingsOf, formEncoded } from '../../../machines/base/secret-encodings.ts';
import { fc } from '../../support/property.ts';

t.test('OBS-1 · each encoding of a secret is known once', (t) => {
  t.same(encodingsOf('plain-1_2.3*'), ['plain-1_2.3*']);
  t.same(encodingsOf("a ~!'()/"), [
    "a ~!'()/",
    "a ~!'()\\/",
    "a ~!'()\\\\/",
    "a%20~!'()%2F",
    'a+%7E%21%27%28%29%2F',
    "a%20~!'()%2f",
    'a+%7e%21%27%28%29%2f',
  ]);
  t.same(encodingsOf('"\n'), ['"\n', '\\"\\n', '\\\\\\"\\\\n', '%22%0A', '%22%0a']);
  t.equal(formEncoded('\ud800'), '%EF%BF%BD');
  t.end();
});

t.test('OBS-1 · a form or a URL of any text contains one of them', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (secret) => {
      const encodings = encodingsOf(secret);
      const url = new URL('https://as.example/token');
      url.searchParams.set('a', secret);
      return (
        encodings.some((one) => url.search === `?a=${one}`) &&
        encodings.some((one) => JSON.stringify([secret]) === `["${one}"]`)
      );
    }),
  );
  t.end();
});

t.test(
  'OAU-4 · a half of a basic pair is read as a form or a URL, and as it is unless that would be ambiguous',
  (t) => {
    const plain = "aZ09-_.~!*'()/=@$,;?";
    t.equal(basicEncoded(plain), plain);
    t.equal(basicEncoded(': %+&#é\ud800'), '%3A%20%25%2B%26%23%C3%A9%EF%BF%BD');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const encoded = basicEncoded(text);
        return decodeURIComponent(encoded) === text && new URLSearchParams(`a=${encoded}`).get('a') === text;
      }),
    );
    t.end();
  },
);
