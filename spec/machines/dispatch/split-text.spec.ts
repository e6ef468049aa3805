import t from 'tap';
import {
  lengthIn,
  messagesOf,
  type Piece,
  splitText,
  type TextLimit,
  type TextUnit,
} from '../../../machines/dispatch/split-text.ts';
import { fc, runs } from '../../support/property.ts';

const units: readonly TextUnit[] = ['utf16', 'codePoints', 'utf8Bytes', 'jsonBytes', 'entities'];
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });
const chunk = fc.oneof(
  fc.constantFrom(
    'word ',
    'A sentence. ',
    '\n',
    '\n\n',
    '  indented\n',
    '\r\n',
    '\t',
    '。',
    '漢字',
    '👩‍👩‍👧‍👦',
    '🇩🇪🇫🇷',
    'e\u0301',
    'क्षि',
    ' \u0301',
    'x'.repeat(60),
    '<&>',
    '\u000b"\\',
  ),
  fc.constantFrom(
    '```\n',
    '```ts\n',
    '\n```\n',
    '~~~\n',
    '````md\n',
    '```',
    '``',
    '   ```js title="x"\n',
    '    ```ts\n',
    '\t```\n',
    '```\n\n```\n',
    '\n```\u3000\u3000\u3000\n',
  ),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.stringMatching(/^[a-z ]{0,200}$/),
);
const texts = fc.array(chunk, { maxLength: 40 }).map((parts) => parts.join(''));
const limits = fc.record({ max: fc.integer({ min: 32, max: 300 }), unit: fc.constantFrom(...units) });

const whole = ({ before, text, after }: Piece): string => `${before}${text}${after}`;

t.test('DLV-4 · no piece is above the limit, nothing is lost, and nothing but fence lines is added', (t) => {
  fc.assert(
    fc.property(texts, limits, (text, limit) => {
      const pieces = splitText(text, limit);
      for (const piece of pieces) {
        if (lengthIn(whole(piece), limit.unit) > limit.max) throw new Error(`too long: ${JSON.stringify(piece)}`);
        if (piece.text === '') throw new Error('an empty piece');
        if (!/^(?:[ \t]*(?:`{3,}|~{3,})[^\n]*\n)?$/.test(piece.before))
          throw new Error(`added ${JSON.stringify(piece.before)}`);
        if (!/^(?:\n?[ \t]*(?:`{3,}|~{3,}))?$/.test(piece.after))
          throw new Error(`added ${JSON.stringify(piece.after)}`);
      }
      t.equal(pieces.map((piece) => piece.text).join(''), text);
      return true;
    }),
    { numRuns: runs(2_000) },
  );
  t.end();
});

t.test('DLV-4 · what is seen as one character stays whole where it fits', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 40, maxLength: 400 }), limits, (text, limit) => {
      const borders = new Set([...graphemes.segment(text)].map(({ index }) => index));
      let at = 0;
      for (const { text: piece } of splitText(text, limit).slice(0, -1)) {
        at += piece.length;
        if (!borders.has(at)) throw new Error(`cut at ${at} of ${JSON.stringify(text)}`);
      }
      return true;
    }),
    { numRuns: runs(1_000) },
  );
  t.end();
});

t.test('DLV-4 · a cut makes no mention of an address', (t) => {
  for (const [letter, mark] of [
    ['x', '@all'],
    ['7', '&#64;all'],
  ] as const)
    t.same(
      splitText(`${letter.repeat(40)}${mark}`, { max: 40, unit: 'utf16' }).map(({ text }) => text),
      [letter.repeat(39), `${letter}${mark}`],
    );
  t.equal(splitText(`${'x'.repeat(39)}.@\u2060all`, { max: 40, unit: 'utf16' })[1]?.text, '@\u2060all');
  t.end();
});

t.test('DLV-4 · a pair of surrogates is never cut, even in a character longer than the limit', (t) => {
  for (const unit of units) {
    const pieces = splitText(`👩${'\u200d👩'.repeat(200)}`, { max: 33, unit });
    t.ok(pieces.length > 5);
    t.notOk(
      pieces.some(({ text }) => /\p{Cs}/u.test(text)),
      unit,
    );
  }
  t.end();
});

