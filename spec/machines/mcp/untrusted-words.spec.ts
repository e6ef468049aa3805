import t from 'tap';
import { lastWords, untrustedWords } from '../../../machines/mcp/untrusted-words.ts';
import { fc } from '../../support/property.ts';

t.test('LIF-13 · untrusted text becomes one short line without secrets and invisible characters', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['refused', 'refused'],
    ['  two\n\tlines\u0000 ', 'two lines'],
    ['sent Authorization: Bearer\nsk-live-1234567', 'sent Authorization: Bearer [redacted]'],
    ['look\u{e0041}\u{e0042} here', 'look here'],
    ['\u001b[1;31mHTTP error:\u001b[39m fetch failed [1m]', 'HTTP error: fetch failed [1m]'],
    ['', ''],
  ];
  for (const [text, expected] of rows) t.equal(untrustedWords(text), expected);
  t.equal(untrustedWords('x'.repeat(10_000)).length, 300);
  t.equal(untrustedWords('x'.repeat(10_000), 20), `${'x'.repeat(19)}…`);
  t.equal(untrustedWords(`${' '.repeat(3_990)}own-key-of-mine`), 'own-key-o…', 'where blanks hide that it was cut');
  t.end();
});

t.test('LIF-13 · it is always one line, and never longer than asked for', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 50 }), (text, max) => {
      const words = untrustedWords(text, max);
      return [...words].length <= max && !/[\p{Cc}\u{e0000}-\u{e007f}]/u.test(words);
    }),
  );
  t.end();
});

t.test('LIF-13 · of what a program wrote before it ended, the end is shown too', (t) => {
  t.equal(lastWords('Error: no key\n'), 'Error: no key');
  const frames = '  File "server.py", line 7, in main\n'.repeat(20);
  const words = lastWords(`Traceback (most recent call last):\n${frames}KeyError: 'WEATHER_API_KEY'\n`);
  t.match(words, /^Traceback .* … .*KeyError: 'WEATHER_API_KEY'$/);
  t.ok(words.length < 500);
  t.notMatch(
    lastWords(`${'x '.repeat(400)}KEY${'x'.repeat(140)} at the end`),
    /xxx/,
    'no half word, which may be of a secret',
  );
  t.match(lastWords(`${'x '.repeat(400)}${'word '.repeat(29)}words`), /x +… (word ){29}words$/, 'a whole one stays');
  t.match(lastWords(`${'x '.repeat(400)}${'y'.repeat(400)}`), /x +…$/);
  t.end();
});
