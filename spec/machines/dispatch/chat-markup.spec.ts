import t from 'tap';
import { withFencesAs, withSingleStars } from '../../../machines/dispatch/chat-markup.ts';
import { fc, runs } from '../../support/property.ts';

t.test('DLV-4 · headings and bold text of Markdown are written with single stars, outside of code', (t) => {
  for (const [given, written] of [
    ['**a** and **b c**: x', '*a* and *b c*: x'],
    ['- **Item:** text (**very**)', '- *Item:* text (*very*)'],
    ['**`f()`** and **מודגש** **粗体**', '*`f()`* and *מודגש* *粗体*'],
    ['## A *short* **title** ##\r\n# Then `2**3`', '*A short title*\r\n*Then `2**3`*'],
    [
      '```sh\n# install **x**\n```\n1. b:\n    ```\n# **y**\n    ```\n# After',
      '```sh\n# install **x**\n```\n1. b:\n    ```\n# **y**\n    ```\n*After*',
    ],
    ['```\n# open **x**', '```\n# open **x**'],
    ...[
      'a `**span**` of code',
      '2**3**4 f(**options, **more)',
      '#hash',
      '    # indented',
      '***both*** **a*b** **a ** \\**no** ** ##',
      '__init__ *one* [link](https://example.org)',
      `**${'x'.repeat(5_000)}**`,
    ].map((same) => [same, same] as const),
  ] as const)
    t.equal(withSingleStars(given), written);
  t.end();
});

t.test('DLV-4 · nothing but stars and number signs is removed from a text', (t) => {
  const part = fc.constantFrom(
    '**',
    '*',
    '`',
    '```',
    '\n',
    '# ',
    '## ',
    ' ',
    'word',
    'é',
    '\\',
    '@all',
    '<b>',
    '~~~\n',
  );
  const bare = (text: string): string => text.replace(/[*#\s]/g, '');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      const text = parts.join('');
      const written = withSingleStars(text);
      if (bare(written) !== bare(text)) throw new Error(JSON.stringify([text, written]));
      return true;
    }),
    { numRuns: runs(1_000) },
  );
  t.end();
});

t.test('DLV-4 · fences of code are written as the mark of a wiki, and each block is closed', (t) => {
  for (const [given, written] of [
    ['a\n```js\nlet b;\n```\nc', 'a\n{n}\nlet b;\n{n}\nc'],
    ['1. a\n    ~~~\n    b\n    ~~~', '1. a\n{n}\n    b\n{n}'],
    ['```\nopen', '{n}\nopen\n{n}'],
    ['```\n```\n', '{n}\n{n}\n'],
    ['none ``` here', 'none ``` here'],
  ] as const)
    t.equal(withFencesAs('{n}', given), written);
  t.end();
});

t.test('DLV-4 · lines of blanks, marks and number signs are read in time that grows with the text', (t) => {
  // By a search that begins anew at each blank these would take a minute.
  for (const filling of [' ', '\t', ' #', '# ', '**', '` ', '**`'])
    for (const begin of ['', '# a']) {
      const line = `${begin}${filling.repeat(3_900 / filling.length)}x`;
      t.equal(withSingleStars(`${line}\n`.repeat(100)), `${withSingleStars(line)}\n`.repeat(100));
    }
  t.end();
});