/** How many fences are open at the end. */
function isBalanced(message: string): boolean {
  let open: string | undefined;
  for (const line of message.split('\n')) {
    const marker = /^[ \t]*(`{3,}|~{3,})/.exec(line)?.[1];
    if (marker === undefined) continue;
    if (open === undefined) open = marker;
    else if (line.trim() === open) open = undefined;
  }
  return open === undefined;
}

t.test('DLV-4 · every piece closes the fences that it opens', (t) => {
  const line = fc.stringMatching(/^[a-z (){};=]{0,30}$/);
  const block = fc
    .tuple(
      fc.constantFrom('```', '```ts', '~~~'),
      fc.array(line, { maxLength: 40 }),
      // As in an item of a list.
      fc.constantFrom('', '   ', '    ', '\t'),
    )
    .map(([opening, lines, indent]) => {
      const marker = opening.slice(0, 3);
      return `${[opening, ...lines, marker].map((one) => indent + one).join('\n')}\n`;
    });
  const paragraph = fc.array(line, { maxLength: 10 }).map((lines) => `${lines.join('\n')}\n\n`);
  fc.assert(
    // In a message of fewer than 40 the longest of these openings could not be repeated.
    fc.property(fc.array(fc.oneof(block, paragraph), { maxLength: 12 }), limits, (parts, { max, unit }) => {
      const limit = { max: max + 8, unit };
      for (const message of messagesOf(parts.join(''), limit))
        if (!isBalanced(message)) throw new Error(JSON.stringify(message));
      return true;
    }),
    { numRuns: runs(1_000) },
  );
  t.end();
});

t.test('DLV-4 · cuts where a reader would', (t) => {
  const limit: TextLimit = { max: 40, unit: 'utf16' };
  for (const [title, text, messages] of [
    [
      'between paragraphs',
      'The first paragraph.\n\nThe second paragraph of it.',
      ['The first paragraph.', 'The second paragraph of it.'],
    ],
    [
      'else between lines',
      'one line of some words\nanother line of some words',
      ['one line of some words', 'another line of some words'],
    ],
    [
      'else between sentences',
      'It ends about here, yes. Then comes another one.',
      ['It ends about here, yes.', 'Then comes another one.'],
    ],
    [
      'else between words',
      'many words without any end of a sentence in them',
      ['many words without any end of a', 'sentence in them'],
    ],
    ['else anywhere', 'x'.repeat(50), ['x'.repeat(40), 'x'.repeat(10)]],
    [
      'not before an indented line’s first word',
      `${'y'.repeat(30)}\n    indented line`,
      ['y'.repeat(30), '    indented line'],
    ],
    [
      'a block moves on whole',
      'Some words before.\n```js\nlet a = 1;\nlet b = 2;\n```\nafter',
      ['Some words before.', '```js\nlet a = 1;\nlet b = 2;\n```\nafter'],
    ],
    [
      'a long block is closed and opened again',
      '```js\nlet first = 1;\nlet two = 2;\nlet three = 3;\n```',
      ['```js\nlet first = 1;\nlet two = 2;\n```', '```js\nlet three = 3;\n```'],
    ],
    [
      'also one in a list, indented as it is',
      '9. Run\n    ```\n    let a = 1;\n    let b = 22;\n    ```',
      ['9. Run\n    ```\n    let a = 1;\n    ```', '    ```\n    let b = 22;\n    ```'],
    ],
    ['blank pieces are left out', `word${' '.repeat(200)}\n\n\nend`, ['word', 'end']],
    ['a short text is left alone', '  spaces before', ['  spaces before']],
    ['an empty text has no messages', ' \n ', []],
    ['half a pair and NUL become U+FFFD', 'a\ud800b\0c', ['a\ufffdb\ufffdc']],
  ] as const) {
    t.same(messagesOf(text, limit), messages, title);
  }
  t.end();
});

t.test('DLV-4 · counts as the platform does', (t) => {
  t.same(
    units.map((unit) => lengthIn('aé漢👍', unit)),
    [5, 4, 10, 10, 5],
  );
  const characters = Array.from({ length: 0x900 }, (_, code) => String.fromCodePoint(code));
  const inJson = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - '""'.length;
  t.same(
    characters.map((one) => lengthIn(one, 'jsonBytes')),
    characters.map(inJson),
  );
  t.equal(lengthIn('a < b && c > d', 'entities'), 'a &lt; b &amp;&amp; c &gt; d'.length);
  t.equal(lengthIn('\ud83d', 'utf8Bytes'), Buffer.byteLength('\ud83d'));
  t.end();
});

t.test('DLV-4 · a text of a megabyte is cut in no time to speak of', (t) => {
  for (const text of [
    'word '.repeat(210_000),
    '```\n'.repeat(262_144),
    '\n'.repeat(1_048_576),
    'a'.repeat(1_048_576),
    `👍${'\u0301'.repeat(1_000_000)}`,
  ]) {
    const pieces = splitText(text, { max: 4_096, unit: 'utf16' });
    t.equal(pieces.map((piece) => piece.text).join(''), text);
  }
  t.end();
});
